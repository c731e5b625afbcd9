"""Short representations: shapes, counts and a few names instead of thousands of values."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from dna_bigbird.core.errors import shortened

MOST = 300
"""Characters of a representation."""
LONGEST = 60
"""Characters of a value."""
SHOWN = 3
"""Names of a list or a mapping."""


def short_repr(self: Any) -> str:
    """Return a representation of a dataclass, as its `__repr__`.

    Example:
        >>> @dataclasses.dataclass
        ... class Scores:
        ...     labels: list[str]
        ...     means: tuple[float, ...]
        ...
        ...     __repr__ = short_repr
        >>> Scores(["CTCF", "DNase", "H3K4me3", "H3K27ac"], (0.5, 0.75))
        Scores(labels=['CTCF', 'DNase', 'H3K4me3', ... 4], means=(0.5, 0.75))
    """
    values = {
        field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.repr
    }
    return representation(self, **{k: v for k, v in values.items() if v is not None})


def representation(self: object, *parts: str, **values: object) -> str:
    """Return `Name(parts, key=value, ...)`, at most MOST characters long.

    Args:
        parts: Texts that come first.
        values: Values by name; few items of each are shown.
    """
    start, end = f"{type(self).__name__}(", ", ...)"
    texts = [*parts, *(f"{name}={brief(value)}" for name, value in values.items())]
    whole = f"{start}{', '.join(texts)})"
    while texts and len(whole) > MOST:
        texts.pop()
        whole = f"{start}{', '.join(texts)}{end}"
    return whole


def brief(value: Any) -> str:
    """Return a value as text of about a line.

    Example:
        >>> brief(["b", "a"]), brief({"n": 1, "x": 2, "y": 3, "z": 4}), brief("A" * 100)[-5:]
        ("['b', 'a']", '{n, x, y, ... 4}', "A...'")
    """
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        element = "str" if value.dtype.char == "U" else str(value.dtype)
        return f"<{element} {' x '.join(map(str, value.shape))}>"
    if isinstance(value, PurePath):  # its end says more than its beginning
        path = str(value)
        return repr(path if len(path) <= LONGEST else f"...{path[3 - LONGEST :]}")
    if isinstance(value, Mapping):
        return f"{{{_few(value, str)}}}"
    if isinstance(value, list):
        return f"[{_few(value, brief)}]"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"({_few(value, brief)})"
    if isinstance(value, str):
        return repr(shortened(value))
    text = repr(value)
    return text if len(text) <= LONGEST else f"{type(value).__name__}(...)"


def _few(values: Iterable, show: Any) -> str:
    values = list(values)
    shown = [show(value) for value in values[:SHOWN]]
    return ", ".join([*shown, f"... {len(values)}"] if len(values) > SHOWN else shown)
