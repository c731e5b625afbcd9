"""Short representations: shapes, counts and a few names instead of thousands of values."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import PurePath
from typing import Any

from dna_bigbird.core.dataframes import DataFrame
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


# What a notebook shows of a result: a small HTML table, escaped, without style or script.

FIRST_ROWS = 5
FIRST_COLUMNS = 8
"""Columns that are shown; of a table with more, one less and an ellipsis."""
MOST_LINES = 12
"""Lines of a summary that are shown."""
MORE = "…"


def html_repr(self: Any) -> str:
    """Return the summary of a dataclass, if it has one, and a table of its fields, as its `_repr_html_`.

    Example:
        >>> @dataclasses.dataclass
        ... class Scores:
        ...     labels: list[str]
        ...
        ...     _repr_html_ = html_repr
        >>> Scores(["<CTCF>"])._repr_html_()
        "<div><p><b>Scores</b></p><table><tbody><tr><th>labels</th><td>['&lt;CTCF&gt;']</td></tr></tbody></table></div>"
    """
    fields = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
    facts = {name: brief(value) for name, value in fields if value is not None}
    return html_facts(self, facts, self.summary() if hasattr(self, "summary") else "")


def html_facts(self: object, facts: dict[str, str], summary: str = "") -> str:
    """Return an object's summary and a table with a row per fact.

    Args:
        facts: Texts by name.
        summary: Lines of text; of many only the first.
    """
    lines = summary.splitlines()
    shown = "\n".join([*lines[:MOST_LINES], *([MORE] if len(lines) > MOST_LINES else [])])
    above = f"<pre>{escape(shown)}</pre>" if shown else ""
    rows = ((_cell(name, "th"), _cell(value)) for name, value in facts.items())
    return f"<div>{_title(self)}{above}<table>{_body(rows)}</table></div>"


def html_table(self: object, frame: DataFrame, count: int) -> str:
    """Return an object's title and a table with the first of its `count` rows."""
    names, width = [str(name) for name in frame.columns], len(frame.columns)
    rows = [list(row) for row in frame.itertuples(index=False, name=None)]
    if width > FIRST_COLUMNS:
        names = [*names[: FIRST_COLUMNS - 1], MORE]
        rows = [[*row[: FIRST_COLUMNS - 1], MORE] for row in rows]
    if count > len(rows):
        rows.append([MORE] * len(names))
    size = f": {count:,} row{'' if count == 1 else 's'} × {width:,} columns"
    head = "".join(_cell(name, "th") for name in names)
    cells = ([_cell(_text(value)) for value in row] for row in rows)
    return f"<div>{_title(self, size)}<table><thead><tr>{head}</tr></thead>{_body(cells)}</table></div>"


def _title(self: object, more: str = "") -> str:
    return f"<p><b>{type(self).__name__}</b>{more}</p>"


def _body(rows: Iterable[Sequence[str]]) -> str:
    shown = (f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<tbody>{''.join(shown)}</tbody>"


def _cell(value: str, tag: str = "td") -> str:
    return f"<{tag}>{escape(value, quote=False)}</{tag}>"


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else shortened(value)
