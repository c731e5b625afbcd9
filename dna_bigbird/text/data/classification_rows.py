"""What a classifier of text reads: [CLS] text [SEP], or [CLS] first [SEP] second [SEP]."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.text.data.rows import TextRow, TextSet

CUT = "text longer than max_tokens, cut"


def kept_lengths(first: int, second: int, budget: int) -> tuple[int, int]:
    """Return how many pieces of a pair stay: the longer text loses its last pieces first.

    As taking one piece at a time from the longer text (of equal ones from the second) until both
    fit.

    Example:
        >>> kept_lengths(10, 3, 8), kept_lengths(10, 9, 9), kept_lengths(2, 3, 9)
        ((5, 3), (5, 4), (2, 3))
    """
    if first + second <= budget:
        return first, second
    small = min(first, second)
    if small <= budget // 2:
        return (budget - small, small) if first > second else (small, budget - small)
    return budget - budget // 2, budget // 2


def classification_rows(
    examples: Sequence[Any],
    texts: Sequence[tuple[str, ...]],
    targets: Sequence[float | None],
    tokenizer: Any,
    max_tokens: int,
) -> TextSet:
    """Return one row per example; `arrays["target"]` is a float64 number, NaN where unknown.

    White space is joined to single spaces first: to the published vocabulary a line break is an
    unknown letter. The second text of a pair, with its [SEP], is segment 1.

    Args:
        texts: One text or a pair for every example.
        targets: Class number or score; None where there is none.
        tokenizer: With `encode`, `cls_id` and `sep_id`.
    """
    rows, cut = [], 0
    for i, (parts, target) in enumerate(zip(texts, targets, strict=True)):
        pieces = [tokenizer.encode(" ".join(text.split())) for text in parts]
        lengths = _kept([len(ids) for ids in pieces], max_tokens)
        cut += lengths != [len(ids) for ids in pieces]
        ids, segments = _joined(pieces, lengths, tokenizer)
        value = np.array(np.nan if target is None else target, dtype=np.float64)
        rows.append(TextRow(ids, i, segments if len(parts) > 1 else None, {"target": value}))
    return TextSet(list(examples), rows, {CUT: cut} if cut else {})


def _kept(lengths: list[int], max_tokens: int) -> list[int]:
    if len(lengths) == 1:
        return [min(lengths[0], max_tokens - 2)]
    return list(kept_lengths(lengths[0], lengths[1], max_tokens - 3))


def _joined(
    pieces: list[NDArray], lengths: list[int], tokenizer: Any
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    ids, segments = [[tokenizer.cls_id]], [[0]]
    for number, (text, length) in enumerate(zip(pieces, lengths, strict=True)):
        ids += [text[:length], [tokenizer.sep_id]]
        segments.append([number] * (length + 1))
    return np.concatenate(ids).astype(np.int32), np.concatenate(segments).astype(np.int8)
