"""Base pairs per token of a store, per chromosome and repeat class."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome.repeats import RepeatClasses


def describe_tokens(
    store: TokenStore,
    tokenizer: DnaTokenizer,
    repeats: RepeatClasses,
    documents: Sequence[int],
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> dict[str, float | int]:
    """Measure base pairs per token on some documents, given by number.

    A token that lies in two repeat classes is shared between them by its bases.

    Returns:
        `bp_per_token` and `n` (tokens) of all, then with a suffix those of each chromosome
        (`.chr22`), class (`.soft_masked`) and both (`.chr22.soft_masked`); `n_documents`, `n_bp`
        and `unknown_tokens`. Without entry is what has no base.
    """
    # For each chromosome a table of classes by (tokens, base pairs).
    sums = {chrom: np.zeros((len(repeats.names), 2)) for chrom in store.chromosomes}
    unknown = 0
    for document in progress(documents):
        chrom = store.document_interval(document).chrom
        bounds = store.token_bounds(document, tokenizer.piece_bp)
        values = np.stack([np.ones(len(bounds)), bounds[:, 1] - bounds[:, 0]], axis=1)
        sums[chrom] += repeats.sums(chrom, bounds, values)
        unknown += int((store.document(document) == tokenizer.unk_id).sum())
    tables = {"": sum(sums.values()), **{f".{chrom}": table for chrom, table in sums.items()}}
    figures: dict[str, float | int] = {}
    for suffix, table in tables.items():
        figures |= _figures(suffix, table.sum(axis=0))
        for name, row in zip(repeats.names, table, strict=True):
            figures |= _figures(f"{suffix}.{name}", row)
    n_bp = round(float(tables[""][:, 1].sum()))
    return {**figures, "n_bp": n_bp, "n_documents": len(documents), "unknown_tokens": unknown}


def _figures(suffix: str, row: np.ndarray) -> dict[str, float]:
    tokens, bp = row.tolist()
    if not tokens:
        return {}
    n = round(tokens, 1)
    return {
        f"bp_per_token{suffix}": round(bp / tokens, 4),
        f"n{suffix}": int(n) if n.is_integer() else n,
    }
