"""The picture of the text report: every task with its best baseline."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from dna_bigbird.core.figures.marks import add_marks
from dna_bigbird.core.figures.style import KMER, MODEL, new_figure, style
from dna_bigbird.metrics.scores import Score, is_number, score_text
from dna_bigbird.text.report.published_text import published_tables
from dna_bigbird.text.report.text_results import TextRun


class TaskScore(NamedTuple):
    """The first score of a task, of the model and of its best baseline."""

    title: str
    model: Score
    baseline: Score


def first_scores(runs: Mapping[str, TextRun]) -> list[TaskScore]:
    """Return the first score of every column in per cent or ROUGE."""
    scores = []
    for table in published_tables():
        for column in table.columns:
            if column.run in runs and column.higher_is_better:
                _, verdict = runs[column.run].verdict(column)
                title = f"{column.title.removesuffix(' m/mm')} ({column.keys[0].replace('_', ' ')})"
                pair = (x.times(column.factor) for x in (verdict.model, verdict.baseline))
                scores.append(TaskScore(f"T{table.number} {title}", *pair))
    return scores


def tasks_figure(rows: Sequence[TaskScore], tag: str = "") -> Figure:
    """Draw model and best baseline of every task with their intervals, one row per score."""
    with style():
        fig = new_figure(7.6, 1.3 + 0.3 * len(rows), tag)
        ax = fig.add_subplot()
        for name, scores, colour, mark, shift in (
            ("BigBird, this run", [row.model for row in rows], MODEL, "o", -0.13),
            ("best baseline", [row.baseline for row in rows], KMER, "s", 0.13),
        ):
            known = [(y + shift, x) for y, x in enumerate(scores) if is_number(x.value)]
            values, heights = [x.value for _, x in known], [y for y, _ in known]
            ax.plot(values, heights, mark, color=colour, ms=5, label=name)
            titles = [rows[round(y)].title for y in heights]
            texts = [score_text(x.value, x.low, x.high, 2) for _, x in known]
            add_marks(ax, values, heights, name, "{}: {}", titles, texts)
            for y, score in known:
                if score.has_interval:
                    ax.plot([score.low, score.high], [y, y], color=colour, lw=1.6)
        ax.set_yticks(range(len(rows)), [row.title for row in rows])
        ax.set(xlabel="score x 100", ylim=(len(rows) - 0.5, -0.5))
        fig.legend(loc="outside lower center", ncols=2)
    return fig
