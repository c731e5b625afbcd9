"""What the functions of commands return: named values, and the lines that a command prints."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows, read_table
from dna_bigbird.core.errors import MissingExtraError
from dna_bigbird.core.representations import FIRST_ROWS, html_repr, html_table, short_repr

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
        """Return the rows."""
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

    def to_dataframe(self) -> DataFrame:
        """Return the history of the training (history.tsv): step, split, name, value."""
        return read_table(self.output / "history.tsv")

    def summary(self) -> str:
        """Return a sentence with the chosen step and the score that chose it, and the evaluation."""
        if self.evaluation is not None:
            return f"{replace(self, evaluation=None).summary()}\n{self.evaluation.summary()}"
        if not self.is_writer:
            return ""
        best = f"{self.output}: step {self.step:,} of {self.max_steps:,} is best on validation"
        if self.score not in self.metrics:
            return f"{best}."
        value, n = self.metrics[self.score], self.metrics.get("n", self.metrics.get("n_examples"))
        shown = "not defined" if value is None else f"{value:.4g}"
        count = "" if n is None else f" (n = {n:,} {self.example}{'' if n == 1 else 's'})"
        return f"{best}: {score_name(self.score)} {shown}{count}."


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
        """Return the findings."""
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
