"""`dna-bigbird text tables`."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.paths import HtmlOutput, InputPath, ResultsPath, optional_path
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import FigureFolder, SyntheticSets


@dataclass(frozen=True)
class TablesPage(Result):
    """The page of tables."""

    output: Path
    characters: int

    def summary(self) -> str:
        """Return the size of the page."""
        return f"{self.output}: {self.characters / 1e6:.1f} MB"


@renamed(**{"made": "synthetic"})
@checked()
def tables(
    results: ResultsPath,
    output: HtmlOutput,
    pretrained: InputPath | None = None,
    synthetic: SyntheticSets = [],  # noqa: B006 - the help shows the default
    variant_results: dict[str, InputPath] = {},  # noqa: B006
    figure_folder: FigureFolder = None,
) -> TablesPage:
    """Compare measured scores with Tables 1, 2, 3, 4, 10, 15, 16 and 20 of the paper, as one HTML page.

    It reads metrics.json files only. Published scores are shown, not ranked. Measured scores are shown
    with n, split, interval and their best baseline; the page says which were scored on training
    examples.

    Examples:
        dna-bigbird text tables --results scores --output tables.html --pretrained models/base

    Args:
        results: Results folder: evaluations, one folder each, named after its set: imdb, cola, …
        output: Result to write: an HTML page.
        pretrained: Pretrained bundle: of `text pretrain`, for Table 10.
        variant_results: Results folders of the same sets with other settings, by name:
            full-512=scores/full-512 adds a row to their tables. `pretrained` and `large-pretrained` in
            one are bundles of `text pretrain`, for a row of Table 10.
    """
    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.text.report.text_page import text_report

    output = Path(output)
    page, gallery = text_report(
        Path(results),
        synthetic,
        optional_path(pretrained),
        {name: Path(folder) for name, folder in variant_results.items()},
    )
    with atomic_path(output) as path:
        path.write_text(page, encoding="utf-8")
    if figure_folder is not None:
        gallery.save_all(Path(figure_folder))
    return TablesPage(output, len(page))
