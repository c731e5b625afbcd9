"""The picture of the text report: every task against its best baseline."""

from matplotlib.figure import Figure

from dna_bigbird.report.figures.style import KMER, MODEL, new_figure, style
from dna_bigbird.report.markup import is_number
from dna_bigbird.report.published_text import published_tables
from dna_bigbird.report.text.text_results import TextRun, scores_of_column
from dna_bigbird.report.words import Score


def first_scores(runs: dict[str, TextRun]) -> list[tuple[str, Score, Score]]:
    """Return title, score and best baseline of the first score of every column in per cent or ROUGE."""
    found = []
    for table in published_tables():
        for column in table.columns:
            if column.run not in runs or not column.higher_is_better:
                continue
            run = runs[column.run]
            best = run.best_baseline(column.keys[0], higher_is_better=True)
            ours = scores_of_column(run, column)[0]
            theirs = scores_of_column(run, column, best)[0] if best else Score(None)
            title = f"{column.title.removesuffix(' m/mm')} ({column.keys[0].replace('_', ' ')})"
            found.append((f"T{table.number} {title}", ours, theirs))
    return found


def tasks_figure(runs: dict[str, TextRun], tag: str = "") -> Figure:
    """Draw model and best baseline of every task with their intervals, a row a score."""
    rows = first_scores(runs)
    with style():
        fig = new_figure(7.6, 1.3 + 0.3 * len(rows), tag)
        ax = fig.add_subplot()
        looks = (
            ("BigBird, this run", MODEL, "o", -0.13),
            ("best baseline", KMER, "s", 0.13),
        )
        for which, (name, colour, mark, shift) in enumerate(looks, start=1):
            known = [(y, row[which]) for y, row in enumerate(rows) if is_number(row[which].value)]
            ax.plot(
                [score.value for _, score in known],
                [y + shift for y, _ in known],
                mark,
                color=colour,
                ms=5,
                label=name,
            )
            for y, score in known:
                if score.has_interval:
                    ax.plot([score.low, score.high], [y + shift] * 2, color=colour, lw=1.6)
        ax.set_yticks(range(len(rows)), [title for title, _, _ in rows])
        ax.set(xlabel="score x 100", ylim=(len(rows) - 0.5, -0.5))
        fig.legend(loc="outside lower center", ncols=2)
    return fig
