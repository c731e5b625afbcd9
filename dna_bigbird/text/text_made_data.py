"""`dna-bigbird text made-data`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import OutputPath
from dna_bigbird.core.result_folders import MADE_TEXT
from dna_bigbird.core.results import Result
from dna_bigbird.core.settings import Range


@dataclass(frozen=True)
class MadeText(Result):
    """Synthetic text of every set."""

    output: Path
    files: int
    sets: int

    def summary(self) -> str:
        """Return how many files there are."""
        return f"{self.output}: {self.files} files of {self.sets} sets and a plain corpus"


@checked()
def made_data(
    output: Annotated[OutputPath, MADE_TEXT],
    seed: int = 0,
    examples: Annotated[int, Range(24)] = 240,
) -> MadeText:
    """Write synthetic text in the native format of every set, with a rule planted in each.

    The folder's README.md describes the rules. A tiny model learns them in minutes; the sentences have
    no meaning.

    Examples:
        dna-bigbird text made-data --output made

    Args:
        output: Result to write: a folder.
        seed: Seed of the random numbers: equal seeds give equal files, byte by byte.
        examples: Number of examples: for training, of every set; validation and test have a quarter
            each.
    """
    from dna_bigbird.text.made.writing import write_made_text

    output = Path(output)
    counts = write_made_text(output, seed=seed, examples=examples)
    return MadeText(output, sum(counts.values()), len(counts) - 2)
