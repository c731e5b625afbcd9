"""`dna-bigbird report`."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.choices import checked
from dna_bigbird.paths import HtmlOutput, InputPath, ResultsPath
from dna_bigbird.shared_options import FigureFolder
from dna_bigbird.short_repr import short_repr


@dataclass(frozen=True)
class ReportPage:
    """The report of a workflow run."""

    output: Path
    size_mb: float
    num_figures: int

    __repr__ = short_repr

    def summary(self) -> str:
        """Return size and number of pictures."""
        return f"{self.output}: {self.size_mb:.1f} MB, {self.num_figures} pictures"


@checked()
def report(
    results: ResultsPath,
    config_file: InputPath,
    output: HtmlOutput,
    truth_promoters: InputPath | None = None,
    truth_peaks: InputPath | None = None,
    figure_folder: FigureFolder = None,
) -> ReportPage:
    """Write the HTML report of a workflow run: one file, pictures inside, nothing loaded.

    It reads result files only. A part that was not run is named in its section.

    Examples:
        dna-bigbird report --results results --config_file config/config.yaml --output results/report.html

    Args:
        results: Results folder: of a workflow run, such as results.
        config_file: The workflow configuration of that run; shown whole in the report.
        output: Result to write: an HTML file.
        truth_promoters: Start sites of the true promoters (BED, GTF, GFF, FPS or SGA), drawn below
            the predicted ones.
        truth_peaks: Sample sheet of the true peaks with the columns label, group, cell and path (as
            for chromatin-set), drawn below the predicted labels.
    """
    from dna_bigbird.report.page import build_report
    from dna_bigbird.writing import atomic_path

    page, gallery = build_report(results, config_file, truth_promoters, truth_peaks)
    with atomic_path(output) as path:
        path.write_text(page, encoding="utf-8")
    if figure_folder is not None:
        gallery.save_all(figure_folder)
    return ReportPage(output, len(page) / 1e6, len(gallery.figures))
