"""evaluate on a small set: numbers against scikit-learn, an ensemble, intervals, refusals."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn import metrics as sk

from dna_bigbird import load_bundle
from dna_bigbird.bundles.ensemble import join_bundles
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.cli.main import main
from dna_bigbird.core.files import sha256_of
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.labelled.labelled_set import LabelledData, LabelledSet, write_labelled_set
from dna_bigbird.labelled.scores import LabelScores, read_scores, write_scores

ROWS, STEP_BP = 90, 1000


@pytest.fixture(scope="module")
def project(tmp_path_factory, bundle_folder, random_dna):
    """A genome, a set of 30 validation and 60 test rows, a baseline, two models and both joined."""
    folder = tmp_path_factory.mktemp("evaluate")
    (folder / "g.fa").write_text(f">chr1\n{random_dna(ROWS * STEP_BP + 1000, 1)}\n")
    rng = np.random.default_rng(0)
    data = LabelledData(
        task="chromatin",
        window_bp=200,
        label_names=["CTCF", "DNase"],
        label_groups=["TF", "DNase"],
        intervals=[Interval("chr1", i * STEP_BP, i * STEP_BP + 200, "+") for i in range(ROWS)],
        names=[""] * ROWS,
        labels=(rng.random((ROWS, 2)) < [0.3, 0.6]).astype(np.uint8),
        split=np.repeat([1, 2], [30, 60]).astype(np.uint8),
    )
    genome = Genome(folder / "g.fa")
    write_labelled_set(folder / "s.h5", data, genome, assembly="toy", command="", inputs={})
    write_scores(
        folder / "kmer.h5",
        LabelScores(
            name="kmer",
            description="noise",
            label_names=data.label_names,
            rows=np.arange(ROWS),
            values=rng.random((ROWS, 2)).astype(np.float32),
            set_sha256=sha256_of(folder / "s.h5"),
        ),
    )
    first = load_bundle(bundle_folder)
    for seed in (1, 2):
        model = build_model(first.config)
        generator = torch.Generator().manual_seed(seed)
        for parameter in model.parameters():
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
        config = first.config | {"seed": seed}
        save_bundle(
            folder / f"m{seed}",
            model=model, config=config, tokenizer=first.tokenizer, metrics={"step": 5}, card="",
        )  # fmt: skip
    join_bundles([folder / "m1", folder / "m2"], folder / "both")
    for name in ("m1", "m2", "both"):
        evaluate(folder, name)
    return folder


def evaluate(folder, name, *options):
    line = (
        f"evaluate --genome {folder}/g.fa --data {folder}/s.h5 --model {folder}/{name} "
        f"--output {folder}/final/{name} --report {folder}/report/{name} "
        f"--baselines.kmer {folder}/kmer.h5 --replicates 50"
    )
    main([*line.split(), *options])


def metrics_of(folder, name):
    return json.loads((folder / "final" / name / "metrics.json").read_text())


def table(folder, name, file):
    with open(folder / "report" / name / file) as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_an_ensemble_scores_the_mean(project):
    one, two, both = (
        read_scores(project / "report" / name / "scores.h5") for name in ("m1", "m2", "both")
    )
    assert np.abs(one.values - two.values).max() > 1e-3
    assert np.abs(both.values - (one.values + two.values) / 2).max() < 1e-6
    assert "mean over 2 independently" in (project / "final/both/README.md").read_text()


def test_numbers_are_those_of_scikit_learn(project):
    labelled = LabelledSet(project / "s.h5")
    test = labelled.rows("test")
    labels, scores = labelled.labels[test], read_scores(project / "report/m1/scores.h5").of(test)
    found, rows = metrics_of(project, "m1"), table(project, "m1", "per_label.tsv")
    areas = [sk.roc_auc_score(labels[:, i], scores[:, i]) for i in (0, 1)]
    assert [float(row["auroc"]) for row in rows] == pytest.approx(areas, abs=1e-6)
    assert found["macro_auroc"] == pytest.approx(np.mean(areas), abs=1e-6)
    assert found["median_auroc_TF"] == pytest.approx(areas[0], abs=1e-6)
    assert found["brier"] == pytest.approx(((labels - scores) ** 2).mean(), abs=1e-6)
    noise = read_scores(project / "kmer.h5").of(test)
    others = [sk.roc_auc_score(labels[:, i], noise[:, i]) for i in (0, 1)]
    gain = np.mean(areas) - np.mean(others)
    assert found["auroc_gain_over_kmer"] == pytest.approx(gain, abs=1e-6)
    assert found["baselines"]["kmer"]["macro_auroc"] == pytest.approx(np.mean(others), abs=1e-6)


def test_blocks_are_named(project):
    """60 rows, one each 1,000 bp: 200 kb and longer give 1 block, 10 kb gives 6."""
    found = metrics_of(project, "m1")
    assert (found["block_bp"], found["n_blocks"]) == (10_000, 6)
    evaluate(project, "m1", "--block_bp", "2000", "--output", f"{project}/final/other")
    found = metrics_of(project, "other")
    assert (found["block_bp"], found["n_blocks"]) == (2000, 30)
    assert found["baselines"]["kmer"]["n_blocks"] == 30


def test_calibration_table(project):
    rows = table(project, "m1", "calibration.tsv")
    assert {row["group"] for row in rows} == {"all", "TF", "DNase"}
    assert sum(int(r["n"]) for r in rows if (r["group"], r["probabilities"]) == ("TF", "raw")) == 60
    assert all(0 <= float(row["mean_probability"]) <= 1 for row in rows)


def test_every_key_is_defined_in_the_documentation(project):
    text = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
    defined = set(re.findall(r"`([^`]+)`", text))
    keys = set(metrics_of(project, "m1")) | set(table(project, "m1", "per_label.tsv")[0])
    keys |= set(table(project, "m1", "calibration.tsv")[0])
    for key in keys:
        general = re.sub(r"_(TF|DNase)$", "_<group>", re.sub(r"_(low|high)$", "", key))
        general = re.sub(r"^kmer_|_kmer$", "", general).replace("_over", "")
        assert general in defined, key


def test_equal_runs_give_equal_bytes(project):
    files = ["per_label.tsv", "calibration.tsv", "curves.tsv", "scores.h5"]
    before = [(project / "report/both" / name).read_bytes() for name in files]
    card = (project / "final/both/README.md").read_bytes()
    evaluate(project, "both")
    assert [(project / "report/both" / name).read_bytes() for name in files] == before
    assert (project / "final/both/README.md").read_bytes() == card


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--replicates", "0"], "--replicates 0"),
        (["--block_bp", "-5"], "--block_bp -5"),
        (["--baselines.model", "kmer.h5"], "'model' is the name of the model itself"),
    ],
)
def test_refusals(project, options, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        evaluate(project, "m1", *options, "--output", f"{project}/never")
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (project / "never").exists()
