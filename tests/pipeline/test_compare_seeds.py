"""Means over seeds and paired differences, compared with scikit-learn, SciPy and loops."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import matthews_corrcoef, roc_auc_score

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.evaluation.compare_seeds import SeedComparison, compare_seeds
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.labelled.labelled_set import (
    LabelledData,
    LabelledSet,
    block_units,
    write_labelled_set,
)
from dna_bigbird.labelled.scores import LabelScores, write_scores
from dna_bigbird.metrics.bootstrap import draw_units

ROWS, REPLICATES, SEED = 240, 200, 5
MODEL_NOISE, BASELINE_NOISE = (0.8, 1.0, 1.4), (2.0, 2.6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A set of one label, scores of three seeds of a model, of two of a baseline, and of k-mers."""
    folder = tmp_path_factory.mktemp("seeds")
    rng = np.random.default_rng(1)
    (folder / "g.fa").write_text(">chr1\n" + "ACGT" * (ROWS * 50) + "\n")
    labels = (rng.random((ROWS, 1)) < 0.4).astype(np.uint8)
    data = LabelledData(
        task="promoter",
        window_bp=100,
        label_names=["promoter"],
        label_groups=[""],
        intervals=[Interval("chr1", 200 * i, 200 * i + 100) for i in range(ROWS)],
        names=[""] * ROWS,
        labels=labels,
        split=np.array([0] * 20 + [1] * 80 + [2] * (ROWS - 100), np.uint8),
        negatives="permuted",
    )
    genome = Genome(folder / "g.fa")
    write_labelled_set(
        folder / "set.h5", data, genome, assembly="toy", command="promoter-set", inputs={}
    )
    for names, noises in (("model", MODEL_NOISE), ("net", BASELINE_NOISE), ("kmer", (3.0,))):
        for number, noise in enumerate(noises):
            values = labels + rng.normal(0, noise, labels.shape)
            write(folder, f"{names}{number}.h5", 1 / (1 + np.exp(-values)))
    return folder


def write(folder, name: str, values, data="set.h5") -> None:
    scores = LabelScores(
        name=name,
        description="made up",
        label_names=["promoter"],
        rows=np.arange(20, ROWS),
        values=values[20:].astype(np.float32),
        set_sha256=sha256_of(folder / data),
        strand="forward",
    )
    write_scores(folder / name, scores)


def files(folder, name: str, count: int) -> list:
    return [folder / f"{name}{number}.h5" for number in range(count)]


@pytest.fixture(scope="module")
def joined(folder):
    baselines = [f"net={path}" for path in files(folder, "net", 2)] + [f"kmer={folder}/kmer0.h5"]
    options = {"seed": SEED, "replicates": REPLICATES}
    result = compare_seeds(
        folder / "set.h5",
        files(folder, "model", 3),
        folder / "seeds.json",
        baselines=baselines,
        **options,
    )
    return result, json.loads((folder / "seeds.json").read_text())


def tables(folder, name: str, count: int):
    """Labels of the test rows, and the scores of each seed."""
    from dna_bigbird.labelled.scores import read_scores

    labelled = LabelledSet(folder / "set.h5")
    rows = labelled.rows("test")
    return labelled.labels_of(rows)[:, 0], [
        read_scores(path).of(rows)[:, 0] for path in files(folder, name, count)
    ]


def drawn_means(folder, name: str, count: int) -> np.ndarray:
    """The mean AUROC over seeds under each draw, by scikit-learn."""
    labelled = LabelledSet(folder / "set.h5")
    rows = labelled.rows("test")
    units, _ = block_units(labelled, rows, 0)
    draws = draw_units(len(rows), replicates=REPLICATES, seed=SEED, units=units)
    labels, scores = tables(folder, name, count)
    weights = draws.times[draws.units].astype(float)  # (N, R)
    return np.array(
        [
            np.mean([roc_auc_score(labels, x, sample_weight=weights[:, r]) for x in scores])
            for r in range(REPLICATES)
        ]
    )


def test_means_and_spread_are_those_of_scikit_learn(folder, joined):
    metrics = joined[1]
    for values, name, count in (
        (metrics, "model", 3),
        (metrics["baselines"]["net"], "net", 2),
        (metrics["baselines"]["kmer"], "kmer", 1),
    ):
        labels, scores = tables(folder, name, count)
        areas = [roc_auc_score(labels, x) for x in scores]
        assert values["n_seeds"] == count
        assert values["auroc"] == pytest.approx(np.mean(areas), abs=1e-6)
        assert values["auroc_by_seed"] == pytest.approx(areas, abs=1e-6)
        if count > 1:
            assert values["auroc_sd"] == pytest.approx(np.std(areas, ddof=1), abs=1e-6)
        else:
            assert values["auroc_sd"] is None
    assert metrics["n"] == len(labels)
    assert metrics["n_positive"] == labels.sum()


def test_each_seed_has_its_own_threshold_of_the_validation_rows(folder, joined):
    from dna_bigbird.labelled.scores import read_scores
    from dna_bigbird.metrics.binary import best_f1_threshold

    labelled = LabelledSet(folder / "set.h5")
    validation, test = labelled.rows("validation"), labelled.rows("test")
    expected = []
    for path in files(folder, "model", 3):
        scores = read_scores(path)
        chosen = best_f1_threshold(
            labelled.labels_of(validation)[:, 0], scores.of(validation)[:, 0]
        )
        called = scores.of(test)[:, 0] >= chosen
        expected.append(matthews_corrcoef(labelled.labels_of(test)[:, 0], called))
    assert joined[1]["mcc_by_seed"] == pytest.approx(expected, abs=1e-6)


def test_intervals_cover_rows_and_seeds(folder, joined):
    """Variances added, degrees of freedom by Welch and Satterthwaite, the difference paired by draw."""
    labelled = LabelledSet(folder / "set.h5")
    units = len(set(block_units(labelled, labelled.rows("test"), 0)[0]))
    model, net = drawn_means(folder, "model", 3), drawn_means(folder, "net", 2)
    sds = [np.std(joined[1]["auroc_by_seed"], ddof=1)]
    sds.append(np.std(joined[1]["baselines"]["net"]["auroc_by_seed"], ddof=1))
    parts = [(np.var(model - net, ddof=1), units - 1), (sds[0] ** 2 / 3, 2), (sds[1] ** 2 / 2, 1)]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / n for part, n in parts)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
    gain = joined[1]["auroc"] - joined[1]["baselines"]["net"]["auroc"]
    assert joined[1]["auroc_gain_over_net"] == pytest.approx(gain, abs=2e-6)
    assert joined[1]["auroc_gain_over_net_low"] == pytest.approx(gain - half, abs=1e-5)
    assert joined[1]["auroc_gain_over_net_high"] == pytest.approx(min(1, gain + half), abs=1e-5)


def test_the_result_has_a_summary_and_a_table(joined):
    result, metrics = joined
    assert f"auroc: {metrics['auroc']:.4f} [" in result.summary()
    assert "net: " in result.summary()
    frame = result.to_dataframe()
    assert set(frame["source"]) == {"model", "net", "kmer"}


def test_the_summary_of_several_labels_names_their_mean(tmp_path):
    """Differences are stored without `macro_`."""
    score = {"macro_auroc": 0.8, "macro_auroc_low": 0.7, "macro_auroc_high": 0.9, "n_seeds": 1}
    gain = "auroc_gain_over_kmer"
    values = score | {"macro_auroc_sd": None, "baselines": {"kmer": score}}
    values |= {gain: 0.05, f"{gain}_low": 0.01, f"{gain}_high": 0.09}
    lines = SeedComparison(tmp_path / "seeds.json", values).summary().splitlines()
    assert lines[0] == "macro_auroc: 0.8000 [0.7000, 0.9000], 1 seeds"
    assert lines[1].endswith("1 seeds; difference 0.0500 [0.0100, 0.0900]")


def test_wrong_files_are_refused_in_one_line(folder):
    model = files(folder, "model", 3)
    data = folder / "set.h5"

    def refused(scores, baselines, match, output="x.json"):
        with pytest.raises(InputError, match=match):
            compare_seeds(data, scores, folder / output, baselines=baselines)
        assert not (folder / "x.json").exists()

    refused([], [], "expected scores.h5 of at least one training")
    refused(model, ["kmer"], "baselines kmer: expected NAME=FILE")
    refused(model, [f"model={model[0]}"], "expected NAME=FILE")
    refused([model[0], model[0]], [], "model0.h5: named twice for model")
    refused(model, [f"a={folder}/no.h5"], "no.h5: no such file of scores")
    (folder / "copy.h5").write_bytes(model[0].read_bytes())
    refused([model[0], folder / "copy.h5"], [], "copy.h5: the scores of .*expected one per seed")
    refused(model, [f"a={folder}/a.json"], "is the input", output="a.json")
