"""`dna-bigbird report`."""

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath, OutputFolder, OutputPath, ResultsPath


@checked()
def report(
    results: ResultsPath,
    config_file: InputPath,
    output: OutputPath,
    truth_promoters: InputPath | None = None,
    truth_peaks: InputPath | None = None,
    figure_folder: OutputFolder | None = None,
) -> None:
    """Write the HTML report of a workflow run: one file, pictures inside, nothing loaded.

    It reads result files only. A part that was not run is named where it would stand.

    Args:
        results: Results folder of the run, such as results.
        config_file: The workflow configuration of that run; shown whole in the report.
        output: HTML file to write.
        truth_promoters: BED file of the true promoters, drawn below the predicted ones.
        truth_peaks: Table of the true peaks with the columns label, group and path (as for
            chromatin-set), drawn below the predicted labels.
        figure_folder: Folder for the pictures as PNG files too, for other documents.
    """
    from dna_bigbird.report.page import build_report
    from dna_bigbird.writing import atomic_path

    page, gallery = build_report(results, config_file, truth_promoters, truth_peaks)
    with atomic_path(output) as path:
        path.write_text(page, encoding="utf-8")
    if figure_folder is not None:
        gallery.save_all(figure_folder)
    print(f"{output}: {len(page) / 1e6:.1f} MB, {len(gallery.figures)} pictures")
