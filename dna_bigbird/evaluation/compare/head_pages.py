"""Tables 6 and 7 as a page, as Markdown and as one table for programs."""

from collections.abc import Sequence
from dataclasses import dataclass

from dna_bigbird.core.tables import to_tsv
from dna_bigbird.evaluation.compare.calibration import calibration
from dna_bigbird.evaluation.compare.head_figures import block_figure
from dna_bigbird.evaluation.compare.head_tables import Block, HeadComparison
from dna_bigbird.evaluation.compare.markdown import markdown_table
from dna_bigbird.evaluation.model_results import ModelResult
from dna_bigbird.evaluation.pages.gallery import Gallery, Picture
from dna_bigbird.evaluation.pages.rendering import render, sentence
from dna_bigbird.metrics.scores import Score

HEADERS = {
    "predictor": "model",
    "f1_at_half": "f1 at 0.5",
    "window_bp": "window bp",
    "kmer_there": "k-mer there",
    "n_positive": "positive",
    "labels_undefined": "AUROC undefined",
}


@dataclass(frozen=True)
class BlockTable:
    """A block as a template shows it."""

    title: str
    text: str
    headers: Sequence[str]
    numeric: Sequence[int]
    """Columns that are set flush right."""
    groups: Sequence[tuple[str, Sequence[Sequence[object]]]]
    """Heading and rows; a cell is a Score, a number, a text or None."""
    picture: Picture | None
    notes: dict[str, list[str]]


def comparison_page(
    comparison: HeadComparison, gallery: Gallery, calibrated: Sequence[ModelResult] = ()
) -> str:
    """Return the page; the pictures are added to the gallery.

    Args:
        calibrated: Models whose calibration is drawn, if their evaluation wrote it.
    """
    calibrations = [
        calibration(model, gallery, model.name.removeprefix("heads/")) for model in calibrated
    ]
    return render(
        "comparison.html",
        title=comparison.title,
        is_semi_synthetic=bool(gallery.tag),
        has_published=comparison.has_published,
        blocks=[
            _table(comparison, block, number, gallery)
            for number, block in enumerate(comparison.blocks)
        ],
        calibrations=[x for x in calibrations if x is not None],
    )


def _table(comparison: HeadComparison, block: Block, number: int, gallery: Gallery) -> BlockTable:
    columns = _columns(block)
    right = (*comparison.scores, "n", "seed", "seeds")
    drawn = [name for name in comparison.shown if name in columns]
    picture = None
    if drawn:
        figure = block_figure(block, drawn, gallery.tag)
        picture = gallery.add(f"scores_{number}", figure, is_wide=True)
    return BlockTable(
        block.title,
        block.text,
        [HEADERS.get(name, name.replace("_", " ")) for name in columns],
        [index for index, name in enumerate(columns) if name in right],
        [
            (heading, [[_cell(row, name) for name in columns] for row in rows])
            for heading, rows in block.groups
        ],
        picture,
        block.notes,
    )


def _columns(block: Block) -> list[str]:
    """Return the columns that have a value in some row."""
    rows = [row for _, group in block.groups for row in group]
    names = [name for name in rows[0] if not name.endswith(("_low", "_high"))]
    return [name for name in names if any(row[name] not in (None, "") for row in rows)]


def _cell(row: dict, name: str) -> object:
    if f"{name}_low" in row:
        return Score(*(row[f"{name}{end}"] for end in ("", "_low", "_high")))
    return None if row[name] == "" else row[name]


def comparison_markdown(comparison: HeadComparison) -> str:
    """Write a comparison as Markdown."""
    lines = [f"# {comparison.title}", "", sentence("notes.opening", comparison.has_published), ""]
    for block in comparison.blocks:
        lines += [f"## {block.title}", ""] + ([block.text, ""] if block.text else [])
        columns = _columns(block)
        kept = [f"{name}{end}" for name in columns for end in ("", "_low", "_high")]
        for heading, group in block.groups:
            rows = [{key: row[key] for key in row if key in kept} for row in group]
            lines += [f"**{heading}**", "", *markdown_table(rows), ""]
            notes = block.notes.get(heading, [])
            lines += [*(f"- {note}" for note in notes), ""] if notes else []
    return "\n".join(lines)


def comparison_tsv(comparison: HeadComparison) -> str:
    """Write all rows of all blocks as one table."""
    rows = [row for block in comparison.blocks for row in block.rows]
    columns = dict.fromkeys(key for row in rows for key in row)
    return to_tsv([columns | row for row in rows])
