"""A window scores the same alone, in a crowd, in another order, in other batches and processes."""

import itertools

import numpy as np
import pytest

from dna_bigbird import load_bundle
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import reverse_complement
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.windows.tiling import Window

# Losing one block moves a score by more than 1e-3 (test_predictor.py).
TOLERANCE = {"32-true": 2e-6, "bf16-mixed": 0.002}


@pytest.fixture(scope="module")
def bundle(bundle_folder):
    return load_bundle(bundle_folder)


@pytest.fixture(scope="module")
def crowd(random_dna):
    """All lengths, several of one, repeats, one without a base, one beyond the context."""
    lengths = [5, 37, 120, 200, 200, 333, 64, 200, 700, 31, 32, 33, 119]
    sequences = [random_dna(length, seed=i) for i, length in enumerate(lengths)]
    return [*sequences, sequences[3], "N" * 40, reverse_complement(sequences[4])]


def scores(bundle, sequences, **settings):
    return Predictor(bundle, compute=Compute(**settings)).probabilities(sequences)


@pytest.mark.parametrize("precision", TOLERANCE)
def test_neighbours_order_and_batches_do_not_matter(bundle, crowd, precision):
    alone = np.concatenate([scores(bundle, [s], precision=precision) for s in crowd])
    assert np.isnan(alone[14]).all()
    assert np.nanstd(alone, axis=0).min() > 5 * TOLERANCE[precision], "they must differ"
    order = np.random.default_rng(0).permutation(len(crowd))
    for batch_size in (1, 7, 0):
        settings = {"precision": precision, "batch_size": batch_size}
        found = scores(bundle, crowd, **settings)
        shuffled = np.empty_like(found)
        shuffled[order] = scores(bundle, [crowd[i] for i in order], **settings)
        for values in (found, shuffled):
            np.testing.assert_allclose(values, alone, rtol=0, atol=TOLERANCE[precision])
        assert np.array_equal(found[3], found[13]), "equal windows of a chunk are computed once"


@pytest.mark.parametrize("workers", [1, 2])
def test_processes_do_not_matter(bundle, crowd, workers):
    """The chunks are the same and each is computed alike, so nothing moves at all."""
    windows = [Window(f"r{i}", 0, 200, crowd[3 + i % 2]) for i in range(40)]
    windows += [Window(f"s{i}", 0, len(s), s) for i, s in enumerate(crowd)]
    parts = []
    for count in (0, workers):
        predictor = Predictor(
            bundle, compute=Compute(workers=count, threads=1, precision="32-true")
        )
        predictor._chunk_bp = 500  # many chunks, of several windows
        parts.append(list(predictor.score_windows(iter(windows))))
        assert "2 windows had more tokens" in predictor.notes()[-1]
    assert len(parts[0]) > 10
    for (ours, values), (theirs, expected) in zip(*parts, strict=True):
        assert ours == theirs
        assert values.dtype == np.float32
        assert np.array_equal(values, expected, equal_nan=True)
    assert [w for chunk, _ in parts[1] for w in chunk] == windows


def test_a_model_changed_in_memory_is_not_scored_from_its_folder(bundle_folder, crowd):
    changed = load_bundle(bundle_folder)
    next(changed.model.parameters()).data += 1
    with pytest.raises(InputError, match=r"tiny: holds other weights than the model in memory"):
        scores(changed, crowd, workers=1)


def test_logits_read_each_sequence_as_it_stands(bundle, crowd):
    predictor = Predictor(bundle, compute=Compute(precision="32-true"))
    groups = [crowd[:3], crowd[3:5], [crowd[3], crowd[6], crowd[3]], [crowd[14], crowd[0]]]
    found = list(predictor.logits(iter(groups)))
    assert [len(rows) for rows in found] == [3, 2, 3, 2]
    assert np.array_equal(found[2][0], found[2][2])
    assert np.isnan(found[3][0]).all()
    forward = Predictor(bundle, strand="forward", compute=Compute(precision="32-true"))
    for group, rows in zip(groups, found, strict=True):
        expected = forward.probabilities(group)
        np.testing.assert_allclose(1 / (1 + np.exp(-rows)), expected, rtol=0, atol=2e-6)


def test_sequences_of_a_group_are_cut_alike(bundle, random_dna):
    """Two windows of one length may differ in tokens; cut apart, their scores would not compare."""
    fits = bundle.config["encoder"]["max_tokens"] - 2
    long = random_dna(1000, seed=1)

    def tokens(text):
        return len(bundle.tokenizer.encode(text))

    size = next(n for n in itertools.count(100) if tokens(long[:n]) > fits)
    above = long[:size]
    below = next(
        text for seed in itertools.count() if tokens(text := random_dna(size, seed)) <= fits
    )
    predictor = Predictor(bundle, compute=Compute(precision="32-true"))
    pair, alone = predictor.logits([[above, below], [below]])
    edges = [0, int(np.rint(size / 2)), size]
    parts = [below[a:b] for a, b in itertools.pairwise(edges)]
    halves = np.concatenate(list(predictor.logits([parts])))
    expected = (1 / (1 + np.exp(-halves))).mean(axis=0)
    np.testing.assert_allclose(1 / (1 + np.exp(-pair[1])), expected, rtol=0, atol=2e-6)
    assert np.abs(pair[1] - alone[0]).max() > 1e-3


def test_a_pattern_that_follows_the_batch_follows_the_window_alone(bundle, crowd):
    """The published random plans read the padded width: neighbours of other widths must stay out."""
    config = bundle.config | {
        "encoder": bundle.config["encoder"] | {"random_plan": "huggingface", "num_random": 2}
    }
    model = build_model(config).eval()
    for parameter in model.parameters():
        parameter.data *= 10 if parameter.dim() == 2 else 1
    published = Bundle(model, config, bundle.tokenizer, bundle.metrics, bundle.folder)
    alone = np.concatenate([scores(published, [s], precision="32-true") for s in crowd])
    found = scores(published, crowd, precision="32-true")
    np.testing.assert_allclose(found, alone, rtol=0, atol=TOLERANCE["32-true"])
