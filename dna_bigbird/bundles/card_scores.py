"""The scores on a model card: one column for the model and one per baseline, and which is better."""

from collections.abc import Sequence

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.metrics import HIGH, LOW, Metrics
from dna_bigbird.metrics.scores import ModelMetrics, score_text
from dna_bigbird.metrics.verdicts import (
    WORSE,
    NamedVerdict,
    best_masked,
    compared,
    language_verdict,
    on_unseen,
    part_rows,
)
from dna_bigbird.models.label_types import HEADLINES as TYPE_HEADLINES
from dna_bigbird.models.label_types import RECORDED

ONE_LABEL = ("auroc", "auprc", "f1", "mcc", "precision", "recall")
HEADLINES = {"promoter": ONE_LABEL, "sequence": (*ONE_LABEL, "macro_auroc", "macro_auprc")}
LABEL_HEADLINES = ("macro_auroc", "macro_auprc", "auroc", "auprc")
PRETRAINING_HEADLINES = (
    "bits_per_base_masked",
    "mlm_accuracy",
    "nsp_accuracy",
    "bits_per_base_all_masked",
)
LOWER_IS_BETTER = "bits_per_base"
COUNTS = (
    "n_positive",
    "n_labels",
    "n_classes",
    "n_targets",
    "n_masked_tokens",
    "n_masked_bp",
    "threshold",
)
READ_COUNTS = ("n_test_windows_read_in_pretraining", "n_test_windows_read_in_fine_tuning")
"""Test windows that share bases with what the model has read before."""


def dna_scores(config: BundleConfig, metrics: Metrics) -> list[str]:
    """Return the lines on the scores of a model of DNA."""
    names = _dna_names(config, metrics)
    lines = [_dna_counts(metrics), "", *score_table(names, metrics)]
    if _has_intervals(names, metrics):
        lines += ["", f"In brackets: 95 % bootstrap interval{_blocks(metrics)}."]
    if config.is_pretrained_only:
        lines += _language(ModelMetrics.from_json(metrics.stored))
    return lines + _calibration(config, metrics) + _comparisons(names, metrics)


def _language(metrics: ModelMetrics) -> list[str]:
    """Return bits per base by class of sequence, and who is better where the model has read nothing."""
    unseen = on_unseen(metrics)
    best, _ = best_masked(unseen)
    lines = []
    if rows := part_rows(metrics, "by_class", best):
        lines += ["", f"| class of sequence | bp | model | {best} | difference |", "|---" * 5 + "|"]
        for row in rows:
            cells = (
                score_text(x.value, x.low, x.high) for x in (row.model, row.baseline, row.gain)
            )
            lines.append(f"| {row.part} | {row.n_bp:,} | {' | '.join(cells)} |")
    if metrics.unseen_bp:
        where = (
            f"On the {metrics.unseen_bp:,} hidden bp that lie in no 32-mer of the training text:"
        )
        lines += ["", where]
    elif metrics.unseen_bp == 0:
        lines += ["", "All hidden bases lie in 32-mers of the training text:"]
    return lines


def text_scores(metrics: Metrics) -> list[str]:
    """Return the lines on the scores of a model of text."""
    names = metrics.score_names()
    count_name = "n_examples" if "n_examples" in metrics else "n"
    shown = {"split": metrics.split, count_name: metrics.n}
    facts = [f"{name}: {value}" for name, value in shown.items() if value is not None]
    lines = ["; ".join([*facts, f"seed {metrics.seed}"]), "", *score_table(names, metrics)]
    if _has_intervals(names, metrics):
        lines += ["", "In brackets: 95 % bootstrap interval over examples."]
    counts = {
        name: value
        for name, value in metrics.items()
        if name.startswith("n_") and name not in names
    }
    return lines + (
        ["", *(f"- {name}: {value}" for name, value in counts.items())] if counts else []
    )


def score_table(names: Sequence[str], metrics: Metrics) -> list[str]:
    """Return a Markdown table with one row per score."""
    model = "model with counts" if "counts" in metrics.baselines else "model"
    columns = {model: metrics, **metrics.baselines}
    lines = ["| score | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        cells = " | ".join(_cell(column, name) for column in columns.values())
        lines.append(f"| {name} | {cells} |")
    return lines


def _cell(metrics: Metrics, name: str) -> str:
    value, low, high = metrics.score(name)
    if value is None:
        return "–"
    interval = f" ({low:.3f}–{high:.3f})" if low is not None and high is not None else ""
    return f"{value:.3f}{interval}"


def _has_intervals(names: Sequence[str], metrics: Metrics) -> bool:
    return any(f"{name}{LOW}" in metrics.scores for name in names)


def headline_names(config: BundleConfig, metrics: Metrics) -> list[str]:
    """Return the scores that a card shows, of a model of DNA or text."""
    return metrics.score_names() if config.reads == "text" else _dna_names(config, metrics)


def _dna_names(config: BundleConfig, metrics: Metrics) -> list[str]:
    """Return the headline scores that the model or, for causal bits per base, a baseline has."""
    if config.is_pretrained_only:
        causal = f"{LOWER_IS_BETTER}_causal"
        names = [name for name in PRETRAINING_HEADLINES if name in metrics.scores]
        known = any(causal in x.scores for x in (metrics, *metrics.baselines.values()))
        names += [causal] if known else []
    else:
        headlines = HEADLINES.get(config.task, LABEL_HEADLINES)
        if config.label_type in RECORDED:
            headlines = TYPE_HEADLINES[config.label_type]
        names = [name for name in headlines if name in metrics.scores]
    medians = (name for name in metrics.scores if name.startswith("median_auroc"))
    brier = [name for name in ("brier",) if name in metrics.scores]
    return names + [name for name in medians if not name.endswith((LOW, HIGH))] + brier


def _blocks(metrics: Metrics) -> str:
    """Return what the bootstrap drew."""
    block_bp, count = metrics.scores.get("block_bp"), metrics.scores.get("n_blocks")
    if block_bp == 0:
        return f", {count} groups of rows that belong together drawn with replacement"
    return "" if block_bp is None else f", {count} blocks of {block_bp:,} bp drawn with replacement"


def _calibration(config: BundleConfig, metrics: Metrics) -> list[str]:
    """Return how far probabilities are from shares of positives, before and after the correction."""
    scores, scaling = metrics.scores, config.calibration
    if scores.get("ece") is None:
        return []
    line = f"Expected calibration error of the probabilities: {scores['ece']:.3f}"
    if "brier" in scores:
        line += f", Brier score {scores['brier']:.3f}"
    if scaling is None or scores.get("ece_raw") is None:
        return ["", f"{line}; they are not corrected."]
    how = "one temperature" if scaling.temperature is not None else "Platt scaling of each label"
    return [
        "",
        f"{line}; before the correction ({how}, fitted on {scaling.n:,} validation rows) "
        f"{scores['ece_raw']:.3f} and {scores['brier_raw']:.3f}.",
    ]


def _dna_counts(metrics: Metrics) -> str:
    parts = [f"split: {metrics.split}", f"n = {metrics.n}"]
    parts += [
        f"{name} = {metrics.scores[name]}"
        for name in (*COUNTS, *READ_COUNTS)
        if name in metrics.scores
    ]
    if metrics.max_tokens is not None:
        parts.append(f"examples of at most {metrics.max_tokens} tokens")
    if metrics.strand == "forward":
        parts.append("forward strand only")
    return "; ".join([*parts, f"seed {metrics.seed}"])


def _comparisons(names: Sequence[str], metrics: Metrics) -> list[str]:
    """Return for the first score of the table whether each baseline is better, the best one first."""
    if not names or metrics.score(names[0]).value is None:
        return []
    known = ModelMetrics.from_json(metrics.stored)
    is_language = names[0].startswith(LOWER_IS_BETTER)
    verdicts = language_verdict(known).masked if is_language else compared(known, names[0])
    lines = [_sentence(names[0], x) for x in verdicts]
    if any(verdict.outcome == WORSE for _, verdict in verdicts):
        lines.append("These data do not show that the network is worth its cost.")
    return ["", *lines] if lines else []


def _sentence(name: str, named: NamedVerdict) -> str:
    gain, words = named.verdict.gain, named.verdict.in_words(f"the baseline {named.baseline}")
    numbers = ""
    if gain.has_interval:
        numbers = f": {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
    words = f"**{words}**" if named.verdict.outcome == WORSE else words
    return f"By {name}, model minus {named.baseline}{numbers}: {words}."
