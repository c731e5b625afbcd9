"""Tables 6 and 7 as a page to read, as Markdown and as one table for programs."""

from collections.abc import Sequence
from pathlib import Path

from dna_bigbird.evaluation.tables import to_tsv
from dna_bigbird.report.compare.head_tables import Block, HeadComparison
from dna_bigbird.report.compare.markdown import markdown_table
from dna_bigbird.report.figures.head_figures import block_figure
from dna_bigbird.report.gallery import Gallery
from dna_bigbird.report.markup import (
    Html,
    as_html,
    is_number,
    join,
    paragraph,
    shown,
    table,
    with_interval,
)
from dna_bigbird.report.words import SEMI_SYNTHETIC

CSS = Path(__file__).parents[1] / "templates" / "report.css"
PUBLISHED = (
    "Rows marked as published were scored by others on their own data and split: they stand here to "
    "be read, and have no rank. "
)
OWN = (
    "Our own models and baselines are ranked only where they were scored on the very same test rows. "
    "In brackets: 95 % intervals over test rows of one training each."
)
HEADERS = {
    "predictor": "model",
    "f1_at_half": "f1 at 0.5",
    "source": "",
    "window_bp": "window bp",
    "kmer_there": "k-mer there",
    "n_positive": "positive",
    "labels_undefined": "AUROC undefined",
}


def comparison_page(
    comparison: HeadComparison, gallery: Gallery, extra: Sequence[Html] = ()
) -> str:
    """Return the page; the pictures go into the gallery too."""
    body = [paragraph(_opening(comparison))]
    if gallery.tag:
        body.insert(0, Html(f'<p class="banner">{as_html(SEMI_SYNTHETIC)}</p>'))
    for number, block in enumerate(comparison.blocks):
        body.append(_section(comparison, block, number, gallery))
    text = join([*body, *extra])
    title = as_html(comparison.title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{CSS.read_text(encoding="utf-8")}</style>
</head>
<body>
<header><h1>{title}</h1></header>
<main>
{text}
</main>
</body>
</html>
"""


def _opening(comparison: HeadComparison) -> str:
    published = any(row["source"] == "published" for x in comparison.blocks for row in x.rows)
    return (PUBLISHED if published else "") + OWN


def _section(comparison: HeadComparison, block: Block, number: int, gallery: Gallery) -> Html:
    columns = _columns(block, comparison.scores)
    rows: list[tuple[object, ...]] = []
    for heading, group in block.groups:
        rows.append((heading,))
        rows += [tuple(_cell(row, name) for name in columns) for row in group]
    numeric = [i for i, name in enumerate(columns) if name in (*comparison.scores, "n", "seed")]
    drawn = [name for name in comparison.shown if name in columns]
    return join(
        [
            Html(f"<section><h2>{as_html(block.title)}</h2>"),
            paragraph(block.text) if block.text else "",
            table(
                [HEADERS.get(name, name.replace("_", " ")) for name in columns],
                rows,
                caption="Scores on the test rows",
                numeric=numeric,
                groups=True,
            ),
            gallery.show(
                f"scores_{number}",
                block_figure(block, drawn, gallery.tag),
                alt=f"{comparison.title}, {block.title}: scores of all rows with their intervals.",
                caption="The table as a picture.",
                wide=True,
            )
            if drawn
            else "",
            *(_notes(heading, found, block) for heading, found in block.notes.items()),
            Html("</section>"),
        ]
    )


def _notes(heading: str, notes: Sequence[str], block: Block) -> Html:
    lines = "".join(f"<li>{as_html(note)}</li>" for note in notes)
    above = f"<p><b>{as_html(heading)}</b></p>" if len(block.notes) > 1 else ""
    return Html(f'{above}<ul class="verdicts">{lines}</ul>')


def _columns(block: Block, scores: Sequence[str]) -> list[str]:
    """Return the columns that hold anything in some row."""
    rows = [row for _, group in block.groups for row in group]
    names = [name for name in rows[0] if not name.endswith(("_low", "_high"))]
    return [name for name in names if any(row[name] not in (None, "") for row in rows)]


def _cell(row: dict, name: str) -> object:
    value = row[name]
    if f"{name}_low" in row:
        return (
            with_interval(value, row[f"{name}_low"], row[f"{name}_high"])
            if is_number(value)
            else "–"
        )
    return "–" if value in (None, "") else shown(value) if is_number(value) else value


def comparison_markdown(comparison: HeadComparison) -> str:
    """Write a comparison as Markdown."""
    lines = [f"# {comparison.title}", "", _opening(comparison), ""]
    for block in comparison.blocks:
        lines += [f"## {block.title}", ""] + ([block.text, ""] if block.text else [])
        for heading, group in block.groups:
            columns = _columns(block, comparison.scores)
            kept = [
                {
                    k: v
                    for k, v in row.items()
                    if k.removesuffix("_low").removesuffix("_high") in columns
                }
                for row in group
            ]
            lines += [f"**{heading}**", "", *markdown_table(kept), ""]
            notes = block.notes.get(heading, [])
            lines += [*(f"- {note}" for note in notes), ""] if notes else []
    return "\n".join(lines)


def comparison_tsv(comparison: HeadComparison) -> str:
    """Write all rows of all blocks as one table."""
    return to_tsv([row for block in comparison.blocks for row in block.rows])
