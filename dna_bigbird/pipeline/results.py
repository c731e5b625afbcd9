"""What the functions of `pipeline/` return: named values, and the lines that a command prints."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Result(Protocol):
    """A frozen dataclass with the paths, metrics and counts of one call."""

    def summary(self) -> str:
        """Return what the command prints on standard output, without the last line end."""
        ...


@dataclass(frozen=True)
class Written:
    """A file or a folder; the command prints nothing on standard output."""

    output: Path

    def summary(self) -> str:
        """Return an empty text."""
        return ""


@dataclass(frozen=True)
class TrainedModel:
    """The bundle of a finished training."""

    output: Path
    step: int
    """The step whose weights the bundle has: the best on validation."""
    max_steps: int
    metrics: dict
    """metrics.json of the bundle; empty if this process did not write it."""
    is_writer: bool = True
    """False in the processes of a training that write no files: all but one."""

    def summary(self) -> str:
        """Return the chosen step and its scores on validation."""
        if not self.is_writer:
            return ""
        scores = {name: value for name, value in self.metrics.items() if name != "baselines"}
        return f"{self.output}: step {self.step} of {self.max_steps}: {scores}"


@dataclass(frozen=True)
class Comparison:
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
class ConvertedModel:
    """A bundle, or a folder for the Hugging Face library."""

    output: Path
    description: str
    differences: tuple[str, ...] = ()
    """What the library computes differently with these weights."""

    def summary(self) -> str:
        """Return the description, then one line per difference."""
        lines = [f"{self.output}: {self.description}"]
        return "\n".join([*lines, *(f"  {difference}" for difference in self.differences)])
