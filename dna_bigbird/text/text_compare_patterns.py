"""`dna-bigbird text compare-patterns`."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import HtmlOutput, InputPath
from dna_bigbird.core.results import Rows
from dna_bigbird.core.shared_options import SyntheticSets


@dataclass(frozen=True)
class ComparedPatterns(Rows):
    """Scores of text models by attention pattern."""

    output: Path
    rows: list[dict]
    """One per pattern, seed and score, in the units of the table: pattern, seed, column, score, value, low,
    high."""

    def summary(self) -> str:
        """Return how many trainings the page compares."""
        trainings = {(row["pattern"], row["seed"]) for row in self.rows}
        return f"{self.output}: {len(trainings)} trainings of {len({x for x, _ in trainings})} patterns"


@checked()
def compare_patterns(
    runs: list[InputPath],
    output: HtmlOutput,
    synthetic: SyntheticSets = [],  # noqa: B006 - the help shows the default
) -> ComparedPatterns:
    """Compare attention patterns with Table 1 of the paper, as one HTML page.

    It reads the results of `text pretrain` and `text evaluate` only. Published scores are shown, not ranked.
    Measured ones are means over seeds, next to the best baseline.

    Examples:
        dna-bigbird text compare-patterns --output table1.html \\
            --runs results/text/table1/window/seed0 results/text/table1/full/seed0

    Args:
        runs: Models to compare, in the order of the rows: folders PATTERN/seedN, each with pretrained/ (a bundle
            of `text pretrain`) and evaluation/SET (of `text evaluate`) for the sets of the table.
        output: Result to write: an HTML page.
    """
    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.evaluation.model_results import key_share
    from dna_bigbird.text.report.text_results import pattern_page

    page, rows = pattern_page([Path(run) for run in runs], synthetic, key_share)
    with atomic_path(Path(output)) as path:
        path.write_text(page, encoding="utf-8")
    return ComparedPatterns(Path(output), rows)
