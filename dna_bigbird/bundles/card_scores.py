"""The scores on a model card: a table beside the baselines, and what it says."""

from dna_bigbird.bundles.bundle import PRETRAINING

HEADLINES = {"promoter": ("auroc", "auprc", "f1", "mcc", "precision", "recall")}
LABEL_HEADLINES = ("macro_auroc", "macro_auprc", "auroc", "auprc")
PRETRAINING_HEADLINES = ("bits_per_base_masked", "mlm_accuracy", "nsp_accuracy")
LOWER_IS_BETTER = "bits_per_base"


def score_lines(config: dict, metrics: dict) -> list[str]:
    """Return a table with one column for the model and one for each baseline."""
    wanted = PRETRAINING_HEADLINES if config["task"] == PRETRAINING else LABEL_HEADLINES
    wanted = HEADLINES.get(config["task"], wanted)
    ends = ("_low", "_high")
    medians = [k for k in metrics if k.startswith("median_auroc") and not k.endswith(ends)]
    baselines = metrics.get("baselines", {})
    kinds = [f"{LOWER_IS_BETTER}_causal"] if config["task"] == PRETRAINING else []
    names = [n for n in [*wanted, *kinds, *medians] if n in metrics or n in kinds]
    names = [n for n in names if n in metrics or any(n in b for b in baselines.values())]
    columns = [("model", metrics), *baselines.items()]
    lines = [_counts(metrics), ""]
    lines += ["| score | " + " | ".join(name for name, _ in columns) + " |"]
    lines += ["|---" * (len(columns) + 1) + "|"]
    for name in names:
        cells = [_cell(table, name) for _, table in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    if any(f"{n}_low" in metrics for n in names):
        lines += ["", f"In brackets: 95 % bootstrap interval{_blocks(metrics)}."]
    return lines + _calibration(metrics) + _verdicts(names, metrics, baselines)


def _blocks(metrics: dict) -> str:
    """Say what the bootstrap drew."""
    if "block_bp" not in metrics:
        return ""
    return f", {metrics['n_blocks']} blocks of {metrics['block_bp']:,} bp drawn with replacement"


def _calibration(metrics: dict) -> list[str]:
    """Say how far probabilities are from shares of positives."""
    if metrics.get("ece") is None:
        return []
    line = f"Expected calibration error of the probabilities: {metrics['ece']:.3f}"
    if metrics.get("ece_calibrated") is not None:
        line += (
            f"; {metrics['ece_calibrated']:.3f} if their logits were multiplied by "
            f"{metrics['calibration_slope']:.3f} and {metrics['calibration_bias']:.3f} were added "
            "(fitted on validation, not applied)"
        )
    return ["", f"{line}."]


def _counts(metrics: dict) -> str:
    n = metrics.get("n", metrics.get("n_examples"))
    parts = [f"split: {metrics.get('split')}", f"n = {n}"]
    for key in ("n_positive", "n_labels", "n_masked_tokens", "n_masked_bp", "threshold"):
        if key in metrics:
            parts.append(f"{key} = {metrics[key]}")
    if metrics.get("strand") == "forward":
        parts.append("forward strand only")
    return "; ".join([*parts, f"seed {metrics.get('seed')}"])


def _cell(table: dict, name: str) -> str:
    value = table.get(name)
    if value is None:
        return "–"
    low, high = table.get(f"{name}_low"), table.get(f"{name}_high")
    interval = f" ({low:.3f}–{high:.3f})" if low is not None and high is not None else ""
    return f"{value:.3f}{interval}"


def _verdicts(names: list[str], metrics: dict, baselines: dict) -> list[str]:
    """Say for the first score of the table whether a baseline wins."""
    if not names or names[0] not in metrics or metrics[names[0]] is None:
        return []
    key, lower = names[0], names[0].startswith(LOWER_IS_BETTER)
    lines = []
    for baseline, table in baselines.items():
        if table.get(key) is None:
            continue
        difference = table[key] - metrics[key]
        ahead = difference < 0 if lower else difference > 0
        lines.append(
            f"**The baseline {baseline} wins by {key}.** On these data the network is not shown to be worth its cost."
            if ahead
            else f"By {key} the model is {'level with' if difference == 0 else 'ahead of'} the baseline {baseline}."
        )
    return ["", *lines] if lines else []
