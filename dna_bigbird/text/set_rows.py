"""Rows of a set for a text task: checks, and what is reported of them."""

import sys
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.set_counts import left_out
from dna_bigbird.text.tasks.task import TextTask


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


def report_size(split: str, text_set: TextSet) -> None:
    """Write the number of examples and rows to standard error."""
    examples, rows = len(text_set.examples), len(text_set.rows)
    print(
        f"{split}: {examples:,} examples, {rows:,} rows{left_out(text_set.counts)}", file=sys.stderr
    )
