"""The report of the text tasks as one HTML page that needs nothing outside itself."""

from collections.abc import Collection
from pathlib import Path

from dna_bigbird.report.figures.text_figure import first_scores, tasks_figure
from dna_bigbird.report.gallery import Gallery
from dna_bigbird.report.markup import Html, join, paragraph
from dna_bigbird.report.published_text import published_tables
from dna_bigbird.report.text.text_results import TextRun, read_runs
from dna_bigbird.report.text.text_tables import section

CSS = Path(__file__).parents[1] / "templates" / "report.css"
TITLE = "dna-bigbird: text tasks"
MADE = (
    "<b>Made text.</b> Scores marked so come from text that a program put together, with a rule planted "
    "for the model to learn. They say that reading, training, decoding and scoring work, and nothing "
    "about language."
)
ON_TRAINING = (
    "<b>Scored on its training examples.</b> Scores marked so were measured on the very examples that "
    "the model was trained on. They say that the model can be trained, not that it has learnt anything "
    "that holds elsewhere."
)


def text_report(
    folder: Path,
    made: Collection[str] = (),
    pretrained: Path | None = None,
) -> tuple[str, Gallery]:
    """Read evaluations (see `read_runs`) and return the page and its picture.

    Raises:
        InputError: As `read_runs`.
    """
    runs = read_runs(folder, made, pretrained)
    gallery = Gallery(_tag(runs))
    links = " ".join(f'<a href="#table{t.number}">Table {t.number}</a>' for t in published_tables())
    body = [*_banners(runs), _opening(runs), Html(f"<nav>{links}</nav>")]
    if first_scores(runs):
        body.append(
            gallery.show(
                "text_tasks",
                tasks_figure(runs, gallery.tag),
                alt="First score of every task, of the model and of its best baseline.",
                caption="The first score of every task, with 95 % intervals over its examples. Blue: the "
                "model; vermilion: the best baseline on the same examples.",
                wide=True,
            )
        )
    body += [section(table, runs) for table in published_tables()]
    return _page(join(body)), gallery


def _banners(runs: dict[str, TextRun]) -> list[Html]:
    said = [MADE] if any(run.is_made for run in runs.values()) else []
    said += [ON_TRAINING] if any(run.num_seen for run in runs.values()) else []
    return [Html(f'<p class="banner">{text}</p>') for text in said]


def _tag(runs: dict[str, TextRun]) -> str:
    """Return what stands at the foot of the picture."""
    counts = {
        "made text": sum(run.is_made for run in runs.values()),
        "scored on training examples": sum(bool(run.num_seen) for run in runs.values()),
    }
    said = [f"{'all' if n == len(runs) else 'some'} {what}" for what, n in counts.items() if n]
    return ", ".join(said)


def _opening(runs: dict[str, TextRun]) -> Html:
    made = sum(run.is_made for run in runs.values())
    return paragraph(
        f"{len(runs)} evaluations of BigBird models on text, {made} of them on made text. Published "
        "scores of the paper stand above the measured ones to be read: they come from other data, sizes and "
        "amounts of training, and nothing here is ranked against them. Beside every measured score stands "
        "the best baseline on the same examples.",
        "How every score is defined: docs/text.md.",
    )


def _page(body: Html) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<title>{TITLE}</title>
<style>
{CSS.read_text(encoding="utf-8")}</style>
</head>
<body>
<header><h1>Text tasks: the paper's tables, published and measured</h1></header>
<main>
{body}
</main>
</body>
</html>
"""
