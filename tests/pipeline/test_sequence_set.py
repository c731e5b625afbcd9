"""sequence-set, finetune, baseline, evaluate, predict on small sets of every type, without a genome."""

import csv
import json

import h5py
import numpy as np
import pytest
from sklearn.metrics import r2_score

import dna_bigbird
from dna_bigbird import load_bundle
from dna_bigbird.bundles.ensemble import join_bundles
from dna_bigbird.cli.main import main
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores

MOTIFS = {"tata": "TATAAATAAG", "gc": "GGGCGGGGCC", "ebox": "CACGTGACCA"}
SHORT = (
    "--training.max_steps", "6", "--training.validate_every", "3", "--training.batch_size", "8",
    "--training.precision", "32-true", "--training.measure_speed", "false", "--threads", "1",
)  # fmt: skip


def run(*words):
    main([str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, random_dna):
    """Tables of sequences of 90 to 120 bases with a class, a label and a number."""
    path = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    header = ["sequence", "class", "first", "second", "number"]
    with open(path / "train.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for row in range(60):
            name = list(MOTIFS)[row % 3]
            bases = random_dna(int(rng.integers(80, 111)), row)
            cells = [row % 3 == 0, row % 2, round(50 + 10 * rng.random(), 2)]
            writer.writerow([bases[:40] + MOTIFS[name] + bases[40:], name, *map(float, cells)])
    text = (path / "train.csv").read_text().replace(",1.0", ",1").replace(",0.0", ",0")
    (path / "train.csv").write_text(text)
    return path


def columns_of(label_type):
    return {
        "binary": ["first"],
        "multi-label": ["first", "second"],
        "multi-class": ["class"],
        "regression": ["number"],
    }[label_type]


@pytest.fixture(scope="module", params=["multi-class", "regression", "multi-label"])
def trained(request, folder, bundle_folder):
    """A set of one type, with a model, its scores, and the baselines."""
    label_type, here = request.param, folder / request.param
    here.mkdir()
    columns = columns_of(label_type)
    run(
        *("sequence-set", "--input", folder / "train.csv", "--output", here / "set.h5"),
        *("--label_columns", *columns, "--validation_fraction", 0.2, "--test_fraction", 0.3),
    )
    run(
        *("finetune", "--data", here / "set.h5", "--pretrained", bundle_folder),
        *("--output", here / "model", "--scored", here / "scored", *SHORT),
    )
    return label_type, here


def test_two_commands_give_the_scores_of_model_and_baselines(trained, capsys):
    label_type, here = trained
    metrics = json.loads((here / "scored/metrics.json").read_text())
    trivial = {"multi-class": {"majority"}, "regression": {"mean"}}.get(label_type, set())
    assert set(metrics["baselines"]) == {"counts", "kmer", "gc", "composition"} | trivial
    assert metrics["n"] == 18
    assert metrics["split"] == "test"
    main_score = {"multi-class": "mcc", "regression": "pearson"}.get(label_type, "macro_auroc")
    assert metrics[f"{main_score}_low"] <= metrics[main_score] <= metrics[f"{main_score}_high"]
    card = (here / "scored/README.md").read_text()
    assert f"| {main_score} |" in card
    assert "18 groups of rows that belong together" in card


def test_scores_are_those_of_predict(trained, tmp_path, capsys):
    """The scores of the test rows are what `predict` writes for the same sequences."""
    label_type, here = trained
    labelled = LabelledSet(here / "set.h5")
    rows = labelled.rows("test")
    fasta = "".join(f">r{row}\n{labelled.sequence(row)}\n" for row in rows.tolist())
    (tmp_path / "test.fa").write_text(fasta)
    run(
        *("predict", "--fasta", tmp_path / "test.fa", "--model", here / "scored"),
        *("--output", tmp_path / "p.tsv", "--precision", "32-true"),
    )
    with open(tmp_path / "p.tsv") as stream:
        table = list(csv.DictReader(stream, delimiter="\t"))
    predicted = np.array([[float(row[name]) for name in labelled.label_names] for row in table])
    scores = read_scores(here / "scored.report/scores.h5").of(rows)
    assert predicted == pytest.approx(scores, rel=1e-3, abs=1e-4)
    if label_type == "multi-class":
        assert scores.sum(axis=1) == pytest.approx(1, abs=1e-5)
    if label_type == "regression":
        assert 40 < predicted.mean() < 70


def test_targets_and_classes_are_in_the_config_and_old_programs_refuse_it(trained):
    label_type, here = trained
    config = load_bundle(here / "model").config
    stored = json.loads((here / "model/config.json").read_text())
    assert config.label_type == label_type
    assert ("label_type" in stored, stored["format_version"]) == (
        (False, 1) if label_type == "multi-label" else (True, 2)
    )
    if label_type == "regression":
        labelled = LabelledSet(here / "set.h5")
        train = labelled.labels_of(labelled.rows("train"))
        assert config.target_means == pytest.approx(train.mean(axis=0).tolist())
        assert config.target_stds == pytest.approx(train.std(axis=0).tolist())


def test_targets_lie_on_the_line_of_least_squares_of_the_validation_rows(
    folder, bundle_folder, tmp_path
):
    with open(folder / "train.csv") as stream:
        texts = [x["sequence"] for x in csv.DictReader(stream)]
    rows = "".join(f"{x},{x.count('C') + x.count('G')},{100 + len(x)}\n" for x in texts)
    (tmp_path / "two.csv").write_text(f"sequence,strong,bp\n{rows}")
    run(
        *("sequence-set", "--input", tmp_path / "two.csv", "--output", tmp_path / "set.h5"),
        *("--label_columns", "strong", "bp", "--type", "regression", "--validation_fraction", 0.5),
    )
    run(
        *("finetune", "--data", tmp_path / "set.h5", "--pretrained", bundle_folder),
        *("--output", tmp_path / "model", "--words.max_k", 2, *SHORT),
    )
    labelled = LabelledSet(tmp_path / "set.h5")
    rows = labelled.rows("validation")
    model = dna_bigbird.load(tmp_path / "model")
    predicted = model.predict(sequences=[labelled.sequence(x) for x in rows], precision="32-true")
    values = predicted.to_dataframe()[["strong", "bp"]].to_numpy()
    truth = labelled.labels_of(rows)
    for target in range(2):
        slope, intercept = np.polyfit(values[:, target], truth[:, target], 1)
        assert (slope, intercept) == (pytest.approx(1, abs=1e-3), pytest.approx(0, abs=0.1))
    metrics = json.loads((tmp_path / "model/metrics.json").read_text())
    each = [r2_score(truth[:, x], values[:, x]) for x in range(2)]
    assert metrics["r2"] == pytest.approx(np.mean(each), abs=1e-4)


def test_an_ensemble_averages_predictions(trained, folder, bundle_folder, tmp_path):
    _, here = trained
    run(
        *("finetune", "--data", here / "set.h5", "--pretrained", bundle_folder, "--seed", 1),
        *("--output", tmp_path / "other", *SHORT),
    )
    join_bundles([here / "model", tmp_path / "other"], tmp_path / "both")
    texts = [LabelledSet(here / "set.h5").sequence(row) for row in range(3)]
    (tmp_path / "x.fa").write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(texts)))
    tables = {}
    for name in (here / "model", tmp_path / "other", tmp_path / "both"):
        output = tmp_path / f"{name.name}.tsv"
        run(
            *("predict", "--fasta", tmp_path / "x.fa", "--model", name, "--output", output),
            *("--precision", "32-true"),
        )
        tables[name.name] = np.genfromtxt(output, delimiter="\t", skip_header=1)[:, 3:]
    mean = (tables["model"] + tables["other"]) / 2
    assert tables["both"] == pytest.approx(mean, rel=1e-3, abs=1e-4)


def test_leakage_and_info_need_no_genome(trained, tmp_path, capsys):
    label_type, here = trained
    run("leakage", "--data", here / "set.h5", "--output", tmp_path / "leaks.tsv")
    assert len((tmp_path / "leaks.tsv").read_text().splitlines()) == 1
    assert "nothing leaks: 60 rows (30 train, 12 validation, 18 test)" in capsys.readouterr().err
    run("info", here / "set.h5")
    assert label_type in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--label_columns", "none"], r"train.csv:1: no column 'none' in the header"),
        (["--kmers", "1"], "--kmers 1: expected 0, or at least 2"),
        (["--type", "binary", "--label_columns", "class"], "train.csv:2: the label is 'tata'"),
        (["--max_n_fraction", "2"], "--max_n_fraction 2.0"),
        (["--test_fraction", "1.5"], "--test_fraction 1.5"),
    ],
)
def test_wrong_input_writes_nothing(folder, tmp_path, capsys, words, message):
    output = tmp_path / "set.h5"
    with pytest.raises(SystemExit, match="2"):
        run("sequence-set", "--input", folder / "train.csv", "--output", output, *words)
    assert message in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("name", ["{}", "x={}"])
def test_the_input_is_not_overwritten(tmp_path, capsys, name):
    path = tmp_path / "set.h5"
    path.write_text("sequence,label\nACGT,1\n")
    with pytest.raises(SystemExit, match="2"):
        run("sequence-set", "--input", name.format(path), "--output", path)
    assert "which would be overwritten" in capsys.readouterr().err
    assert path.read_text().startswith("sequence")


def test_duplicates_are_dropped_or_kept(folder, tmp_path):
    """The first five rows again, in a file of test rows; only `keep` is written into the set's settings."""
    header, *lines = (folder / "train.csv").read_text().splitlines(keepends=True)
    (tmp_path / "test.csv").write_text(header + "".join(lines[:5]))
    sets = []
    for name, words in (
        ("drop", ()),
        ("keep", ("--duplicates", "keep", "--near_identical", "keep")),
    ):
        path = tmp_path / f"{name}.h5"
        run(
            "sequence-set", "--input", folder / "train.csv", "--test", tmp_path / "test.csv",
            "--label_columns", "class", "--output", path, *words,
        )  # fmt: skip
        sets.append(LabelledSet(path))
    dropped, kept = sets
    assert (len(dropped), dropped.counts["left_out_duplicates"]) == (60, 5)
    assert (len(kept), kept.counts["rows_test"]) == (65, 5)
    assert "left_out_duplicates" not in kept.counts
    texts = [[data.sequence(int(i)) for i in data.rows("test")] for data in sets]
    assert texts[0] == texts[1] == [line.split(",")[0] for line in lines[:5]]
    with h5py.File(tmp_path / "keep.h5") as file:
        settings = dict(file.attrs)
    assert any("duplicates" in str(value) and "keep" in str(value) for value in settings.values())


def test_labels_in_other_spellings_give_the_same_set(tmp_path, random_dna, capsys):
    """Per file: as pandas writes a column with gaps, as text, and one class as a FASTA file called `null`."""
    bases = [random_dna(60, row) for row in range(12)]
    for name, spell in (("plain", "{}"), ("float", "{}.0"), ("padded", "0{}")):
        rows = "".join(f"{x},{spell.format(i % 3)}\n" for i, x in enumerate(bases))
        (tmp_path / f"{name}.csv").write_text(f"sequence,label\n{rows}")
    with open(tmp_path / "float.csv", "a") as stream:
        stream.write(f"{random_dna(60, 99)},\n{random_dna(60, 98)},NaN\n")
    command = ["sequence-set", "--test_fraction", 0.2, "--near_identical", "keep", "--input"]
    run(*command, tmp_path / "plain.csv", "--output", tmp_path / "plain.h5")
    with pytest.raises(SystemExit, match="2"):
        run(*command, tmp_path / "float.csv", "--output", tmp_path / "float.h5")
    assert "float.csv:14: no label; 2 of 14 rows" in capsys.readouterr().err
    run(*command, tmp_path / "float.csv", "--output", tmp_path / "float.h5", "--missing", "drop")
    run(*command, tmp_path / "padded.csv", "--output", tmp_path / "padded.h5")
    plain, floats, padded = (
        LabelledSet(tmp_path / f"{x}.h5") for x in ("plain", "float", "padded")
    )
    assert plain.label_names == floats.label_names == padded.label_names == ["0", "1", "2"]
    everything = np.arange(12)
    assert (plain.labels_of(everything) == floats.labels_of(everything)).all()
    assert (plain.labels_of(everything) == padded.labels_of(everything)).all()
    assert (floats.counts["rows_read"], floats.counts["left_out_without_label"]) == (14, 2)
    (tmp_path / "null.fa").write_text(
        "".join(f">n{i}\n{random_dna(60, 200 + i)}\n" for i in range(4))
    )
    run(*command, tmp_path / "null.fa", tmp_path / "padded.csv", "--output", tmp_path / "null.h5")
    assert LabelledSet(tmp_path / "null.h5").label_names == ["0", "1", "2", "null"]
