"""Heads that read every bin of a window, and the losses of tracks: against loops and scipy."""

from collections import Counter

import numpy as np
import pytest
import torch
from scipy import stats

from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.metrics.label_objectives import SMALLEST, TOTAL_WEIGHT, TrackValues
from dna_bigbird.models.classifier import BinStates, EnsembleClassifier
from dna_bigbird.models.config import HeadConfig, stored_head
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import BinKmerCounts, BinKmerHead, bases_of_pieces
from dna_bigbird.models.label_types import TRACKS

PIECE_BP = [0, 0, 0, 1, 2, 5, 7]
"""Bases of the tokens of a vocabulary."""


@pytest.mark.parametrize(("bin_bp", "crop_bp"), [(1, 0), (2, 3), (4, 2), (6, 0)])
def test_a_bin_is_the_mean_over_its_bases(bin_bp, crop_bp):
    """Tokens are shorter and longer than a bin, and cross its borders."""
    rng = np.random.default_rng(0)
    windows = [[6, 3, 5, 4, 3, 6, 3, 4], [3] * 26, [4] * 13]  # 26 bases each
    ids = torch.zeros(3, 28, dtype=torch.long)
    for row, window in zip(ids, windows, strict=True):
        row[1 : len(window) + 1] = torch.tensor(window)
        row[0], row[len(window) + 1] = 1, 2
    is_padding = torch.arange(28) >= torch.tensor([len(x) + 2 for x in windows])[:, None]
    hidden = torch.from_numpy(rng.normal(size=(3, 28, 4)))
    bins = BinStates(bin_bp, crop_bp, len(PIECE_BP))
    bins.know_pieces(torch.tensor(PIECE_BP))
    states = bins(hidden, ids, is_padding)
    for states_PE, row, row_hidden in zip(states, ids, hidden, strict=True):
        of_bases = torch.repeat_interleave(row_hidden, torch.tensor(PIECE_BP)[row], dim=0)
        middle = of_bases[crop_bp : len(of_bases) - crop_bp]
        expected = middle[: len(middle) // bin_bp * bin_bp].reshape(-1, bin_bp, 4).mean(dim=1)
        torch.testing.assert_close(states_PE, expected)


PIECES = ["[PAD]", "[CLS]", "[SEP]", "A", "CG", "TTGCA", "N", "GGATCAC"]
PIECE_LENGTHS = np.array([0, 0, 0, 1, 2, 5, 1, 7])


@pytest.mark.parametrize(("bin_bp", "crop_bp"), [(4, 10), (5, 5), (1, 3)])
def test_kmers_around_bins_are_those_of_a_loop(bin_bp, crop_bp):
    """A k-mer is in the bin of its middle base; spans end with the whole bins of the window."""
    rng, around_bp = np.random.default_rng(3), (0, 5, 12)
    config = KmerHeadConfig(
        3, piece_bp=7, around_bp=around_bp, bin_bp=bin_bp, crop_bp=crop_bp, hidden=2, filters=1
    )
    counts = BinKmerCounts(config, len(PIECES))
    counts.bases_VI.copy_(torch.from_numpy(bases_of_pieces(PIECES, PIECE_LENGTHS)))
    ids = torch.cat(
        [torch.tensor([1]), torch.from_numpy(rng.integers(3, 8, 12)), torch.tensor([2, 0])]
    )
    text = "".join(PIECES[i] for i in ids if PIECE_LENGTHS[i])
    shares = counts(ids[None], ids[None] == 0)[0].numpy()
    first, bins = crop_bp % bin_bp, (len(text) - 2 * crop_bp) // bin_bp
    last = first + (len(text) - first) // bin_bp * bin_bp
    assert shares.shape == (bins, counts.size)
    for number, row in enumerate(shares):
        expected = []
        for around in around_bp:
            reach = round(around / bin_bp) * bin_bp
            start = max(first, crop_bp + number * bin_bp - reach)
            end = min(last, crop_bp + (number + 1) * bin_bp + reach)
            for k in (1, 2, 3):
                found = [
                    text[i : i + k] for i in range(len(text) - k + 1) if start <= i + k // 2 < end
                ]
                known = Counter(min(x, reverse_complement(x)) for x in found if "N" not in x)
                expected += [x / known.total() for x in known.values()]
        assert sorted(row[row > 0]) == pytest.approx(sorted(expected), rel=1e-5)


@pytest.mark.parametrize(("crop_bp", "reach"), [(12, 4), (4, 2), (0, 0)])
def test_the_best_match_of_a_filter_is_that_of_a_loop(crop_bp, reach):
    """On either strand, centred on a base of the bin or next to it; a base that is not there counts 0."""
    rng, bin_bp, width = np.random.default_rng(4), 5, 5
    config = KmerHeadConfig(
        1,
        around_bp=(0,),
        bin_bp=bin_bp,
        crop_bp=crop_bp,
        hidden=1,
        filters=2,
        filter_bp=width,
        reach_bp=4,
    )
    head = BinKmerHead(config, 9, num_labels=1)
    head.counts.bases_VI.copy_(torch.tensor([[5.0]] * 3 + [[0], [1], [2], [3], [4], [5]]))
    weights = rng.normal(size=(2, 4, width))
    with torch.no_grad():
        head.filters.weight.copy_(torch.from_numpy(weights))
    codes = rng.integers(0, 5, 30 + 2 * crop_bp)
    ids = torch.tensor([[1, *(codes + 3), 2]])
    found = head.matched(head.spelled_bins(ids, ids == 0))[0].detach().numpy()
    padded = np.concatenate([[4] * width, codes, [4] * width])

    def match(filter_4W, centre):
        bases = padded[centre + width - width // 2 : centre + width + width // 2 + 1]
        forward = sum(filter_4W[b, i] for i, b in enumerate(bases) if b < 4)
        return max(0, forward, sum(filter_4W[3 - b, -1 - i] for i, b in enumerate(bases) if b < 4))

    assert found.shape == (6, 2)
    for number, row in enumerate(found):
        first = crop_bp + number * bin_bp
        centres = range(first - reach, first + bin_bp + reach)
        assert row == pytest.approx([max(match(x, c) for c in centres) for x in weights], rel=1e-4)


def test_kmers_around_bins_add_nothing_until_they_are_fitted():
    config = KmerHeadConfig(2, piece_bp=7, around_bp=(0,), bin_bp=4, crop_bp=4, hidden=3, filters=2)
    head = BinKmerHead(config, len(PIECES), num_labels=2)
    head.counts.bases_VI.copy_(torch.from_numpy(bases_of_pieces(PIECES, PIECE_LENGTHS)))
    ids = torch.tensor([[1, 7, 5, 5, 7, 2]])
    assert head(ids, ids == 0).tolist() == torch.zeros(1, 4, 2).tolist()


@pytest.fixture
def values():
    """Outputs and counts of 3 windows, 5 bins and 2 tracks; some bins were not measured."""
    rng = np.random.default_rng(1)
    truth = rng.poisson(2.0, (3, 5, 2)).astype(np.float64)
    truth[0, 1, 0] = truth[2, :3, 1] = np.nan
    return torch.from_numpy(rng.normal(size=truth.shape)), torch.from_numpy(truth)


def test_poisson_is_that_of_scipy_up_to_a_constant(values):
    outputs, truth = values
    objective = TrackValues([1.0, 1.0], [2.0, 2.0], "poisson")
    rates = objective.predictions(outputs).numpy()
    known = ~np.isnan(truth.numpy())
    counts = truth.numpy()[known]
    expected = -stats.poisson.logpmf(counts, rates[known]) - np.vectorize(
        lambda n: np.log(float(np.prod(np.arange(1, n + 1))))
    )(counts)
    assert float(objective.loss(outputs, truth)) == pytest.approx(expected.mean(), abs=1e-4)


def test_poisson_multinomial_is_that_of_scipy_up_to_a_constant(values):
    """Of each window and track: the multinomial of its shape, and 0.2 times the Poisson of its total."""
    outputs, truth = values
    objective = TrackValues([1.0, 1.0], [2.0, 2.0], "poisson_multinomial")
    rates, known = objective.predictions(outputs).numpy(), ~np.isnan(truth.numpy())
    losses = []
    for window in range(3):
        for track in range(2):
            here = known[window, :, track]
            n, p = truth.numpy()[window, here, track], rates[window, here, track]
            coefficient = np.log([float(np.prod(np.arange(1, x + 1))) for x in (n.sum(), *n)])
            shape = -stats.multinomial.logpmf(n, n.sum(), p / p.sum())
            shape += coefficient[0] - coefficient[1:].sum()
            total = p.sum() - n.sum() * np.log(p.sum())
            losses.append(shape + TOTAL_WEIGHT * total)
    expected = sum(losses) / known.sum()
    assert float(objective.loss(outputs, truth)) == pytest.approx(expected, abs=1e-4)


def test_a_track_is_divided_by_its_mean_and_weighs_by_its_dispersion(values):
    outputs, truth = values
    means = torch.tensor([3.0, 50.0], dtype=torch.float64)
    for name in ("poisson", "poisson_multinomial"):
        scaled = TrackValues(means.tolist(), means.tolist(), name).loss(outputs, truth * means)
        plain = TrackValues([1.0, 1.0], [3.0, 3.0], name).loss(outputs, truth)
        torch.testing.assert_close(scaled, plain)
        # Variances of 1 and 3 with means of 1: of 4 parts the first track has 3.
        weighted = TrackValues([1.0, 1.0], [1.0, 3**0.5], name).loss(outputs, truth)
        alone = [
            TrackValues([1.0], [1.0], name).loss(outputs[..., i:][..., :1], truth[..., i:][..., :1])
            for i in range(2)
        ]
        known = (~truth.isnan()).sum(dim=(0, 1))
        expected = (1.5 * known[0] * alone[0] + 0.5 * known[1] * alone[1]) / known.sum()
        torch.testing.assert_close(weighted, expected)
    objective = TrackValues(means.tolist(), [1.0, 1.0], "mse_log")
    errors = (objective.predictions(outputs) + SMALLEST * means).log1p() - (truth * means).log1p()
    known = errors[~truth.isnan()]
    torch.testing.assert_close(objective.loss(outputs, truth * means), (known**2).mean())


@pytest.mark.parametrize("name", ["poisson", "poisson_multinomial", "mse_log"])
def test_a_bin_that_was_not_measured_teaches_nothing(values, name):
    outputs, truth = values
    outputs = outputs.clone().requires_grad_()
    TrackValues([1.0, 2.0], [1.0, 2.0], name).loss(outputs, truth).backward()
    assert (outputs.grad[truth.isnan()] == 0).all()
    assert (outputs.grad[~truth.isnan()] != 0).all()


def test_an_ensemble_predicts_the_mean_of_its_members():
    class Fixed(torch.nn.Module):
        def __init__(self, value):
            super().__init__()
            self.value = value

        def forward(self, ids, is_padding):
            return torch.full((1, 2, 1), self.value)

    logits = EnsembleClassifier([Fixed(-3.0), Fixed(40.0)], TRACKS)(None, None)
    mean = torch.nn.functional.softplus(torch.tensor([-3.0, 40.0])).mean()
    torch.testing.assert_close(torch.nn.functional.softplus(logits), mean.expand(1, 2, 1))


def test_settings_of_other_heads_are_not_stored():
    head = stored_head(HeadConfig(pooling="bins", bin_bp=32, crop_bp=64))
    assert (head["bin_bp"], head["crop_bp"], head["loss"]) == (32, 64, "poisson")
    assert not {"parts", "bins_at_once", "queries"} & head.keys()
    assert not {"bin_bp", "crop_bp", "loss"} & stored_head(HeadConfig(pooling="mean")).keys()
    assert {"bin_bp", "bins_at_once"} <= stored_head(HeadConfig(pooling="bin")).keys()
