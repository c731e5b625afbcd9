"""The section on time and memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import GREEN, MODEL, add_marks, new_figure, style
from dna_bigbird.evaluation.pages.rendering import Gallery, Picture
from dna_bigbird.report.run_results import Stage, duration

# Run time and peak memory of the stages.


def stage_figure(stages: Sequence[Stage], *, tag: str = "") -> Figure:
    """Draw run time and peak memory of every stage as bars side by side."""
    with style():
        fig = new_figure(9.6, 1.0 + 0.21 * len(stages), tag)
        left, right = fig.subplots(1, 2, sharey=True)
        y = np.arange(len(stages))
        seconds = np.array([s.seconds for s in stages])
        memory = np.array([s.max_rss_mb for s in stages]) / 1024
        for ax, values, colour, text in (
            (left, seconds, MODEL, duration),
            (right, memory, GREEN, lambda v: f"{v:.2f} GiB" if v >= 1 else f"{v * 1024:,.0f} MiB"),
        ):
            ax.barh(y, np.nan_to_num(values), color=colour, height=0.68)
            shown = [text(value) if np.isfinite(value) else "not measured" for value in values]
            for position, value, words in zip(y, values, shown, strict=True):
                ax.text(np.nan_to_num(value), position, f" {words}", va="center", fontsize=7.5)
            add_marks(ax, np.nan_to_num(values), y, "", "{}: {}", [s.rule for s in stages], shown)
            ax.grid(axis="y", visible=False)
            ax.margins(x=0.18)
            ax.tick_params(axis="y", length=0)
        left.set_yticks(y, [s.rule for s in stages])
        left.set_ylim(len(stages) - 0.4, -0.6)
        left.set(title="Run time", xlabel="seconds")
        right.set(title="Peak memory", xlabel="GiB (resident)")
    return fig


PIPELINE = [
    "demo",
    "fetch",
    "genome",
    "documents",
    "tokenizer",
    "tokenize",
    "pretrain",
    "evaluate_lm",
    "lift",
    "sites",
    "set",
    "leakage",
    "baseline",
    "finetune",
    "evaluate",
    "predict",
    "score_variants",
    "zero_shot",
    "rank_variants",
    "mutagenesis",
    "browser_",
]
"""Words in the names of rules, in the order in which the rules run."""


@dataclass(frozen=True)
class Stages:
    """The data of the section, the stages in the order of the workflow."""

    stages: Sequence[Stage]
    total: str
    largest: Stage | None
    """The stage with the highest peak memory, None if no memory was measured."""
    picture: Picture


def stages(measured: Sequence[Stage], gallery: Gallery) -> Stages | None:
    """Return time and memory of every stage, None if nothing was measured."""
    if not measured:
        return None
    ordered = sorted(measured, key=lambda stage: (_order(stage.rule), stage.rule))
    seconds = math.fsum(x.seconds for x in ordered if math.isfinite(x.seconds))
    with_memory = [x for x in ordered if math.isfinite(x.max_rss_mb)]
    figure = stage_figure(ordered, tag=gallery.tag)
    return Stages(
        ordered,
        duration(seconds),
        max(with_memory, key=lambda x: x.max_rss_mb, default=None),
        gallery.add("time_and_memory", figure, is_wide=True),
    )


def _order(rule: str) -> int:
    """Return the position of a rule in the workflow, by the longest known word in its name."""
    words = [word for word in PIPELINE if word in rule.lower()]
    return PIPELINE.index(max(words, key=len)) if words else len(PIPELINE)
