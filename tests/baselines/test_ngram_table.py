"""Counts as sorted arrays against a dictionary, in one part and in many; the memory they take."""

import tracemalloc
from collections import Counter, defaultdict

import numpy as np
import pytest

from dna_bigbird.baselines import ngram_table
from dna_bigbird.baselines.ngram import TokenNgramCausal
from dna_bigbird.baselines.ngram_table import GramTable, gram_keys
from dna_bigbird.corpus.token_store import TOKEN_TYPE

VOCAB = 11


def documents(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    lengths = (40, 0, 1, 2, 3, 25, 60)
    return [rng.integers(0, VOCAB, n).astype(TOKEN_TYPE) for n in lengths]


@pytest.mark.parametrize("part_grams", [1, 7, 10**6])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_counts_are_those_of_a_dictionary(order, part_grams, monkeypatch):
    monkeypatch.setattr(ngram_table, "PART_GRAMS", part_grams)
    sequences = documents(order)
    counts: Counter = Counter()
    after = defaultdict(set)
    totals: Counter = Counter()
    for sequence in sequences:
        for key in gram_keys(sequence, order, VOCAB).tolist():
            counts[key] += 1
            totals[key // VOCAB] += 1
            after[key // VOCAB].add(key)
    table = GramTable.count(sequences, order, VOCAB)
    assert table.keys.tolist() == sorted(counts)
    assert table.contexts.tolist() == sorted(totals)
    asked = np.arange(min(VOCAB**order, 20_000))
    seen, total, types = table.look_up(asked, VOCAB)
    assert seen.tolist() == [counts[key] for key in asked.tolist()]
    assert total.tolist() == [totals[key // VOCAB] for key in asked.tolist()]
    assert types.tolist() == [len(after[key // VOCAB]) for key in asked.tolist()]


def test_nothing_to_count():
    table = GramTable.count([np.empty(0, np.uint16)], 2, VOCAB)
    assert [column.tolist() for column in table.look_up(np.array([3, 4]), VOCAB)] == [[0, 0]] * 3


def test_the_memory_of_a_genome_fits_a_job(monkeypatch):
    """300 million tokens of GRCh37 in 24 GB: at most 60 bytes per token beside the tokens."""
    tokens, vocab = 400_000, 32_000
    rng = np.random.default_rng(0)
    sequences = [rng.integers(5, vocab, 4000).astype(np.uint16) for _ in range(tokens // 4000)]
    monkeypatch.setattr(ngram_table, "PART_GRAMS", tokens // 18, raising=False)
    tracemalloc.start()
    model = TokenNgramCausal(3, factors=[1.0] * 3).fit_sequences(sequences, vocab)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(model.tables[2].keys) > 0.99 * (tokens - 200)  # nearly all are different
    assert peak < 60 * tokens
