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
    """Files or a folder, of which the command prints nothing."""

    output: Path

    def summary(self) -> str:
        """Return an empty text."""
        return ""
