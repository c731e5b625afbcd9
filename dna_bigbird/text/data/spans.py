"""Answers in a text: where they are written, and which tokens that is."""

import re

import numpy as np
from numpy.typing import NDArray

# T tokens


def find_text(
    text: str, part: str, *, ignore_case: bool = False, whole_words: bool = False
) -> list[tuple[int, int]]:
    """Return every occurrence of `part` in `text`, overlapping ones too, from left to right.

    Args:
        part: White space at its ends is ignored; an empty part does not occur.
        ignore_case: Let upper and lower case be equal; offsets are those of `text` as it is.
        whole_words: Leave out occurrences next to a letter or digit that continues the word.

    Returns:
        Half-open character offsets.

    Example:
        >>> find_text("Ada, Adam and ada", "ada", ignore_case=True)
        [(0, 3), (5, 8), (14, 17)]
        >>> find_text("Ada, Adam and ada", "ada", ignore_case=True, whole_words=True)
        [(0, 3), (14, 17)]
    """
    part = part.strip()
    if not part:
        return []
    before = r"(?<!\w)" if whole_words and re.match(r"\w", part) else ""
    after = r"(?!\w)" if whole_words and re.search(r"\w\Z", part) else ""
    # Inside a look-ahead a match takes no room, so that overlapping ones are found.
    pattern = re.compile(
        f"{before}(?=({re.escape(part)}){after})", re.IGNORECASE if ignore_case else 0
    )
    return [match.span(1) for match in pattern.finditer(text)]


def tokens_of(
    starts_T: NDArray[np.int64], ends_T: NDArray[np.int64], start: int, end: int
) -> tuple[int, int] | None:
    """Return the first and the last token that hold any of the characters [start, end).

    Args:
        starts_T, ends_T: Half-open character offsets of the tokens, both ascending
            (TextTokenizer.encode_with_offsets); an empty piece has no characters.

    Returns:
        Both of them tokens of the span, or None if no token has any of it.

    Example:
        >>> import numpy as np
        >>> tokens_of(np.array([0, 4, 9]), np.array([3, 8, 12]), 5, 10)
        (1, 2)
    """
    inside = np.flatnonzero((ends_T > start) & (starts_T < end) & (ends_T > starts_T))
    return (int(inside[0]), int(inside[-1])) if len(inside) else None
