"""The report of a run as one HTML page that needs nothing outside itself."""

from pathlib import Path

from dna_bigbird.evaluation.pages.rendering import SEMI_SYNTHETIC_TAG, Gallery, render
from dna_bigbird.report.run_results import read_results
from dna_bigbird.report.sections.head_section import head
from dna_bigbird.report.sections.mutagenesis_section import mutagenesis
from dna_bigbird.report.sections.pretraining_section import pretraining
from dna_bigbird.report.sections.stage_section import stages
from dna_bigbird.report.sections.summary_section import summary
from dna_bigbird.report.sections.track_section import tracks
from dna_bigbird.report.sections.variant_section import variants
from dna_bigbird.report.sections.version_section import versions


def build_report(
    folder: Path,
    config_file: Path,
    truth_promoters: Path | None = None,
    truth_peaks: Path | None = None,
) -> tuple[str, Gallery]:
    """Read a results folder and return the page and its pictures.

    Args:
        truth_promoters: File of the true start sites.
        truth_peaks: Sample sheet (label, group, cell, path) of the true peaks.

    Raises:
        InputError: As `read_results`, and for damaged truth or prediction files.
    """
    results = read_results(folder, config_file)
    gallery = Gallery(SEMI_SYNTHETIC_TAG if results.is_semi_synthetic else "")
    predictions = results.folder / "predictions"
    page = render(
        "run_report.html",
        results=results,
        has_text_report=(results.folder / "text" / "report.html").is_file(),
        has_browser=(results.folder / "browser.html").is_file(),
        summary=summary(results),
        pretraining=pretraining(results, gallery) if results.pretrained else None,
        heads={
            name: head(result, gallery) if result else None
            for name, result in results.heads.items()
        },
        tracks=tracks(results, truth_promoters, truth_peaks, gallery),
        variants=variants(predictions, gallery),
        mutagenesis=mutagenesis(predictions, gallery),
        stages=stages(results.stages, gallery),
        versions=versions(results),
    )
    return page, gallery
