"""What `evaluate` prints: the model and its baselines on the test rows, and what was read before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.bundles.card_scores import READ_COUNTS
from dna_bigbird.core.results import score_name
from dna_bigbird.models.label_types import gain_key, headlines_in

if TYPE_CHECKING:
    from dna_bigbird.bundles.metrics import Estimate, Metrics

READ_IN = ("pretraining", "an earlier fine-tuning")
"""What the keys of `READ_COUNTS` count, in their order."""


def evaluation_summary(
    output: Path, metrics: Metrics, label_aurocs: Sequence[tuple[str, dict[str, float]]]
) -> str:
    """Return the lines that the command prints.

    Args:
        label_aurocs: Each label with the AUROC of the model and of the baselines by name; empty
            if there are too many labels to show.
    """
    name, *others = headlines_in(metrics.scores)
    sources = {"model": metrics, **metrics.baselines}
    width = max(map(len, sources))
    lines = [
        f"{output}: {score_name(name)} on {metrics.n:,} test windows, 95 % interval in brackets"
    ]
    lines += [f"  {who:<{width}}  {_shown(each.score(name))}" for who, each in sources.items()]
    for baseline in metrics.baselines:
        gain = metrics.score(gain_key(name, baseline))
        lines.append(f"  model minus {baseline}: {_shown(gain, '+')}: {_verdict(gain, baseline)}")
    if "accuracy" in metrics.scores or "pearson" in metrics.scores:
        lines += [f"  {score_name(each)}: {_of_sources(each, sources)}" for each in others]
    for label, aurocs in label_aurocs:
        values = ", ".join(f"{who} {_value(value)}" for who, value in aurocs.items())
        lines.append(f"  {label}: {values}")
    return "\n".join([*lines, *_read_before(metrics)])


def _value(value: float) -> str:
    return "not defined" if math.isnan(value) else f"{value:.3f}"


def _of_sources(name: str, sources: Mapping[str, Metrics]) -> str:
    return ", ".join(f"{who} {_shown(each.score(name))}" for who, each in sources.items())


def _shown(score: Estimate, sign: str = "") -> str:
    if score.value is None:
        return "not defined"
    value = f"{score.value:{sign}.3f}"
    if score.low is None or score.high is None:
        return value
    return f"{value} [{score.low:{sign}.3f}, {score.high:{sign}.3f}]"


def _verdict(gain: Estimate, baseline: str) -> str:
    if not gain.sign:
        return "no clear difference"
    return "the model is better" if gain.sign > 0 else f"{baseline} is better"


def _read_before(metrics: Metrics) -> list[str]:
    counts = {what: metrics.scores.get(key) for what, key in zip(READ_IN, READ_COUNTS, strict=True)}
    if metrics.scores.get("block_bp") == 0:
        return []
    if not any(isinstance(count, int) for count in counts.values()):
        return ["  test windows that the encoder read before: unknown"]
    told = ", ".join(
        f"{f'{count:,}' if isinstance(count, int) else 'unknown'} in {what}"
        for what, count in counts.items()
    )
    return [f"  test windows that share bases with what the encoder read before: {told}"]
