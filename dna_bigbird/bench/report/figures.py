"""Pictures of benchmark results: one task with all its sources, and all tasks together."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dna_bigbird.bench.report.claims import (
    RANDOM_WEIGHTS,
    best_baseline,
    chance_score,
    find_source,
    in_metric_of_task,
    metric_score,
)
from dna_bigbird.core.figures.style import DARK, GREY, KMER, SKY, add_marks, new_figure, style
from dna_bigbird.core.figures.style import MODEL as MODEL_COLOUR
from dna_bigbird.metrics.names import metric_name, source_name
from dna_bigbird.metrics.scores import is_number, score_text
from dna_bigbird.metrics.task_results import (
    LEAK_FREE,
    MODEL,
    OTHER_SCORES,
    PUBLISHED,
    SUBSETS,
    Score,
    TaskResult,
)
from dna_bigbird.models.label_types import LOWER_IS_BETTER

COLOURS = {RANDOM_WEIGHTS: SKY} | dict.fromkeys((MODEL, *OTHER_SCORES), MODEL_COLOUR)
"""Of sources; baselines have the colour of the k-mer baseline in all pictures."""
MARKERS = {PUBLISHED: "o", LEAK_FREE: "^"}
SUBSET_NAMES = {PUBLISHED: "all test rows", LEAK_FREE: "leak-free test rows"}
HOLLOW = {"color": DARK, "marker": "D", "ms": 5, "mfc": "white", "ls": ""}
TICK = {"color": GREY, "marker": "|", "ms": 13, "mew": 1.5, "ls": ""}
SUMMARY_LOOKS = {
    "model, all test rows": (MODEL_COLOUR, "o"),
    "model, leak-free test rows": (MODEL_COLOUR, "^"),
    "random weights, all": (SKY, "o"),
    "best baseline, all": (KMER, "s"),
}
"""Colour and marker of the points of a task in the summary, from the top."""
NOT_RUN = "published, not run here"
CHANCE = "chance"
LONGEST_NAME = 34
"""Characters of a name next to an axis."""


def task_figure(result: TaskResult, tag: str = "") -> Figure:
    """Draw the metric of every source on both subsets with intervals; published scores hollow."""
    elsewhere = [x for x in result.published if in_metric_of_task(result, x)]
    names = [source_name(x.name) for x in result.sources] + [x.model for x in elsewhere]
    with style():
        fig = new_figure(4.7, 1.35 + 0.31 * len(names), tag)
        ax = fig.add_subplot()
        for y, source in enumerate(result.sources):
            colour = COLOURS.get(source.name, KMER)
            for subset, shift in ((PUBLISHED, -0.15), (LEAK_FREE, 0.15)):
                score = metric_score(result, source, subset)
                name = f"{source_name(source.name)}, {SUBSET_NAMES[subset]}"
                _point(ax, y + shift, score, colour, MARKERS[subset], name)
        for y, published in enumerate(elsewhere, start=len(result.sources)):
            ax.plot(published.value, y, **HOLLOW)
            add_marks(
                ax, [published.value], [y], published.model, "{}, published", [published.value]
            )
        drawn = [subset for subset in SUBSETS if any(subset in x.scores for x in result.sources)]
        for subset in drawn:
            ax.plot([], [], MARKERS[subset], color=GREY, ms=5, label=SUBSET_NAMES[subset])
        if (chance := chance_score(result)) is not None:
            ax.axvline(chance, color=GREY, ls=":", lw=1.2, label=CHANCE)
        if elsewhere:
            ax.axhline(len(result.sources) - 0.5, color=DARK, lw=0.7)
            ax.plot([], [], label=NOT_RUN, **HOLLOW)
        _finish(ax, names, result.metric)
        fig.legend(loc="outside lower center", ncols=2)
    return fig


def summary_figure(
    results: Sequence[TaskResult], titles: Mapping[str, str], tag: str = ""
) -> Figure:
    """Draw the model, random weights, the best baseline and published score of every task."""
    # A panel per suite and metric: scores of different metrics are not comparable.
    panels: dict[tuple[str, str], list[TaskResult]] = {}
    for result in results:
        panels.setdefault((result.suite, result.metric), []).append(result)
    sizes = [len(rows) for rows in panels.values()]
    several = len({result.suite for result in results}) > 1
    with style():
        fig = new_figure(7.6, 0.9 + sum(0.85 + 0.36 * size for size in sizes), tag)
        axes = fig.subplots(len(panels), 1, squeeze=False, height_ratios=[x + 1 for x in sizes])
        for ax, ((suite, metric), rows) in zip(axes[:, 0], panels.items(), strict=True):
            for y, result in enumerate(rows):
                _summary_points(ax, y, result)
            if several:
                ax.set_title(_cut(titles[suite]))
            _finish(ax, [result.task for result in rows], metric)
        _summary_legend(fig, axes[0, 0], results)
    return fig


def _summary_points(ax: Axes, y: float, result: TaskResult) -> None:
    model, random_weights = result.model, find_source(result, RANDOM_WEIGHTS)
    baseline = best_baseline(result, PUBLISHED)
    for shift, source, subset, (name, (colour, marker)) in zip(
        (-0.28, -0.09, 0.1, 0.28),
        (model, model, random_weights, baseline),
        (PUBLISHED, LEAK_FREE, PUBLISHED, PUBLISHED),
        SUMMARY_LOOKS.items(),
        strict=True,
    ):
        score = metric_score(result, source, subset)
        _point(ax, y + shift, score, colour, marker, f"{result.task}: {name}")
    if (chance := chance_score(result)) is not None:
        ax.plot(chance, y, **TICK)
    if (best := best_published(result)) is not None:
        ax.plot(best, y, **HOLLOW)
        add_marks(ax, [best], [y], f"{result.task}: best {NOT_RUN}", "{}", [best])


def best_published(result: TaskResult) -> float | None:
    """Return the best score that was published in the task's metric, None if none is recorded."""
    values = [
        x.value for x in result.published if in_metric_of_task(result, x) and is_number(x.value)
    ]
    choose = min if result.metric in LOWER_IS_BETTER else max
    return choose(values) if values else None


def _point(ax: Axes, y: float, score: Score, colour: str, marker: str, name: str) -> None:
    if not is_number(score.value):
        return
    add_marks(ax, [score.value], [y], name, "{}", [score_text(score.value, score.low, score.high)])
    if score.has_interval:
        ax.plot([score.low, score.high], [y, y], color=colour, lw=1.5)
    ax.plot(score.value, y, marker, color=colour, ms=4.5)


def _finish(ax: Axes, names: Sequence[str], metric: str) -> None:
    ax.set_yticks(range(len(names)), [_cut(name) for name in names])
    ax.set(xlabel=metric_name(metric), ylim=(len(names) - 0.45, -0.55))
    ax.grid(axis="y", visible=False)
    ax.locator_params(axis="x", nbins=5)


def _summary_legend(fig: Figure, ax: Axes, results: Sequence[TaskResult]) -> None:
    for name, (colour, marker) in SUMMARY_LOOKS.items():
        ax.plot([], [], marker, color=colour, ms=4.5, label=name)
    if any(chance_score(result) is not None for result in results):
        ax.plot([], [], label=CHANCE, **TICK)
    if any(best_published(result) is not None for result in results):
        ax.plot([], [], label=f"best {NOT_RUN}", **HOLLOW)
    fig.legend(loc="outside lower center", ncols=3)


def _cut(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
