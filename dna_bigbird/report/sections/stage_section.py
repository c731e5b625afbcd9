"""The section on time and memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dna_bigbird.evaluation.pages.gallery import Gallery, Picture
from dna_bigbird.report.figures.stage_figure import stage_figure
from dna_bigbird.report.run_results import Stage, duration

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
