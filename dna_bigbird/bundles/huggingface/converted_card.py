"""README files of converted models."""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any

import yaml

from dna_bigbird.bundles.card import attention_of
from dna_bigbird.bundles.card_scores import headline_names
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.text_config import SpanHead

# YAML metadata at the top of README.md of a folder for the Hugging Face library, as its hub reads them.

UNKNOWN = "unknown"
"""Identifier of the hub for a licence that nobody has stated."""
PIPELINES = {
    "ForPreTraining": "fill-mask",
    "ForMaskedLM": "fill-mask",
    "ForSequenceClassification": "text-classification",
    "ForQuestionAnswering": "question-answering",
    "ForConditionalGeneration": "summarization",
}
"""Task of the hub by the end of the library's class; without a head it is FEATURES."""
FEATURES = "feature-extraction"
TAGS = {"dna": ("dna", "genomics", "biology"), "text": ("long-documents",)}
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def checked_license(identifier: str) -> str:
    """Return an identifier of a licence, in the form of the hub."""
    if not _LICENSE.fullmatch(identifier):
        raise InputError(
            f"--license: found {identifier!r}; expected an identifier of the hub in lower case, such as "
            "apache-2.0, mit, cc-by-4.0 or other"
        )
    return identifier


def front_matter(
    config: BundleConfig, metrics: Metrics, written: dict[str, Any], license: str, is_same: bool
) -> str:
    """Return the block between `---` lines, with scores if they hold in the library (`is_same`)."""
    values: dict[str, Any] = {
        "license": checked_license(license),
        "library_name": "transformers",
        "pipeline_tag": pipeline_of(written["architectures"][0]),
        "tags": [*TAGS.get(config.reads, ()), written["model_type"], "dna-bigbird"],
    }
    scores = _scores(config, metrics)
    if scores and is_same and not config.lengthened and metrics.n and metrics.split:
        name = f"dna-bigbird-{config.task}"
        result = {
            "task": {"type": values["pipeline_tag"]},
            "dataset": {"type": _set_of(config), "name": _rows(config, metrics)},
            "metrics": scores,
        }
        values["model-index"] = [{"name": name, "results": [result]}]
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{text}---\n\n"


def pipeline_of(architecture: str) -> str:
    """Return the hub's task of a class of the library."""
    return next((task for end, task in PIPELINES.items() if architecture.endswith(end)), FEATURES)


def _scores(config: BundleConfig, metrics: Metrics) -> list[dict[str, Any]]:
    """Return the measured scores with their intervals."""
    scores = []
    for name in headline_names(config, metrics):
        value, low, high = metrics.score(name)
        if not isinstance(value, int | float) or not isfinite(value):
            continue
        is_interval = low is not None and high is not None
        shown = f"{name}, 95 % interval {low} to {high}" if is_interval else name
        scores.append({"type": name, "name": shown, "value": value})
    return scores


def _set_of(config: BundleConfig) -> str:
    return config.set_name or config.assembly or config.reads


def _rows(config: BundleConfig, metrics: Metrics) -> str:
    """Return what was scored, in words."""
    parts = [_set_of(config), f"{metrics.split} split", f"n = {metrics.n}"]
    parts += [f"seed {metrics.seed}"] if metrics.seed is not None else []
    return ", ".join(parts + ["semi-synthetic"] * config.semi_synthetic)


ATTENTION = {
    "huggingface": "what the library itself uses: random blocks while training, the first block "
    "instead of them in evaluation",
    "original": "the published plan, the same in training and evaluation; the library does not "
    "compute this",
    "uniform": "random blocks from the whole sequence, the same in training and evaluation; the "
    "library does not compute this",
}


def converted_card(config: BundleConfig) -> str:
    """Return the README.md of a bundle made from a folder of the library."""
    encoder = config.encoder
    blocks = (
        attention_of(encoder)
        if encoder.attention != "bigbird"
        else f"block-sparse attention, blocks of {encoder.block_size} tokens, "
        f"{encoder.num_random} random ones; {ATTENTION[encoder.random_plan]}"
    )
    lines = [
        f"# {_family(encoder)} for {'DNA' if config.reads == 'dna' else config.reads}: converted",
        "",
        "Weights, settings and vocabulary of a Hugging Face folder, unchanged.",
        "",
        f"- architecture: {encoder.num_layers} layers of {encoder.num_heads} heads, hidden size "
        f"{encoder.hidden_size}, at most {encoder.max_tokens} tokens",
        f"- attention: {blocks}",
        f"- heads: {', '.join(config.heads) or 'none'}"
        if config.task == "pretraining"
        else f"- fine-tuned: {config.task} {', '.join(config.label_names)}".rstrip(),
        f"- vocabulary: {encoder.vocab_size} entries",
        "",
        "What it was trained on, and how well it does, is for its origin to say: nothing was measured here.",
    ]
    return "\n".join(lines) + "\n"


FIRST_TOKEN = (
    "The first token of a row is global in the bundle; the library needs `global_attention_mask` for it (1 "
    "for that token, 0 for the others), in `generate`, too. With this mask it computes the same logits."
)
QUESTIONS = (
    "The first token, the question and its separator are global in the bundle; the library needs "
    "`global_attention_mask` for them (1 for these tokens, 0 for the others). With this mask it computes the same "
    "logits."
)
"""What a folder of a Longformer says about its global tokens."""


def library_card(source_card: str, differences: Sequence[str], config: BundleConfig) -> str:
    """Return the README.md of a folder for the library: what differs there, then the bundle's own."""
    notice = ["This folder was written by `dna-bigbird convert` for the Hugging Face library."]
    if differences:
        notice += ["", "**The library computes something else than the bundle did:**", ""]
        notice += [f"- {difference}" for difference in differences]
    elif config.encoder.attention == "longformer":
        notice += [QUESTIONS if isinstance(config.head, SpanHead) else FIRST_TOKEN]
    else:
        notice += ["The library computes the same hidden states and logits as the bundle."]
    return "\n".join(notice) + "\n\n---\n\n" + source_card


def _family(encoder: EncoderConfig) -> str:
    return "Longformer" if encoder.attention == "longformer" else "BigBird"
