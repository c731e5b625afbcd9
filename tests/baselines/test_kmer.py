"""The k-mer baseline: words counted by hand, scikit-learn as oracle, the command line."""

import gzip
import itertools
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from dna_bigbird.baselines.kmer import (
    KmerBaseline,
    KmerConfig,
    canonical_kmers,
    kmer_frequencies,
    positional_features,
)
from dna_bigbird.baselines.kmer_baseline import fitted_kmers, reads_one_strand
from dna_bigbird.baselines.logistic import RidgeLogistic, log_loss, predict_logistic
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.promoter.negatives import make_negative
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.models.label_types import BINARY, MULTI_CLASS, REGRESSION


def counted_one_by_one(sequence, max_k):
    expected = []
    for k in range(1, max_k + 1):
        words = ["".join(w) for w in itertools.product("ACGT", repeat=k)]
        found = [sequence[i : i + k] for i in range(len(sequence) - k + 1)]
        counts = np.array([found.count(w) for w in words], float)
        expected.append(counts / max(1, counts.sum()))
    return np.concatenate(expected)


@pytest.mark.parametrize("sequence", ["ACGTTGCANACCA", "NNNN", "A", "", "AAAAAAA", "NACGN"])
def test_words_against_counting(sequence):
    ours = kmer_frequencies(sequence, 3, together=False)
    np.testing.assert_allclose(ours, counted_one_by_one(sequence, 3), atol=1e-7)


def test_a_word_and_its_reverse_complement_are_one():
    rng = np.random.default_rng(0)
    sequence = "".join(rng.choice(list("ACGTN"), 500))
    ours = kmer_frequencies(sequence, 4, together=True)
    assert len(ours) == 2 + 10 + 32 + 136
    np.testing.assert_array_equal(
        ours, kmer_frequencies(reverse_complement(sequence), 4, together=True)
    )
    words = ["".join(w) for w in itertools.product("ACGT", repeat=3)]
    numbers = canonical_kmers(3)
    for a, b in itertools.product(range(64), repeat=2):
        same = words[a] == words[b] or words[a] == reverse_complement(words[b])
        assert (numbers[a] == numbers[b]) == same


def test_centre_of_the_window_is_counted_apart():
    config = KmerConfig(max_k=1, strands="apart", centre_bp=4)
    (features,) = KmerBaseline(config).features(["AAACGTTGGG"])
    assert features.tolist() == pytest.approx([0.3, 0.1, 0.4, 0.2, 0, 0.25, 0.25, 0.5])
    only_gc = KmerBaseline(config, method="gc")
    assert only_gc.features(["AAACGTTGGG"]).tolist() == [[0.5, 0.5]]
    assert only_gc.features(["ACC"]).tolist() == [[pytest.approx(2 / 3)] * 2], "shorter: all of it"


def problem(seed=0, rows=150, columns=40, labels=3):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns))
    features /= features.std(axis=0)
    features -= features.mean(axis=0)
    logits = features[:, :labels] * 1.5 - np.arange(labels)
    truth = (rng.random((rows, labels)) < 1 / (1 + np.exp(-logits))).astype(float)
    return features, truth


@pytest.mark.parametrize("penalty", [1.0, 0.1, 0.001])
@pytest.mark.parametrize(("rows", "columns"), [(150, 40), (30, 60)])
def test_same_solution_as_scikit_learn(penalty, rows, columns):
    features, truth = problem(rows=rows, columns=columns)
    weights = RidgeLogistic(features).fit(truth, penalty)
    ours = predict_logistic(features, weights)
    for i in range(truth.shape[1]):
        oracle = LogisticRegression(C=1 / (rows * penalty), tol=1e-10, max_iter=10_000)
        oracle.fit(features, truth[:, i])
        np.testing.assert_allclose(ours[:, i], oracle.predict_proba(features)[:, 1], atol=1e-3)


def test_start_does_not_change_the_solution():
    features, truth = problem()
    regression = RidgeLogistic(features)
    strong = regression.fit(truth, 1.0)
    np.testing.assert_allclose(
        regression.fit(truth, 0.1, start=strong), regression.fit(truth, 0.1), atol=1e-3
    )
    one_by_one = [regression.fit(truth[:, [i]], 0.1) for i in range(3)]
    np.testing.assert_allclose(np.hstack(one_by_one), regression.fit(truth, 0.1), atol=1e-3)


def test_each_label_is_fitted_on_the_rows_where_it_was_measured():
    """Against scikit-learn on those rows alone; a label that was measured nowhere gets nothing."""
    features, truth = problem(rows=200)
    truth = np.column_stack([truth, np.full(200, np.nan)])
    truth[np.random.default_rng(3).random(truth.shape) < [0.5, 0, 0.2, 0]] = np.nan
    model = KmerBaseline(KmerConfig(strands="apart", centre_bp=0)).fit(features, truth)
    scaled = StandardScaler().fit_transform(features)
    found = model.predict(features)
    for i in range(3):
        here = ~np.isnan(truth[:, i])
        oracle = LogisticRegression(C=1 / (here.sum() * model.penalty), tol=1e-10, max_iter=10_000)
        oracle.fit(scaled[here], truth[here, i])
        np.testing.assert_allclose(found[:, i], oracle.predict_proba(scaled)[:, 1], atol=1e-3)
    assert (found[:, 3] == 0).all()


def test_penalty_is_chosen_on_measured_cells():
    """The rows where nothing was measured could be any."""
    features, truth = problem(rows=300)
    train, known = (features[:100], truth[:100]), (features[100:], truth[100:])
    model, other = (KmerBaseline(KmerConfig(strands="apart", centre_bp=0)) for _ in range(2))
    model.fit(*train, *known)
    noise = np.random.default_rng(0).normal(size=(50, features.shape[1]))
    missing = np.full((50, 3), np.nan)
    other.fit(*train, np.vstack([known[0], noise]), np.vstack([known[1], missing]))
    assert other.penalty == model.penalty
    np.testing.assert_array_equal(other.predict(features), model.predict(features))
    assert log_loss(np.array([[1, np.nan], [np.nan, 0]]), np.array([[0.5, 0.1], [0.2, 0.75]])) == (
        pytest.approx((np.log(2) + np.log(4)) / 2)
    )


def test_log_loss_by_hand():
    assert log_loss(np.array([[1], [0]]), np.array([[0.5], [0.75]])) == pytest.approx(
        (np.log(2) + np.log(4)) / 2
    )


def test_penalty_is_chosen_on_validation():
    features, truth = problem(rows=600)
    train, validation = (features[:60], truth[:60]), (features[60:], truth[60:])
    model = KmerBaseline(KmerConfig(strands="apart", centre_bp=0)).fit(*train, *validation)
    loss = log_loss(validation[1], model.predict(validation[0]))
    regression = RidgeLogistic(features[:60])
    others = [regression.fit(truth[:60], penalty) for penalty in (10.0, 0.0001)]
    assert loss < min(log_loss(validation[1], predict_logistic(features[60:], w)) for w in others)


def test_a_label_that_never_varies_scores_its_value():
    features, truth = problem()
    truth[:, 1], truth[:, 2] = 0, 1
    model = KmerBaseline(KmerConfig(strands="apart", centre_bp=0)).fit(features, truth)
    scores = model.predict(features)
    assert (scores[:, 1] == 0).all()
    assert (scores[:, 2] == 1).all()
    assert scores[:, 0].std() > 0
    assert model.predict(features[:0]).shape == (0, 3)


def test_settings():
    config = KmerConfig()
    filled = config.for_set(window_bp=8000, bin_bp=200, oriented=False)
    assert (filled.strands, filled.centre_bp) == ("together", 1000)
    filled = config.for_set(window_bp=8000, bin_bp=0, oriented=True)
    assert (filled.strands, filled.centre_bp) == ("apart", 0)
    assert config.for_set(window_bp=1000, bin_bp=200, oriented=False).centre_bp == 0
    with pytest.raises(ValueError, match=r"--kmer\.max_k 9"):
        KmerConfig(max_k=9)
    with pytest.raises(ValueError, match="fill in `auto` and -1 first"):
        KmerBaseline(config)


@pytest.mark.parametrize("method", ["kmer", "gc", "composition", "positional", "motif"])
def test_command_line(promoters, method, capsys):
    """`--kind` is the old name of `--method`."""
    for name, option in (("a.h5", "--method"), ("b.h5", "--kind")):
        main(
            [
                "baseline",
                f"--genome={promoters / 'toy.fa'}",
                f"--data={promoters / 'set.h5'}",
                f"--output={promoters / name}",
                f"{option}={method}",
                "--kmer.max_k=3",
            ]
        )
    assert (promoters / "a.h5").read_bytes() == (promoters / "b.h5").read_bytes()
    assert f"{method} baseline:" in capsys.readouterr().err
    made = LabelledSet(promoters / "set.h5", Genome(promoters / "toy.fa"))
    scores = read_scores(promoters / "a.h5")
    assert scores.name == method
    held_out = np.sort(np.concatenate([made.rows("validation"), made.rows("test")]))
    assert scores.rows.tolist() == held_out.tolist()
    test = made.rows("test")
    called = scores.of(test)[:, 0] >= 0.5
    if method == "kmer":
        assert f1_score(made.labels[test, 0], called) > 0.9


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("random_base", 0.88, 0.95), ("permuted", 0.5, 0.63)]
)
def test_known_strength_of_the_baseline_on_real_promoters(real_data, kind, low, high):
    """On 300-bp TATA promoters it reaches F1 about 0.92 on redrawn, 0.56 on permuted negatives."""
    with gzip.open(real_data / "promoters" / "human_tata_promoters_300bp.txt.gz", "rt") as stream:
        positives = stream.read().split()[:1200]
    rng = np.random.default_rng(0)
    negatives = [
        make_negative(np.frombuffer(x.encode(), np.uint8), kind, rng).tobytes().decode()
        for x in positives
    ]
    model = KmerBaseline(KmerConfig(strands="apart", centre_bp=0))
    features = model.features(x for pair in zip(positives, negatives, strict=True) for x in pair)
    labels = np.tile([[1], [0]], (len(positives), 1))
    train, validation, test = np.split(np.arange(len(labels)), [1600, 1800])
    model.fit(features[train], labels[train], features[validation], labels[validation])
    called = model.predict(features[test])[:, 0] >= 0.5
    assert low < f1_score(labels[test, 0], called) < high


def test_positional_features_are_bases_and_3_mers_in_parts(random_dna):
    """Counted again by loops, in a window with one-hot bases, one without, and one with wider parts."""
    for length, part_bp in ((47, 15), (330, 15), (601, 16)):
        text = random_dna(length, length)
        text = text[:20] + "N" + text[21:]
        found = positional_features(text)
        if length <= 320:
            one_hot, found = found[: 4 * length], found[4 * length :]
            for place, base in enumerate(text):
                expected = [float(base == letter) for letter in "ACGT"]
                assert one_hot[4 * place : 4 * place + 4].tolist() == expected
        kmers = ["".join(x) for x in itertools.product("ACGT", repeat=3)]
        for part in range(-(-(length - 2) // part_bp)):
            starts = range(part * part_bp, min((part + 1) * part_bp, length - 2))
            counted = Counter(text[start : start + 3] for start in starts)
            assert found[64 * part : 64 * part + 64].tolist() == [counted[x] for x in kmers]


def test_positional_finds_a_motif_at_a_fixed_place_that_counting_cannot(random_dna):
    rng = np.random.default_rng(0)
    places, labels = np.where(rng.random(600) < 0.5, 30, rng.integers(31, 90, 600)), []
    windows = []
    for row, place in enumerate(places):
        text = random_dna(100, row)
        windows.append(text[:place] + "TATAAA" + text[place + 6 :])
        labels.append([float(place == 30)])
    scores = {}
    for method in ("kmer", "positional"):
        model = KmerBaseline(KmerConfig(max_k=4, strands="apart", centre_bp=0), method=method)
        features = model.features(windows)
        model.fit(features[:400], np.array(labels[:400]))
        scores[method] = roc_auc_score(labels[400:], model.predict(features[400:]))
    assert scores["kmer"] < 0.6
    assert scores["positional"] > 0.95


@pytest.mark.parametrize("facts", [{"has_one_length": False}, {"bin_bp": 200}], ids=str)
def test_positional_refuses_windows_that_are_not_aligned(facts):
    labelled = SimpleNamespace(**{"path": "x.h5", "has_one_length": True, "bin_bp": 0} | facts)
    with pytest.raises(InputError, match=r"x\.h5: --method positional"):
        fitted_kmers(labelled, KmerConfig(), method="positional")


@pytest.mark.parametrize("label_type", [BINARY, MULTI_CLASS, REGRESSION])
@pytest.mark.parametrize("oriented", [True, False])
@pytest.mark.parametrize("aligned", [True, False])
def test_strands_are_read_as_the_labels_have_them(label_type, oriented, aligned, random_dna):
    """A motif on the given strand means 1, on the other 0; or a motif on either strand means 1."""
    rng, windows = np.random.default_rng(1), []
    labels = rng.integers(0, 2, 900)
    for row, label in enumerate(labels):
        motif = "GATTACAG" if label or oriented else "CCATGTTA"
        if (not label) if oriented else rng.random() < 0.5:
            motif = reverse_complement(motif)
        text = random_dna(60, row)
        windows.append(text[:26] + motif + text[34:])
    values = np.stack([1 - labels, labels], 1) if label_type == MULTI_CLASS else labels[:, None]
    parts = {"train": np.arange(600), "validation": np.arange(600, 900)}
    labelled = SimpleNamespace(
        has_one_length=aligned, bin_bp=0, label_type=label_type, rows=parts.get,
        sequence=windows.__getitem__, labels_of=lambda rows: values[rows].astype(float),
    )  # fmt: skip
    one_strand, why = reads_one_strand(labelled)
    assert one_strand == oriented
    assert ("positional" if aligned else "kmer") in why
    # A difference on one row has no error.
    parts["validation"] = parts["validation"][:1]
    assert reads_one_strand(labelled) == (False, "")
