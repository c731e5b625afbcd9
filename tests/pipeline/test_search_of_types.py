"""`baseline --search` on classes and targets: each type has its own validation score."""

import csv
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import matthews_corrcoef

from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores


def command(folder, *words):
    line = [sys.executable, "-m", "dna_bigbird", *map(str, words)]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sequences of 60 bases with their share of G and C, and with one of three classes of it."""
    folder = tmp_path_factory.mktemp("types")
    rng = np.random.default_rng(0)
    rows = ["sequence,gc,class"]
    for gc in rng.uniform(0.2, 0.8, 240):
        p = [(1 - gc) / 2, gc / 2, gc / 2, (1 - gc) / 2]
        rows.append(f"{''.join(rng.choice(list('ACGT'), 60, p=p))},{gc:.4f},c{int(gc * 5)}")
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    for name, options in {
        "regression": ["--label_columns", "gc"],
        "multi-class": ["--label_columns", "class"],
    }.items():
        options = ["--input", "table.csv", *options, "--output", f"{name}.h5"]
        done = command(folder, "sequence-set", *options)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("label_type", "score"), [("regression", "pearson"), ("multi-class", "mcc")]
)
def test_a_search_of_words_is_judged_by_the_score_of_the_type(folder, label_type, score):
    data = folder / f"{label_type}.h5"
    options = ["--data", data.name, "--output", f"{label_type}.scores.h5", "--search", "2"]
    done = command(folder, "baseline", *options, "--kmer.max_k", "1")
    assert done.returncode == 0, done.stderr
    (table,) = folder.glob(f"{label_type}.scores*/search.tsv")
    with table.open() as stream:
        trials = list(csv.DictReader(stream, delimiter="\t"))
    assert len(trials) == 2
    (chosen,) = [trial for trial in trials if trial["is_chosen"] == "True"]
    labelled = LabelledSet(data)
    assert labelled.label_type == label_type
    rows = labelled.rows("validation")
    values = read_scores(folder / f"{label_type}.scores.h5").to_dataframe().set_index("row")
    predicted, truth = values.loc[rows].to_numpy(), labelled.labels_of(rows)
    expected = {
        "pearson": lambda: pearsonr(truth[:, 0], predicted[:, 0])[0],
        "mcc": lambda: matthews_corrcoef(truth.argmax(axis=1), predicted.argmax(axis=1)),
    }[score]()
    assert float(chosen[f"validation_{score}"]) == pytest.approx(expected, abs=1e-4)


def test_seeds_of_targets_are_refused(folder):
    options = ["--data", "regression.h5", "--scores", "regression.scores.h5", "--output", "x.json"]
    done = command(folder, "compare-seeds", *options)
    assert done.returncode == 2
    assert "regression.h5: its labels are of the type regression; compare-seeds" in done.stderr
    assert not (folder / "x.json").exists()
