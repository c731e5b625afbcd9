"""Choosing labels of a model by name or pattern."""

import difflib
import fnmatch
from collections.abc import Sequence

from dna_bigbird.errors import InputError

NEAR = 3


def choose_labels(names: Sequence[str], wanted: str | Sequence[str] | None) -> list[int]:
    """Return which labels are meant, in the order of the model.

    Args:
        names: Labels of the model.
        wanted: Names or shell patterns (`*`, `?`, `[…]`), as a sequence or as one text with commas
            between them; upper and lower case differ. None means all. A label whose name is the
            text itself is meant alone, also if the text could be read as a pattern.

    Raises:
        InputError: If one of them matches no label, naming labels that are near.

    Example:
        >>> choose_labels(["GM12878|CTCF", "K562|CTCF", "K562|DNase"], "*|DNase,GM12878*")
        [0, 2]
    """
    if wanted is None:
        return list(range(len(names)))
    texts = wanted.split(",") if isinstance(wanted, str) else wanted
    texts = [text.strip() for text in texts if text.strip()]
    if not texts:
        raise InputError(f"--labels {wanted!r}: names no label; expected names or patterns")
    chosen: set[int] = set()
    for text in texts:
        found = [i for i, name in enumerate(names) if name == text] or [
            i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, text)
        ]
        if not found:
            raise InputError(f"--labels {text}: {_not_found(text, names)}")
        chosen.update(found)
    return sorted(chosen)


def _not_found(text: str, names: Sequence[str]) -> str:
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.casefold(), name)
    near = [folded[key] for key in difflib.get_close_matches(text.casefold(), folded, NEAR, 0.5)]
    near = near or [name for name in names if text.casefold().strip("*") in name.casefold()][:NEAR]
    if near:
        return f"the model has no such label; near are {', '.join(near)}"
    some = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"the model has no such label; it has {some}"
