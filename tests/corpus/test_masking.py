"""15 % of the tokens, 80/10/10, and never a special one."""

import numpy as np
import pytest

from dna_bigbird.corpus.masking import MaskingConfig, mask_tokens


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
        ({"random_share": -0.1}, "must not be negative"),
    ],
)
def test_impossible_shares(settings, message):
    with pytest.raises(ValueError, match=message):
        MaskingConfig(**settings)
