"""`dna-bigbird text tables`."""

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath, OutputFolder, OutputPath, ResultsPath


@checked()
def tables(
    results: ResultsPath,
    output: OutputPath,
    pretrained: InputPath | None = None,
    made: list[str] = [],  # noqa: B006 - jsonargparse shows the default
    figure_folder: OutputFolder | None = None,
) -> None:
    """Set measured scores beside Tables 2, 4, 10, 15, 16 and 20 of the paper, as one HTML page.

    It reads metrics.json files only. Published scores are shown and never ranked; measured ones stand
    with n, split, interval and their best baseline, and where they were scored on training
    examples the page says so.

    Args:
        results: Folder of evaluations, one folder each, named after its set: imdb, cola, hotpotqa, …
        output: HTML file to write.
        pretrained: Bundle of `text pretrain`, for Table 10.
        made: Sets whose text was made by a program; the page says so.
        figure_folder: Folder for the picture as a PNG file too.
    """
    from dna_bigbird.report.text.text_page import text_report
    from dna_bigbird.writing import atomic_path

    page, gallery = text_report(results, made, pretrained)
    with atomic_path(output) as path:
        path.write_text(page, encoding="utf-8")
    if figure_folder is not None:
        gallery.save_all(figure_folder)
    print(f"{output}: {len(page) / 1e6:.1f} MB")
