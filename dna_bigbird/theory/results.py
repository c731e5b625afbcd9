"""What the commands of `dna-bigbird theory` return."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows
from dna_bigbird.core.results import Result


@dataclass(frozen=True)
class TheoryResult(Result):
    """What a check computed."""

    output: Path | None
    """The picture, if one was written."""
    rows: list[dict]
    """The numbers, one row per case."""
    text: str

    def to_dataframe(self) -> DataFrame:
        """Return the rows."""
        return dataframe_of_rows(self.rows)
