"""What the functions of commands return: named values, shown shortly also in a notebook, and printed lines."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path, PurePath
from typing import Any

from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows, read_table
from dna_bigbird.core.errors import MissingExtraError, shortened

# Short representations: shapes, counts and a few names instead of thousands of values.

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
    """Return `Name(parts, key=value, ...)`, at most MOST characters long."""
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
    """Return an object's summary and a table with a row per fact."""
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


ABBREVIATIONS = {
    "auroc": "AUROC", "f1": "F1", "nll": "NLL", "mcc": "MCC", "r2": "R²", "rmse": "RMSE"
}  # fmt: skip


class Result:
    """Base of the frozen dataclasses with the paths, metrics and counts of one call."""

    __repr__ = short_repr
    _repr_html_ = html_repr

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # dataclass() writes a __repr__ of its own if the class itself has none.
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def summary(self) -> str:
        """Return what the command prints on standard output: the text of the result, if it has one."""
        return getattr(self, "text", "")


class Rows(Result):
    """A result that a notebook shows as the first rows of its data frame."""

    rows: list[dict]

    def to_dataframe(self) -> DataFrame:
        return dataframe_of_rows(self.rows)

    def _first_rows(self, count: int) -> tuple[DataFrame, int]:
        """Return a data frame of at most so many rows, and the number of all rows."""
        frame = self.to_dataframe()
        return frame.head(count), len(frame)

    def _repr_html_(self) -> str:
        try:
            return html_table(self, *self._first_rows(FIRST_ROWS))
        except MissingExtraError:
            return html_repr(self)


@dataclass(frozen=True)
class Written(Result):
    """A file or a folder; the command prints nothing on standard output."""

    output: Path


@dataclass(frozen=True)
class TrainedModel(Result):
    """The bundle of a finished training."""

    output: Path
    step: int
    """The step whose weights the bundle has: the best on validation."""
    max_steps: int
    metrics: dict
    """metrics.json of the bundle; empty if this process did not write it."""
    is_writer: bool = True
    """False in the processes of a training that write no files: all but one."""
    score: str = ""
    """Name of the validation score that chose the step, a key of `metrics`."""
    example: str = "example"
    """What the score counts, in the singular."""
    evaluation: Result | None = None
    """Scores on the test rows, if they were computed too."""
    parts: str = ""
    """What the model is made of, if it has more than a network."""
    network_score: float | None = None
    """That score of the network alone, which chose the step; None if nothing was added to it."""

    def to_dataframe(self) -> DataFrame:
        """Return the history of the training (history.tsv): step, split, name, value."""
        return read_table(self.output / "history.tsv")

    def summary(self) -> str:
        """Return the parts of the model, the chosen step and the score that chose it, and the evaluation."""
        if self.evaluation is not None:
            return f"{replace(self, evaluation=None).summary()}\n{self.evaluation.summary()}"
        if not self.is_writer:
            return ""
        what = f"{self.output}: {self.parts}\n" if self.parts else ""
        best = (
            f"{what}{self.output}: step {self.step:,} of {self.max_steps:,} is best on validation"
        )
        if self.score not in self.metrics:
            return f"{best}."
        value, n = self.metrics[self.score], self.metrics.get("n", self.metrics.get("n_examples"))
        shown = "not defined" if value is None else f"{value:.4g}"
        if self.network_score is not None:
            shown = f"{self.network_score:.4g} of the network, {shown} of the whole"
        count = "" if n is None else f" (n = {n:,} {self.example}{'' if n == 1 else 's'})"
        more = "" if self.step < self.max_steps else " It is the last: more steps may be better."
        return f"{best}: {score_name(self.score)} {shown}{count}.{more}"


@dataclass(frozen=True)
class DryRun(Result):
    """What a training would take on a GPU, estimated from its settings."""

    parameters: int
    tokens_per_step: int
    memory: dict
    """Attention backend to the memory of one GPU, `models.memory.StepMemory`."""
    text: str


def score_name(key: str) -> str:
    """Return the name of a score in words.

    Example:
        >>> score_name("macro_auroc"), score_name("bits_per_base_masked"), score_name("f1")
        ('macro AUROC', 'bits per base masked', 'F1')
    """
    return " ".join(ABBREVIATIONS.get(word, word) for word in key.split("_"))


@dataclass(frozen=True)
class Comparison(Rows):
    """A table of several models, in a folder as text, Markdown and pictures."""

    output: Path
    rows: list[dict]
    """Rows of table.tsv."""
    findings: list[str]
    """What the rows show, and what they do not."""

    def summary(self) -> str:
        return "\n".join(self.findings)


@dataclass(frozen=True)
class ConvertedModel(Result):
    """A bundle, or a folder for the Hugging Face library."""

    output: Path
    description: str
    differences: tuple[str, ...] = ()
    """What the library computes differently with these weights."""

    def summary(self) -> str:
        """Return the description, then one line per difference."""
        lines = [f"{self.output}: {self.description}"]
        return "\n".join([*lines, *(f"  {difference}" for difference in self.differences)])
