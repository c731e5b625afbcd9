"""The model card (README.md of a bundle), and the final bundle with a model's test scores."""

import os
import shutil
from pathlib import Path

from dna_bigbird.bundles.bundle import FILES, PRETRAINING, check_output, to_json
from dna_bigbird.bundles.card_encoder import size_in_words
from dna_bigbird.bundles.card_scores import score_lines
from dna_bigbird.bundles.text_card import text_card
from dna_bigbird.corpus.tokenizer_files import TOKENIZER_FILES
from dna_bigbird.writing import atomic_directory

SEMI_SYNTHETIC = (
    "> **Semi-synthetic.** Real hg19 background with planted sequence features and labels derived "
    "from them. The scores show that the pipeline works; they say nothing about biology."
)
PRETRAINING_LIMITS = (
    "It predicts masked pieces of DNA and serves as the start of fine-tuning; by itself it labels nothing.",
    "Bits per base of masked tokens (both sides seen) and of causal n-grams (left side only) answer "
    "different questions; they stand side by side, not in one ranking.",
)
LABEL_LIMITS = (
    "Research use only; not a medical device.",
    "Scores hold for windows made like those of its test set; other assemblies, species, window "
    "sizes or ways to choose negatives were not tested.",
)


def is_semi_synthetic(assembly: str) -> bool:
    """Tell whether data on this assembly come from the demo."""
    return assembly.startswith("demo")


def model_card(config: dict, metrics: dict) -> str:
    """Return the card of a bundle: what it is, data, settings, scores beside baselines, limits.

    Args:
        config: As given to `save_bundle` (plain values or settings dataclasses).
        metrics: As written to metrics.json.
    """
    task = config["task"]
    if config.get("reads") == "text":
        return text_card(config, metrics)
    lines = [f"# BigBird for DNA: {task}", ""]
    if config.get("semi_synthetic"):
        lines += [SEMI_SYNTHETIC, ""]
    lines += [_what(config), "", "## Data and settings", ""]
    lines += [f"- {name}: {value}" for name, value in _facts(config)]
    lines += ["", "## Scores", "", *score_lines(config, metrics), "", "## Limits", ""]
    limits = PRETRAINING_LIMITS if task == PRETRAINING else LABEL_LIMITS
    lines += [f"- {limit}" for limit in limits]
    return "\n".join(lines) + "\n"


def write_scored_bundle(trained: Path, output: Path, metrics: dict, card: str) -> None:
    """Write a bundle with the weights, config and tokenizer of another one and new scores.

    Weights are hard-linked where the file system allows, else copied.
    """
    check_output(output)
    with atomic_directory(output) as partial:
        tokenizer = (*TOKENIZER_FILES, "special_tokens_map.json")
        for name in (*FILES, *(name for name in tokenizer if (Path(trained) / name).is_file())):
            if name == "metrics.json":
                (partial / name).write_text(to_json(metrics))
            elif name == "README.md":
                (partial / name).write_text(card)
            else:
                _link_or_copy(Path(trained) / name, partial / name)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _what(config: dict) -> str:
    encoder = _plain(config["encoder"])
    size = size_in_words(encoder)
    if config["task"] == PRETRAINING:
        return (
            "A BigBird encoder for DNA, trained to fill masked tokens and to tell whether one "
            f"stretch of sequence follows another: {size}."
        )
    labels = config["label_names"]
    named = ", ".join(labels[:12]) + (f" and {len(labels) - 12} more" if len(labels) > 12 else "")
    joined = (
        f"mean over {config['members']} independently trained models of "
        if "members" in config
        else ""
    )
    return (
        f"Gives a window of {config['window_bp']:,} bp of DNA the probability of {len(labels)} "
        f"label{'s' if len(labels) > 1 else ''} ({named}): {joined}{size}."
    )


def _members(config: dict) -> str:
    """Say of each member of an ensemble what sets it apart."""
    return "; ".join(
        f"seed {member.get('seed')}, step {member.get('chosen_step')}, "
        f"weights {member['sha256'][:12]}"
        for member in config.get("member_models", [])
    )


def _facts(config: dict) -> list[tuple[str, object]]:
    training = _plain(config.get("training", {}))
    pretraining = config["task"] == PRETRAINING
    rows = [
        ("assembly", config.get("assembly") or "unknown"),
        ("negatives", config.get("negatives")),
        ("members", _members(config)),
        ("weights at the start", config.get("initial_weights")),
        ("optimizer steps", training.get("max_steps")),
        ("step chosen on validation", config.get("chosen_step")),
        ("examples a step", config.get("examples_per_step")),
        ("largest learning rate", training.get("learning_rate")),
        ("warm-up steps", training.get("warmup_steps")),
        ("weight of positives", None if pretraining else training.get("positive_weight")),
        ("dropout", _plain(config["encoder"]).get("dropout")),
        ("vocabulary", _plain(config["encoder"]).get("vocab_size")),
        ("base pairs per token of the training text", config.get("bp_per_token")),
        ("seed", config.get("seed")),
    ]
    return [(name, value) for name, value in rows if value not in (None, "")]


def _plain(settings: object) -> dict:
    return settings if isinstance(settings, dict) else vars(settings)
