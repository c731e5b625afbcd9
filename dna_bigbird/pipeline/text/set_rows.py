"""Rows of a set for a text task: reading, checks, counts, checksums."""

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dna_bigbird.datasets.text.rows import TextSet
from dna_bigbird.datasets.text.unpacking import unpacked_limit
from dna_bigbird.errors import InputError
from dna_bigbird.pipeline.text.set_counts import left_out
from dna_bigbird.tasks.text.task import TextTask


def check_length(task: TextTask, max_tokens: int, bundle: Path | str) -> None:
    """Raise InputError if an option asks for longer rows than the model reads."""
    for name in ("max_tokens", "max_source_tokens", "max_target_tokens"):
        length = getattr(task.options, name, 0)
        if length > max_tokens:
            raise InputError(
                f"{name} {length}: {bundle} reads at most {max_tokens} tokens; give {name} "
                f"{max_tokens}, or lengthen the model: dna-bigbird convert --help"
            )
    longest, target = getattr(task.head, "decoder_positions", 0), "max_target_tokens"
    if 0 < longest < getattr(task.options, target, 0):
        raise InputError(
            f"{target} {getattr(task.options, target)}: the decoder of {bundle} has {longest} positions; "
            f"give {target} {longest}"
        )


def read_examples(
    task: TextTask, path: Path, split: str, *, gold: bool = True, max_unpacked_gib: float = 0
) -> tuple[list, dict[str, int]]:
    """Return examples of a set, and counts of what was left out.

    Args:
        gold: Whether labels must be there.
        max_unpacked_gib: See datasets.text.unpacking.

    Raises:
        InputError: If the set cannot be read, or has no example.
    """
    with unpacked_limit(max_unpacked_gib):
        examples, counts = task.read(path, split, gold=gold)
    if not examples:
        raise InputError(f"{path}: no example of the {split} split{left_out(counts)}")
    return examples, counts


def make_rows(
    task: TextTask,
    examples: list,
    counts: dict[str, int],
    tokenizer: object,
    path: Path,
    *,
    training: bool,
    max_tokens: int,
) -> TextSet:
    """Return the rows of examples.

    Args:
        counts: What the reader left out, for the counts of the rows.

    Raises:
        InputError: If no row is left, or one is longer than the model reads.
    """
    text_set = task.rows(examples, tokenizer, training=training)
    text_set = replace(text_set, counts={**counts, **text_set.counts})
    if not text_set.rows:
        reasons = left_out(text_set.counts)
        raise InputError(f"{path}: nothing to read in {len(examples)} examples{reasons}")
    longest = max(len(row.token_ids) for row in text_set.rows)
    if longest > max_tokens:
        raise InputError(f"{path}: a row of {longest} tokens; the model reads at most {max_tokens}")
    return text_set


def report_size(split: str, text_set: TextSet) -> None:
    """Write the number of examples and rows to standard error."""
    examples, rows = len(text_set.examples), len(text_set.rows)
    print(
        f"{split}: {examples:,} examples, {rows:,} rows{left_out(text_set.counts)}", file=sys.stderr
    )


def examples_sha256(examples: Sequence) -> str:
    """Return a checksum of examples, gold included."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode())
    return digest.hexdigest()


def rows_sha256(text_set: TextSet) -> str:
    """Return a checksum of everything that the model reads and is trained on."""
    digest = hashlib.sha256()
    for row in text_set.rows:
        arrays = {"token_ids": row.token_ids, "segment_ids": row.segment_ids, **row.arrays}
        for name, array in arrays.items():
            digest.update(f"{name} {row.example} {getattr(array, 'shape', None)}".encode())
            digest.update(b"" if array is None else array.tobytes())
    return digest.hexdigest()
