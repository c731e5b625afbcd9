"""15 % of the tokens, 80/10/10, and never a special one."""

import numpy as np
import pytest

from dna_bigbird.corpus.masking import MaskingConfig, mask_tokens, span_positions, span_starts


class Vocabulary:
    vocab_size, cls_id, sep_id, mask_id, first_piece_id = 105, 2, 3, 4, 5


def within_binomial(count: int, n: int, p: float) -> bool:
    return abs(count - n * p) < 4.5 * np.sqrt(n * p * (1 - p))


def test_shares():
    rng = np.random.default_rng(0)
    ids = np.full(200_000, 50)
    ids[[0, 1000, -1]] = 2, 3, 3
    maskable = ids >= 5
    seen, positions, labels = mask_tokens(ids, maskable, rng, MaskingConfig(), Vocabulary)
    n = len(positions)
    assert n == round(0.15 * maskable.sum())
    assert (labels == 50).all()
    assert (np.diff(positions) > 0).all()
    assert maskable[positions].all()
    assert np.array_equal(np.delete(seen, positions), np.delete(ids, positions))
    at = seen[positions]
    assert within_binomial((at == 4).sum(), n, 0.8)
    assert within_binomial((at == 50).sum(), n, 0.1 + 0.1 / 100), "kept, or replaced by itself"
    other = at[(at != 4) & (at != 50)]
    assert within_binomial(len(other), n, 0.1 * 99 / 100)
    assert other.min() == 5
    assert other.max() == 104
    assert within_binomial((other < 55).sum(), len(other), 49 / 99)


def test_positions_are_uniform():
    ids, maskable = np.full(40, 7), np.ones(40, dtype=bool)
    counts = np.zeros(40)
    for seed in range(2000):
        _, positions, _ = mask_tokens(
            ids, maskable, np.random.default_rng(seed), MaskingConfig(), Vocabulary
        )
        assert len(positions) == len(set(positions)) == 6
        counts[positions] += 1
    assert (abs(counts - 300) < 4.5 * np.sqrt(2000 * 0.15 * 0.85)).all()


def test_at_least_one_token_and_the_input_stays_as_it_was():
    ids = np.array([2, 9, 3])
    seen, positions, labels = mask_tokens(
        ids,
        ids >= 5,
        np.random.default_rng(0),
        MaskingConfig(mask_share=1, random_share=0),
        Vocabulary,
    )
    assert positions.tolist() == [1]
    assert labels.tolist() == [9]
    assert seen.tolist() == [2, 4, 3]
    assert ids.tolist() == [2, 9, 3]


def test_nothing_to_mask():
    with pytest.raises(ValueError, match="no token that could be masked"):
        mask_tokens(
            np.array([2, 3]),
            np.zeros(2, bool),
            np.random.default_rng(0),
            MaskingConfig(),
            Vocabulary,
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fraction": 0}, "fraction 0"),
        ({"fraction": 1.5}, "fraction 1.5"),
        ({"mask_share": 0.95}, "add up to at most 1"),
        ({"random_share": -0.1}, "--masking.random_share -0.1"),
    ],
)
def test_impossible_shares(settings, message):
    with pytest.raises(ValueError, match=message):
        MaskingConfig(**settings)


class Pieces(Vocabulary):
    """Tokens 5 to 104 have 1 to 10 bases."""

    piece_bp = np.concatenate([np.zeros(5, dtype=int), 1 + np.arange(100) % 10])


def runs(positions: np.ndarray) -> list[list[int]]:
    """Neighbouring positions in one list each."""
    found: list[list[int]] = []
    for position in positions.tolist():
        if found and position == found[-1][-1] + 1:
            found[-1].append(position)
        else:
            found.append([position])
    return found


def spanned(fraction: float, span_bp: int, seed: int, tokens: int = 500):
    """Ids with special tokens in them, and the positions chosen in spans."""
    rng = np.random.default_rng([seed, 1])
    ids = rng.integers(5, 105, tokens)
    ids[[0, tokens // 2, tokens - 1]] = 2, 3, 3
    config = MaskingConfig(fraction, 1.0, 0.0, span_bp=span_bp)
    return ids, *mask_tokens(ids, ids >= 5, np.random.default_rng(seed), config, Pieces)


@pytest.mark.parametrize("fraction", [0.001, 0.15, 0.4, 0.99, 1.0])
@pytest.mark.parametrize("span_bp", [1, 30, 10_000])
def test_spans_are_exactly_as_many_tokens_as_asked(fraction, span_bp):
    for seed in range(20):
        ids, seen, positions, labels = spanned(fraction, span_bp, seed)
        assert len(positions) == len(set(positions)) == max(1, round(fraction * 497))
        assert (np.diff(positions) > 0).all()
        assert (ids[positions] >= 5).all()
        assert np.array_equal(labels, ids[positions])
        assert (seen[positions] == 4).all()
        assert np.array_equal(np.delete(seen, positions), np.delete(ids, positions))


def test_spans_are_a_function_of_the_generator():
    one, again, other = (spanned(0.3, 30, seed)[2] for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_spans_have_at_most_their_length_and_end_at_special_tokens():
    """So few that hardly any two touch: a run of hidden tokens is a span."""
    longer, all_runs = 0, []
    for seed in range(400):
        ids, _, positions, _ = spanned(0.01, 30, seed)
        for run in runs(positions):
            all_runs.append(len(run))
            longer += len(run) > 1 and Pieces.piece_bp[ids[run]].sum() > 30
    assert max(all_runs) > 3
    # Two spans of 250 touch by chance.
    assert longer < 0.02 * len(all_runs)


def test_a_single_span_is_contiguous():
    """Three tokens of a span that has room for all."""
    for seed in range(50):
        _, _, positions, _ = spanned(3 / 497, 100_000, seed)
        (run,) = runs(positions)
        assert len(run) == 3


def test_lengths_of_spans_are_uniform_in_bases():
    """Tokens of one base: the spans of 1 to 6 are equally frequent, by a loop over the definition."""

    class Bases(Vocabulary):
        piece_bp = np.array([0] * 5 + [1] * 100)

    ids = np.full(6000, 50)
    config = MaskingConfig(1.0, span_bp=6)
    starts = span_starts(np.arange(6000), Bases.piece_bp[ids], np.random.default_rng(0), 6)
    lengths = np.bincount(np.diff(starts)[:-1], minlength=7)
    assert lengths[0] == 0
    assert len(lengths) == 7
    n = lengths.sum()
    assert all(within_binomial(count, n, 1 / 6) for count in lengths[1:])
    assert len(mask_tokens(ids, ids >= 5, np.random.default_rng(0), config, Bases)[1]) == 6000


def test_every_token_is_as_likely_in_a_span_as_any_other():
    counts, lengths = np.zeros(40), np.tile([1, 9], 20)
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        counts[span_positions(np.arange(40), lengths, 12, rng, span_bp=20)] += 1
    assert counts.sum() == 3000 * 12
    # The last span taken is cut, so the beginnings of spans come a little more often.
    assert (abs(counts / 3000 - 0.3) < 0.06).all()
    assert abs(counts[::2].mean() - counts[1::2].mean()) < 0.03 * 900


def test_spans_need_a_length():
    with pytest.raises(ValueError, match="span_bp -1"):
        MaskingConfig(span_bp=-1)
    with pytest.raises(ValueError, match=r"\(1.0 and 0.0 show \[MASK\] everywhere\)"):
        MaskingConfig(mask_share=1.0)
