"""The model card of a model of text."""

from dna_bigbird.bundles.bundle import PRETRAINING
from dna_bigbird.bundles.card_encoder import size_in_words

NOT_SCORES = ("n", "step", "seed", "split")
ENDS = ("_low", "_high")
PRETRAINING_LIMITS = (
    "It fills masked pieces of text and serves as the start of fine-tuning; by itself it answers nothing.",
)
LIMITS = (
    "Scores hold for text like that of its validation or test set; other domains and languages were "
    "not tested.",
)


def text_card(config: dict, metrics: dict) -> str:
    """Return the card: what the model is, settings, scores beside baselines, limits.

    Args:
        config: As given to `save_bundle`, settings as plain dicts.
        metrics: As written to metrics.json.
    """
    task = config["task"]
    encoder = config["encoder"] if isinstance(config["encoder"], dict) else vars(config["encoder"])
    size = size_in_words(encoder)
    if task == PRETRAINING:
        what = f"A BigBird encoder for text, trained to fill masked tokens: {size}."
    else:
        what = f"BigBird fine-tuned on {config.get('set') or task}: {size}."
        if labels := config.get("label_names"):
            what += f" Classes: {', '.join(labels[:12])}{' …' if len(labels) > 12 else ''}."
    lines = [f"# BigBird for text: {task}", "", what, "", "## Settings", ""]
    lines += [f"- {name}: {value}" for name, value in _facts(config, encoder)]
    lines += ["", "## Scores", "", *_scores(metrics), "", "## Limits", ""]
    lines += [f"- {limit}" for limit in (PRETRAINING_LIMITS if task == PRETRAINING else LIMITS)]
    return "\n".join(lines) + "\n"


def _facts(config: dict, encoder: dict) -> list[tuple[str, object]]:
    training = config.get("training") or {}
    options = config.get("options") or {}
    rows = [
        ("weights at the start", config.get("initial_weights")),
        ("optimizer steps", training.get("max_steps")),
        ("step chosen on validation", config.get("chosen_step")),
        ("examples a step", config.get("examples_per_step")),
        ("largest learning rate", training.get("learning_rate")),
        ("warm-up steps", training.get("warmup_steps")),
        ("dropout", encoder.get("dropout")),
        ("vocabulary", encoder.get("vocab_size")),
        ("options", ", ".join(f"{name} {value}" for name, value in options.items())),
        ("seed", config.get("seed")),
    ]
    return [(name, value) for name, value in rows if value not in (None, "")]


def _scores(metrics: dict) -> list[str]:
    """Return a table with one column for the model and one for each baseline, then the counts."""
    baselines = metrics.get("baselines") or {}
    columns = [("model", metrics), *baselines.items()]
    names = [
        name
        for name, value in metrics.items()
        if (isinstance(value, float) or value is None)
        and not name.endswith(ENDS)
        and name not in NOT_SCORES
    ]
    shown = [f"{name}: {metrics[name]}" for name in ("split", "n", "n_examples") if name in metrics]
    lines = ["; ".join([*shown, f"seed {metrics.get('seed')}"]), ""]
    lines += ["| score | " + " | ".join(name for name, _ in columns) + " |"]
    lines += ["|---" * (len(columns) + 1) + "|"]
    for name in names:
        cells = " | ".join(_cell(table, name) for _, table in columns)
        lines.append(f"| {name} | {cells} |")
    if any(f"{name}_low" in metrics for name in names):
        lines += ["", "In brackets: 95 % bootstrap interval over examples."]
    counts = {k: v for k, v in metrics.items() if k.startswith("n_") and k not in names}
    if counts:
        lines += ["", *(f"- {name}: {value}" for name, value in counts.items())]
    return lines


def _cell(table: dict, name: str) -> str:
    value = table.get(name)
    if value is None:
        return "–"
    low, high = (table.get(name + end) for end in ENDS)
    interval = f" ({low:.3f}–{high:.3f})" if low is not None and high is not None else ""
    return f"{value:.3f}{interval}"
