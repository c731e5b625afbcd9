"""What the commands that build a labelled set share: its recorded command, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from dna_bigbird.datasets.labelled_data import LabelledData


@dataclass(frozen=True)
class LabelledSetFile:
    """A labelled set as it was written."""

    output: Path
    num_rows: int
    label_names: list[str]
    counts: Mapping[str, float]
    """Rows kept and left out, by reason."""

    @classmethod
    def of(cls, output: Path, data: LabelledData) -> Self:
        """Return what is in a set that was written to `output`."""
        return cls(output, len(data), data.label_names, data.counts)

    def summary(self) -> str:
        """Return an empty text; the counts are a note."""
        return ""

    def counts_text(self) -> str:
        """Return the counts that are not 0, for the note."""
        return ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in self.counts.items() if v)

    def labels_text(self) -> str:
        """Return the number of labels and the counts, for the note."""
        return f"{len(self.label_names)} labels: {self.counts_text()}"


def as_options(settings: Mapping[str, object]) -> str:
    """Return settings as options of a recorded command, without paths.

    Example:
        >>> as_options({"window": 8000, "pieces": False})
        '--window 8000 --pieces false'
    """
    return " ".join(
        f"--{name} {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in settings.items()
    )
