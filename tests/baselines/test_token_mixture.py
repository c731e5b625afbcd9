"""The mixture of token contexts: against counts by hand, and what it may and may not see."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.baselines.rolled_bases import CONTEXT_BP, RolledBases
from dna_bigbird.baselines.token_mixture import (
    LARGEST_KEY,
    TokenContexts,
    TokenMixtureMasked,
    joined_tokens,
    shapes,
)
from dna_bigbird.genome.alphabet import reverse_complement

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "A",
    "C",
    "G",
    "T",
    "N",
    "AC",
    "GT",
    "TTG",
    "CAA",
]
PIECES += ["ACGT", "GGC"] + [a + b for a in "AG" for b in "AGT" if a + b != "GT"]
VOCAB, FIRST, MASK = len(PIECES), 5, 4


def documents(count: int, seed: int) -> list[np.ndarray]:
    """The token between two others is given by both of them together, not by either."""
    rng = np.random.default_rng(seed)
    ordinary = np.array([i for i in range(FIRST, VOCAB) if "N" not in PIECES[i]])
    result = []
    for _ in range(count):
        ids = rng.choice(ordinary, 61)
        left = np.searchsorted(ordinary, ids[0:-2:2])
        right = np.searchsorted(ordinary, ids[2::2])
        ids[1:-1:2] = ordinary[(left + right) % len(ordinary)]
        result.append(ids)
    return result


@pytest.fixture(scope="module")
def train() -> list[np.ndarray]:
    return documents(300, seed=0)


@pytest.fixture(scope="module", params=[False, True], ids=["tokens", "tokens and bases"])
def mixture(request, train) -> TokenMixtureMasked:
    pieces = PIECES if request.param else None
    return TokenMixtureMasked(FIRST, pieces).fit_sequences(train, VOCAB)


@pytest.mark.parametrize("offsets", [(-1,), (2,), (-1, 1), (-2, -1, 1), (-2, 2)])
def test_contexts_against_dictionaries(train, offsets):
    counts: dict = defaultdict(Counter)
    for ids in train[:20]:
        for i in range(len(ids)):
            if all(0 <= i + offset < len(ids) for offset in offsets):
                counts[tuple(ids[i + offset] for offset in offsets)][ids[i]] += 1
    table = TokenContexts(offsets, VOCAB).fit(joined_tokens(train[:20]))
    shown = train[3].astype(np.int64)
    shown[[10, 30, 31]] = -1
    positions = np.arange(len(shown))
    entries = table.look_up(shown, positions)
    for i in positions:
        context = [shown[i + o] if 0 <= i + o < len(shown) else -1 for o in offsets]
        expected = counts[tuple(context)] if min(context) >= 0 else Counter()
        here = entries.rows == i
        assert dict(zip(entries.tokens[here], entries.counts[here], strict=True)) == expected
        assert (entries.totals[i], entries.types[i]) == (expected.total(), len(expected))
    assert len(entries.rows) > 20


def test_probabilities_add_up_to_one_over_ordinary_tokens(mixture, train):
    shown = train[0].astype(np.int64)
    shown[[0, 7, 8, 60]] = -1
    positions = np.array([0, 7, 8, 60])
    everything = np.tile(np.arange(VOCAB)[:, None], (1, 4))
    p = mixture.probabilities(shown, positions, everything)
    assert p.sum(axis=0) == pytest.approx(np.ones(4))
    assert (p[:FIRST] == 0).all()
    assert (p[FIRST:] > 0).all()


def test_what_is_at_a_hidden_position_has_no_influence(mixture, train):
    shown = train[1].astype(np.int64)
    positions, tokens = np.array([4, 20]), np.array([6, 7])
    p = [mixture.probabilities(shown, positions[i : i + 1], tokens[i : i + 1]) for i in range(2)]
    for i, position in enumerate(positions):
        for other in (-1, FIRST, VOCAB - 1):
            changed = shown.copy()
            changed[position] = other
            after = mixture.probabilities(changed, positions[i : i + 1], tokens[i : i + 1])
            assert after == pytest.approx(p[i], rel=1e-5)


def test_special_tokens_and_masks_say_nothing(mixture):
    ids = np.array([2, 5, MASK, 6, 3])
    assert mixture.shown(ids, MASK).tolist() == [-1, 5, -1, 6, -1]


def test_both_sides_together_give_the_token(mixture):
    held_out = documents(20, seed=1)
    hidden, costs, alone = np.arange(5, 56, 10), [], []
    for ids in held_out:
        shown = ids.astype(np.int64)
        shown[hidden] = -1
        costs += (-np.log2(mixture.probabilities(shown, hidden, ids[hidden]))).tolist()
        shown[hidden + 1] = -1
        alone += (-np.log2(mixture.probabilities(shown, hidden, ids[hidden]))).tolist()
    assert np.mean(costs) < 1
    assert np.mean(alone) > 3  # of log2(17) = 4.1


def test_a_piece_from_the_bases_next_to_it():
    rng = np.random.default_rng(2)
    text = "".join(rng.choice(list("ACGT"), 3000, p=[0.4, 0.1, 0.2, 0.3]))
    rolled = RolledBases(PIECES, FIRST).fit_sequences([text, text[:500]])
    both = [s for part in (text, text[:500]) for s in (part, reverse_complement(part))]
    ngram = BaseNgramCausal(CONTEXT_BP + 1).fit_sequences(both)
    shown = np.array([2, 14, 10, 12, 6, -1, 13, 15, 5, 11, 3])
    shown_bases = [PIECES[i] if i >= FIRST else "" for i in shown]
    rolled_rows, lengths = rolled.log_probabilities(
        np.where(shown < FIRST, -1, shown), np.array([5, 7])
    )
    for m, (before, after) in enumerate(
        [(shown_bases[1:5], shown_bases[6:10]), (["CAA"], shown_bases[8:10])]
    ):
        left, right = "".join(before), reverse_complement("".join(after))
        assert lengths[:, m].tolist() == [min(CONTEXT_BP, len(left)), min(CONTEXT_BP, len(right))]
        for entry, piece in enumerate(PIECES):
            if entry < FIRST or "N" in piece:
                continue
            for side, (context, letters) in enumerate(
                ((left, piece), (right, reverse_complement(piece)))
            ):
                expected = -ngram.nll(context + letters)[len(context) :].sum()
                assert rolled_rows[side, m, entry] == pytest.approx(expected, rel=1e-4)


def test_contexts_fit_into_64_bits():
    for vocab_size in (10, 261, 2048, 32_000, 65_536):
        chosen = shapes(vocab_size)
        assert all(vocab_size ** (len(shape) + 1) < LARGEST_KEY for shape in chosen)
        assert {(-1,), (1,), (-1, 1)} <= set(chosen)
    assert max(map(len, shapes(10))) >= 12
