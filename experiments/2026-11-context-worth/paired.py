"""Predictors on the same hidden tokens: bits per base, and paired differences to the first of them."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from dna_bigbird.core.limits import use_threads
from dna_bigbird.core.tables import Table
from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.metrics.language import interval

# N blocks that are drawn together, K predictors, S strata

BITS, DIFFERENCE = "bits_per_base", "difference"


def paired_rows(
    names: Sequence[str], sums: np.ndarray, seed: int, reference: int = 0, **first: object
) -> list[dict]:
    """Return one row per predictor: bits per base, and its difference to the reference.

    Both have a 95 % bootstrap interval over blocks, and the difference is taken block by block:
    above 0 the reference is better.

    Args:
        names: K names.
        sums: Nats of the predictors and, last, the hidden bases, by block, (N, K + 1).
        reference: Number of the predictor that the others are compared with.
        first: Columns before the others.
    """
    nats, bases = sums[:, :-1] / np.log(2), sums[:, -1]
    rows = []
    for k, name in enumerate(names):
        row = {**first, "predictor": name, **interval(BITS, nats[:, k], bases, seed)}
        difference = dict.fromkeys((DIFFERENCE, f"{DIFFERENCE}_low", f"{DIFFERENCE}_high"))
        if k != reference:
            difference = interval(DIFFERENCE, nats[:, k] - nats[:, reference], bases, seed)
        rows.append(row | difference | {"hidden_bp": round(float(bases.sum()))})
    return rows


def stratified_rows(
    names: Sequence[str],
    sums: np.ndarray,
    parts: Mapping[str, tuple[Sequence[str], np.ndarray]],
    seed: int,
    **first: object,
) -> list[dict]:
    """Return `paired_rows` of all hidden tokens, then of each part that has any.

    Args:
        parts: By way to divide, such as `by_repeat_class`: names of its parts (S), and sums
            (N, S, K + 1).
    """
    rows = paired_rows(names, sums, seed, **first, part="all")
    for strata, values in parts.values():
        for s, stratum in enumerate(strata):
            if values[:, s, -1].sum() > 0:
                rows += paired_rows(names, values[:, s], seed, **first, part=stratum)
    return rows


def write_rows(folder: Path, rows: Sequence[dict], note: str) -> str:
    """Write table.tsv, table.md and results.json; return the text of table.md."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown = "\n".join(Table(rows).to_markdown()) + f"\n\n{note}\n"
    texts = {
        "table.tsv": Table(rows).to_tsv(),
        "table.md": markdown,
        "results.json": json_text({"note": note, "rows": list(rows)}),
    }
    for name, text in texts.items():
        with atomic_path(folder / name) as path:
            path.write_text(text)
    return markdown


def parser_of(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that both comparisons share."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True, help="has train.h5, for the counts")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--split", choices=("validation", "test"), default="validation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--genome", type=Path, help="for scores by repeat class")
    parser.add_argument("--repeats", type=Path)
    parser.add_argument("--pieces", action="store_true", help="as in evaluate-lm")
    parser.add_argument("--threads", type=int, default=1)
    return parser


def report(
    options: argparse.Namespace, measure: Callable[[argparse.Namespace], tuple[list[dict], str]]
) -> None:
    """Write and print the table that a comparison gives, with its note."""
    use_threads(options.threads)
    print(write_rows(options.output, *measure(options)), end="")
