"""The report of the text tasks as one HTML page that needs nothing outside itself."""

from collections.abc import Collection, Mapping
from pathlib import Path

from dna_bigbird.evaluation.pages.gallery import Gallery
from dna_bigbird.evaluation.pages.rendering import render
from dna_bigbird.text.report.published_text import published_tables
from dna_bigbird.text.report.text_figure import first_scores, tasks_figure
from dna_bigbird.text.report.text_results import TextRun, read_runs
from dna_bigbird.text.report.text_tables import text_table


def text_report(
    folder: Path,
    synthetic: Collection[str] = (),
    pretrained: Path | None = None,
    variants: Mapping[str, Path] | None = None,
) -> tuple[str, Gallery]:
    """Read evaluations (see `read_runs`) and return the page and its picture.

    Args:
        variants: Folders of evaluations of the same sets with other settings, by name.

    Raises:
        InputError: As `read_runs`.
    """
    runs = read_runs(folder, synthetic, pretrained)
    others = {name: read_runs(path, synthetic) for name, path in (variants or {}).items()}
    num_synthetic = sum(run.is_synthetic for run in runs.values())
    num_on_training = sum(run.num_in_training > 0 for run in runs.values())
    gallery = Gallery(_tag(runs, num_synthetic, num_on_training))
    scores = first_scores(runs)
    picture = None
    if scores:
        figure = tasks_figure(scores, gallery.tag)
        picture = gallery.add("text_tasks", figure, is_wide=True)
    page = render(
        "text_report.html",
        num_runs=len(runs),
        num_synthetic=num_synthetic,
        num_on_training=num_on_training,
        picture=picture,
        tables=[text_table(table, runs, others) for table in published_tables()],
    )
    return page, gallery


def _tag(runs: dict[str, TextRun], num_synthetic: int, num_on_training: int) -> str:
    """Return the line in the corner of the picture."""
    counts = {"synthetic text": num_synthetic, "scored on training examples": num_on_training}
    return ", ".join(
        f"{'all' if count == len(runs) else 'some'} {what}"
        for what, count in counts.items()
        if count
    )
