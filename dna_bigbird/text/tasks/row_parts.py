"""Rows of a set, part by part: made by several processes, or by this one if there are few examples."""

import copy
import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from dna_bigbird.core.child_processes import Workers
from dna_bigbird.core.limits import allowed_workers
from dna_bigbird.text.data.row_store import Part, part_of
from dna_bigbird.text.tasks.task import TextTask

EXAMPLES_PER_PART = 128
"""Part of no result. With pages of Natural Questions about 50 MB of rows, uncompressed."""
PARTS_ALONE = 8
"""Parts that this process makes before it starts others, which takes seconds."""
WORKER_BYTES = 600_000_000
"""Memory of a process that makes rows: mostly torch."""


class PartMaker:
    """Makes the rows of some examples; can be sent to other processes.

    Args:
        keep_examples: Store the examples with their rows.
    """

    def __init__(
        self, task: TextTask, tokenizer: Any, *, training: bool, keep_examples: bool
    ) -> None:
        self.task, self.tokenizer = copy.copy(task), tokenizer
        self.training, self.keep_examples = training, keep_examples

    def __call__(self, chunk: tuple[int, list[Any]]) -> Part:
        """Return the rows of a chunk of `numbered_chunks`."""
        first, examples = chunk
        self.task.first_example = first
        text_set = self.task.rows(examples, self.tokenizer, training=self.training)
        return part_of(text_set, first, keep_examples=self.keep_examples)


def numbered_chunks(examples: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Yield `EXAMPLES_PER_PART` examples at a time, with the number of the first one."""
    remaining = iter(examples)
    chunks = iter(lambda: list(itertools.islice(remaining, EXAMPLES_PER_PART)), [])
    return ((i * EXAMPLES_PER_PART, chunk) for i, chunk in enumerate(chunks))


def make_parts(
    make: PartMaker, chunks: Iterable[tuple[int, list[Any]]], processes: int
) -> Iterator[Part]:
    """Yield the part of each chunk, in order; chunks are read a little ahead.

    Args:
        processes: Most processes that make rows.

    Raises:
        InputError: As `TextTask.rows`, or if a process was killed.
    """
    chunks = iter(chunks)
    yield from map(make, itertools.islice(chunks, PARTS_ALONE))
    following = next(chunks, None)
    if following is None:
        return
    chunks = itertools.chain([following], chunks)
    processes = allowed_workers(processes, WORKER_BYTES)
    if processes <= 1:
        yield from map(make, chunks)
        return
    workers: Workers = Workers(
        functools.partial(_same, make), processes, does="makes rows", advice="Use fewer --threads"
    )
    try:
        yield from workers.map(chunks)
    finally:
        workers.close()


def _same(make: PartMaker, number: int) -> PartMaker:
    """Return what each process calls on its chunks."""
    return make
