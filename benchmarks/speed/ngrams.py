"""Memory and time of counting n-grams over a whole genome, from smaller amounts of simulated tokens.

    python -m benchmarks.speed ngrams                      1 and 8 million tokens, 1 GB
    python -m benchmarks.speed ngrams --tokens 64000000 --only_masked      3 GB

Tokens are drawn one by one from a vocabulary of 32,000 with frequencies that fall as 1 / rank^0.7, so
that nearly all 3-grams are different; real sequence repeats itself and takes less. `peak_bytes` is the
most that NumPy held during the call, the tokens left out; `tables_bytes` what is kept. Both are per
token, all orders together; times are processor time of one thread. The last columns say what a whole
genome would take at most if memory and time grow in proportion to it.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.lib.timing import header
from dna_bigbird.baselines import ngram_table
from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.baselines.ngram import TokenBigramMasked, TokenNgramCausal
from dna_bigbird.corpus.token_store import TOKEN_TYPE

VOCAB = 32_000
DOCUMENT_TOKENS = 6_400
"""Of the paper's documents: about 56 kb."""
GENOME_TOKENS = 300_000_000
"""GRCh37 without chr8 and chr9 at 8.8 bp per token."""
BP_PER_TOKEN = 8.8
EXAMPLES, MASKED = 20, 614
"""Examples scored by the masked bigram, each with as many masked tokens as 4,096 tokens have."""
COLUMNS = (
    "what\tmillion_tokens\tdifferent\ttables_bytes\tpeak_bytes\tus_per_token\tgenome_gb\tgenome_min"
)


def simulate(tokens: int, seed: int) -> list[np.ndarray]:
    """Return documents of token ids."""
    weights = 1 / np.arange(1, VOCAB - 4) ** 0.7
    edges = np.cumsum(weights / weights.sum())
    rng = np.random.default_rng(seed)
    drawn = (np.searchsorted(edges, rng.random(tokens, np.float32)) + 5).clip(max=VOCAB - 1)
    return np.split(drawn.astype(TOKEN_TYPE), range(DOCUMENT_TOKENS, tokens, DOCUMENT_TOKENS))


def peak_of(call: Callable[[], object]) -> int:
    """Return the most bytes that NumPy holds during a call."""
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def row(
    what: str, million: float, call: Callable[[], object], size: Callable, grows: bool = True
) -> None:
    """Print one line.

    Args:
        grows: The memory grows with the tokens.
    """
    started = time.process_time()
    result = call()
    seconds = time.process_time() - started
    different, kept = size(result)
    del result
    peak = peak_of(call)
    tokens = million * 1e6
    factor = GENOME_TOKENS / tokens
    whole = peak * factor if grows else peak
    print(
        f"{what}\t{million:g}\t{different / tokens:.3f}\t{kept / tokens:.1f}\t{peak / tokens:.1f}\t"
        f"{seconds / tokens * 1e6:.2f}\t{whole / 1e9:.1f}\t{seconds * factor / 60:.0f}",
        flush=True,
    )


def size_of_causal(model: TokenNgramCausal) -> tuple[int, int]:
    """Return the different 3-grams, and the memory of all tables."""
    return len(model.tables[-1].keys), sum(table.num_bytes for table in model.tables)


def size_of_masked(model: TokenBigramMasked) -> tuple[int, int]:
    """Return the different pairs, and the memory of the two matrices."""
    return model.seen.nnz, sum(
        part.nbytes for m in (model.seen, model.before) for part in (m.data, m.indices, m.indptr)
    )


def score(model: TokenBigramMasked, seed: int) -> float:
    """Return the seconds that the masked bigram takes per example."""
    left, right, labels = np.concatenate(simulate(3 * MASKED * EXAMPLES, seed)).reshape(3, -1)
    started = time.process_time()
    for i in range(0, len(left), MASKED):
        here = slice(i, i + MASKED)
        tokens = np.stack([labels[here], labels[here]]).astype(np.int64)
        model.probabilities(left[here].astype(np.int64), right[here].astype(np.int64), tokens)
    return (time.process_time() - started) / EXAMPLES


def base_row(documents: list[np.ndarray], million: float, seed: int) -> None:
    """Count bases as many as the tokens cover; memory does not grow with them."""
    bases = int(million * 1e6 * BP_PER_TOKEN)
    letters = np.frombuffer(b"ACGT", np.uint8)
    text = letters[np.random.default_rng(seed).integers(0, 4, bases, np.int8)].tobytes().decode()
    step = bases // len(documents)
    parts = [text[i : i + step] for i in range(0, bases, step)]
    row(
        "base 12-gram",
        million,
        lambda: BaseNgramCausal().fit_sequences(parts),
        lambda model: (0, sum(counts.nbytes for counts in model._counts)),
        grows=False,
    )


def main(arguments: list[str] | None = None) -> None:
    """Count simulated tokens, and say what a genome would take."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", type=int, nargs="*", default=[1_000_000, 8_000_000])
    parser.add_argument("--only_masked", action="store_true", help="no causal n-grams")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print("\n".join(header("cpu")))
    print(f"# vocabulary {VOCAB}; a whole genome is {GENOME_TOKENS:,} tokens")
    print(COLUMNS)
    whole_part = ngram_table.PART_GRAMS
    for tokens in options.tokens:
        documents, million = simulate(tokens, options.seed), tokens / 1e6
        # In as many parts as a whole genome is counted.
        ngram_table.PART_GRAMS = max(1, whole_part * tokens // GENOME_TOKENS)
        row(
            "masked bigram",
            million,
            lambda documents=documents: TokenBigramMasked().fit_sequences(documents, VOCAB),
            size_of_masked,
        )
        masked = TokenBigramMasked().fit_sequences(documents, VOCAB)
        print(
            f"# masked bigram: {score(masked, options.seed):.3f} s per example of {MASKED} tokens"
        )
        del masked
        if options.only_masked:
            continue
        row(
            "token 3-gram",
            million,
            lambda documents=documents: TokenNgramCausal().fit_sequences(documents, VOCAB),
            size_of_causal,
        )
        base_row(documents, million, options.seed)


if __name__ == "__main__":
    main()
