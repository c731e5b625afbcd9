"""What question answering sets share: checks of options, the question in a row, Tables 2 and 3."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.published_table import Column, PublishedTable, cells_by_system
from dna_bigbird.models.attention_config import FIRST, QUESTION, SENTENCE
from dna_bigbird.text.data.rows import TwoStreams

FILE_SPLITS = {"train": "train", "validation": "dev", "test": "test"}
"""Our names of the splits, and the official files' names of them."""
SYSTEMS = ("RoBERTa", "Longformer", "BigBird-ITC", "BigBird-ETC")


def table_2(about: str, set_name: str, columns: dict[str, str], cells: str) -> PublishedTable:
    """Return columns (title: score) of the paper's Table 2, with the cells of each of `SYSTEMS`."""
    title = "Question answering, development sets, base size, in per cent"
    described = tuple(Column(name, set_name, (score,)) for name, score in columns.items())
    lines = zip(SYSTEMS, cells.split(", "), strict=True)
    rows = {system: tuple(line.split()) for system, line in lines}
    return PublishedTable(2, title, about, described, rows)


def table_3(titles: Sequence[str], cells: str) -> PublishedTable:
    """Return columns of the paper's Table 3, whose systems were scored by the leaderboards alone."""
    about = (
        "F1 or exact matches as in Table 2. The answers of these sets are not public, so nothing is scored here: "
        "`text predict` writes the files to submit."
    )
    columns = tuple(Column(title, "", ()) for title in titles)
    title = "Question answering, test sets, large models"
    return PublishedTable(3, title, about, columns, cells_by_system(cells))


def check_room(options: Any, **others: int) -> None:
    """Raise ValueError if a longest question with so many other tokens is longer than an input."""
    for name, tokens in others.items():
        least = options.max_question_tokens + tokens
        if getattr(options, name) < least:
            raise ValueError(
                f"--options.{name} {getattr(options, name)} must be at least {least} with "
                f"--options.max_question_tokens {options.max_question_tokens}"
            )


def check_stride(options: Any, text: str) -> None:
    """Raise ValueError if windows pass over tokens of the text, named in words."""
    room = options.max_tokens - options.max_question_tokens - 3
    if options.stride > room:
        raise ValueError(
            f"--options.stride {options.stride} passes over tokens: a window holds {room} of the "
            f"{text}"
        )


def question_front(
    question: str, tokenizer: Any, max_question_tokens: int, counts: Counter[str]
) -> list[int]:
    """Return `[CLS] question [SEP]`; a question that is cut is counted."""
    ids = tokenizer.encode(" ".join(question.split()))
    counts["questions cut"] += len(ids) > max_question_tokens
    return [tokenizer.cls_id, *ids[:max_question_tokens], tokenizer.sep_id]


def front_segments(num_front: int, length: int) -> NDArray[np.int8]:
    """Return the segments of a row (T,): 0 for so many first tokens, then 1."""
    return (np.arange(length) >= num_front).astype(np.int8)


def question_and_parts(num_front: int, parts: Sequence[int], max_global: int) -> dict[str, NDArray]:
    """Return `TwoStreams.arrays` of `[CLS] question [SEP]` and the parts of a text, uncut."""
    # Global tokens: one for each of the first tokens, then one for each part; `parts` has that of
    # each further token, -1 for none (ETC,
    # models/nq/preproc_nq_lib.py). Parts beyond the room belong to the last global token.
    streams = TwoStreams()
    for position in range(num_front):
        streams.add_tokens([0], 0, [streams.add_global(FIRST if position == 0 else QUESTION)])
    before = -1
    for part in parts:
        if part not in (before, -1) and len(streams.types) < max_global:
            streams.add_global(SENTENCE)
        before = part
        streams.add_tokens([0], 0, [] if part == -1 else [len(streams.types) - 1])
    return streams.arrays()
