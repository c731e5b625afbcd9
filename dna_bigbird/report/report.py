"""`dna-bigbird report`."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, check_named
from dna_bigbird.core.paths import HtmlOutput, InputPath, ResultsPath, next_to
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import FigureFolder


@dataclass(frozen=True)
class ReportPage(Result):
    """The report of a workflow run or of a model."""

    output: Path
    size_mb: float
    num_figures: int

    def summary(self) -> str:
        return f"{self.output}: {self.size_mb:.1f} MB, {self.num_figures} pictures"


@checked()
def report(
    results: ResultsPath | None = None,
    config_file: InputPath | None = None,
    output: HtmlOutput | None = None,
    truth_promoters: InputPath | None = None,
    truth_peaks: InputPath | None = None,
    figure_folder: FigureFolder = None,
    model: InputPath | None = None,
    report: InputPath | None = None,
) -> ReportPage:
    """Write the HTML report of a workflow run or of a scored model: one file, pictures inside.

    It reads result files only. A part that was not run is named in its section.

    Examples:
        dna-bigbird report --results results --config_file config/config.yaml --output results/report.html
        dna-bigbird report --model scored --output page.html

    Args:
        results: Results folder: of a workflow run, such as results; needs `config_file`.
        config_file: The workflow configuration of that run; shown whole in the report.
        output: Result to write: an HTML file.
        truth_promoters: Start sites of the true promoters (BED, GTF, GFF, FPS or SGA), drawn below
            the predicted ones.
        truth_peaks: Sample sheet of the true peaks with the columns label, group, cell and path (as
            for chromatin-set), drawn below the predicted labels.
        model: Model bundle: scored by `dna-bigbird evaluate` or `finetune --scored`, instead of
            `results`.
        report: Detailed scores: the folder that `evaluate` wrote; by default
            the path of `model` with `.report` added.
    """
    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.report.page import build_model_page, build_report

    check_named(output=output)
    of_run = {"config_file": config_file, "truth_promoters": truth_promoters}
    _check_options(results, model, of_run | {"truth_peaks": truth_peaks}, {"report": report})
    if model is not None:
        page, gallery = build_model_page(model, report or next_to(model, "report"))
    else:
        check_named(config_file=config_file)
        page, gallery = build_report(results, config_file, truth_promoters, truth_peaks)
    with atomic_path(output) as path:
        path.write_text(page, encoding="utf-8")
    if figure_folder is not None:
        gallery.save_all(figure_folder)
    return ReportPage(output, len(page) / 1e6, len(gallery.figures))


def _check_options(
    results: Path | None,
    model: Path | None,
    of_run: dict[str, Path | None],
    of_model: dict[str, Path | None],
) -> None:
    """Raise InputError unless exactly one source is named, with options of that source only."""
    if (results is None) == (model is None):
        raise InputError(
            f"--results and --model: {'neither' if model is None else 'both'} given; expected one: the "
            "results folder of a workflow run, or a scored model"
        )
    source, foreign = ("model", of_run) if results is None else ("results", of_model)
    for name, value in foreign.items():
        if value is not None:
            raise InputError(f"--{name} does not go with --{source}; leave it out")
