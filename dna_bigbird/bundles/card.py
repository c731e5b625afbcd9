"""The model card: README.md of a bundle."""

from collections.abc import Mapping, Sequence
from typing import Any

from dna_bigbird.bundles.card_scores import dna_scores, text_scores
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.metrics.scores import lacks_network, parts_in_words
from dna_bigbird.models.config import CPC, EncoderConfig
from dna_bigbird.models.label_types import MULTI_CLASS, RECORDED, REGRESSION, TRACKS
from dna_bigbird.models.read_text import CopiesConfig

# How cards describe an encoder.

GLOBAL_BLOCKS = {
    "first_last": "first and last block global",
    "first_two": "first two blocks global",
    "none": "no global block",
}
RANDOM_PLANS = {
    "uniform": "from the whole sequence",
    "original": "as the published code draws them",
    "huggingface": "as the Hugging Face library draws them in training (in evaluation it reads the "
    "first block instead)",
}
MOVED_PLANS = {
    "original": "as the published code draws them, those of the last block from the whole sequence",
    "huggingface": "as the Hugging Face library draws them in training, those of the last block from "
    "the whole sequence (in evaluation only the last block has random blocks)",
}
"""The same plans with the first two blocks global, which the published code does not have."""


def describe_encoder(encoder: EncoderConfig) -> str:
    """Return layers, width, attention and context in words."""
    where = "trained on" if encoder.reads_any_length else "over"
    return (
        f"{encoder.num_layers} layers of {encoder.num_heads} heads, hidden size "
        f"{encoder.hidden_size}, {attention_of(encoder)} {where} at most {encoder.max_tokens} tokens"
        + "".join(f", {setting}" for setting in own_settings(encoder))
    )


def own_settings(encoder: EncoderConfig) -> list[str]:
    """Return the settings that the paper's encoder does not have, in words.

    >>> own_settings(EncoderConfig(positions="rotary", stem_width=5))
    ['rotary positions', 'a convolution of 5 tokens on the embeddings']
    """
    width = encoder.stem_width
    settings = {
        "layer norms before the layers": encoder.norm_first,
        "rotary positions": encoder.positions == "rotary",
        "a norm of queries and keys": encoder.qk_norm,
        f"a convolution of {width} tokens on the embeddings": width > 0,
        f"{encoder.patch_tokens} tokens read as one by the layers": encoder.patch_tokens > 1,
        f"a memory of words of 2 to {encoder.word_tokens} tokens": encoder.word_memory > 0,
        "skips between layers": encoder.layer_skips,
        "value embeddings": encoder.value_embeddings,
        "gates of heads": encoder.head_gates,
        "an untied head for masked tokens": encoder.untied_head,
        f"logits of at most {encoder.logit_cap:g}": encoder.logit_cap > 0,
    }
    return [text for text, is_set in settings.items() if is_set]


def attention_of(encoder: EncoderConfig) -> str:
    """Return the attention in words."""
    if encoder.attention == "full":
        return "full attention"
    if encoder.attention == "etc":
        etc = encoder.etc
        return (
            f"BigBird-ETC attention (radius {etc.radius}, labels up to a distance of {etc.max_distance}, "
            f"a global token for each sentence or {etc.tokens_per_global} tokens)"
        )
    if encoder.attention == "longformer":
        return _longformer(encoder)
    if encoder.attention == "performer":
        return _performer(encoder)
    blocks, number = encoder.window_blocks, encoder.num_random
    window = f"window of {blocks} block{'s' if blocks > 1 else ''}" if blocks else "no window"
    is_moved = encoder.random_plan in MOVED_PLANS and encoder.global_blocks == "first_two"
    plan = (MOVED_PLANS if is_moved else RANDOM_PLANS)[encoder.random_plan]
    randoms = f"{number} random block{'s' if number > 1 else ''} {plan}"
    return (
        f"block-sparse attention (blocks of {encoder.block_size} tokens; {window}, "
        f"{GLOBAL_BLOCKS[encoder.global_blocks]}, {randoms if number else 'no random block'})"
    )


def _longformer(encoder: EncoderConfig) -> str:
    own = encoder.longformer
    windows = sorted({own.window_of(layer) for layer in range(encoder.num_layers)})
    tokens = (
        " to ".join(str(n) for n in dict.fromkeys((windows[0], windows[-1]))) if windows else "0"
    )
    dilated = f", dilations up to {max(own.dilations)}" if max(own.dilations, default=1) > 1 else ""
    projections = "" if own.separate_global else " without projections of their own"
    return (
        f"Longformer attention (a window of {tokens} tokens on either side{dilated}; global tokens"
        f"{projections})"
    )


def _performer(encoder: EncoderConfig) -> str:
    own = encoder.performer
    features = f"{own.num_features} " if own.num_features else ""
    interval = own.redraw_interval
    redrawn = (
        f"redrawn every {interval} forward passes of training" if interval else "never redrawn"
    )
    random = "identity features" if own.rows == "identity" else f"random features, {redrawn}"
    return f"Performer attention ({features}{random}; {own.kernel} kernel)"


SEMI_SYNTHETIC = (
    "> **Semi-synthetic.** Real hg19 background with planted sequence features and labels derived "
    "from them. The scores show that the pipeline works; they say nothing about biology."
)
DNA_PRETRAINING_LIMITS = (
    "It predicts masked pieces of DNA and is the start of fine-tuning; it predicts no labels.",
    "Bits per base of masked tokens (both sides seen) and of causal n-grams (left side only) answer "
    "different questions and cannot be ranked together.",
)
DNA_LIMITS = (
    "Research use only; not a medical device.",
    "Scores hold for windows made like those of its test set; other assemblies, species, window "
    "sizes or ways to choose negatives were not tested.",
)
TEXT_PRETRAINING_LIMITS = (
    "It fills masked pieces of text and is the start of fine-tuning; it answers no questions.",
)
TEXT_LIMITS = (
    "Scores hold for text like that of its validation or test set; other domains and languages were "
    "not tested.",
)
DIRECTION = (
    "trained on the strand of each label only; `--strand both` gives the higher probability of the two "
    "strands, and test scores are of the strand that the set gives"
)
NAMED_LABELS = 12
SEQUENCES = "sequence"
"""Task of the sets of `dna-bigbird sequence-set`."""


def is_semi_synthetic(assembly: str) -> bool:
    """Return True if data on this assembly come from the demo."""
    return assembly.startswith("demo")


def model_card(
    config: BundleConfig | Mapping[str, Any], metrics: Metrics | Mapping[str, Any]
) -> str:
    """Return the card of a bundle: what it is, data, settings, scores with baselines, limits."""
    config, metrics = BundleConfig.from_json(config), Metrics.from_json(metrics)
    is_text = config.reads == "text"
    lines = [f"# BigBird for {'text' if is_text else 'DNA'}: {config.task}", ""]
    if config.semi_synthetic:
        lines += [SEMI_SYNTHETIC, ""]
    what, facts = (_text_model, _text_facts) if is_text else (_dna_model, _dna_facts)
    lines += [what(config, metrics), "", "## Settings" if is_text else "## Data and settings", ""]
    lines += [f"- {name}: {x}" for name, x in facts(config).items() if x not in (None, "")]
    scores = text_scores(metrics) if is_text else dna_scores(config, metrics)
    lines += ["", "## Scores", "", *scores, "", "## Limits", ""]
    return "\n".join([*lines, *(f"- {limit}" for limit in _limits(config))]) + "\n"


def _limits(config: BundleConfig) -> tuple[str, ...]:
    if config.reads == "text":
        return TEXT_PRETRAINING_LIMITS if config.is_pretrained_only else TEXT_LIMITS
    return DNA_PRETRAINING_LIMITS if config.is_pretrained_only else DNA_LIMITS


def _copies(config: CopiesConfig | None) -> str:
    if config is None:
        return ""
    inputs = " What is found is an input of the network." if config.input_size else ""
    gate = " A gate weighs network and copies." if config.hidden_size else ""
    return (
        " For masked tokens it also copies: what is shown around a token is looked up in the training text, "
        f"which is part of the bundle.{inputs}{gate} Embeddings do not read the copies."
    )


def _dna_model(config: BundleConfig, metrics: Metrics) -> str:
    encoder = describe_encoder(config.encoder)
    if config.is_pretrained_only:
        more = {
            "nsp": " and to predict whether one stretch of sequence follows another",
            CPC: " and to find the true sequence of hidden stretches among others",
        }
        also = "".join(text for head, text in more.items() if head in config.heads)
        what = f"A BigBird encoder for DNA, trained to fill masked tokens{also}: {encoder}."
        return what + _copies(config.copies)
    labels = config.label_names
    more = len(labels) - NAMED_LABELS
    names = ", ".join(labels[:NAMED_LABELS]) + (f" and {more} more" if more > 0 else "")
    members = f"mean over {config.members} independently trained models of "
    plural = "s" if len(labels) > 1 else ""
    what = {
        MULTI_CLASS: f"the probabilities of {len(labels)} classes ({names}), which add up to 1,",
        REGRESSION: f"{len(labels)} number{plural} ({names})",
        TRACKS: f"the value of {len(labels)} track{plural} ({names}) in bins of {config.bin_bp} bp",
    }.get(config.label_type, f"the probability of {len(labels)} label{plural} ({names})")
    most = "sequences of at most" if config.task == SEQUENCES else "a window of"
    return (
        f"Predicts {what} for {most} {config.window_bp:,} bp of DNA: "
        f"{members if config.members is not None else ''}{encoder}.{_kmers(config, metrics)}"
    )


def _kmers(config: BundleConfig, metrics: Metrics) -> str:
    """Return what a model has next to its network, and the weights of its parts."""
    words = config.words
    if words is None:
        added = " To the logits of some members those of a regression on counts in the window are added."
        return added if config.has_counts else ""
    if words.around_bp:
        return (
            f" To the output of every bin those of small networks are added: on the counts of all k-mers of 1 to {words.max_k} "
            f"bases up to {max(words.around_bp):,} bp from the bin, and on the best matches of {words.filters} filters."
        )
    where = f"the window and its central {words.centre_bp} bp" if words.centre_bp else "the window"
    parts = []
    if words.max_k:
        parts.append(f"the counts of all k-mers of 1 to {words.max_k} bases in {where}")
    if words.positions:
        parts.append("the base at each position and 3-mers in parts of the window")
    weights = parts_in_words(metrics.scores)
    if lacks_network(metrics.scores):
        return (
            f" **Its network has weight 0: the model is the regression on {' and '.join(parts)} "
            f"alone** ({weights})."
        )
    added = f" ({weights})" if weights else ""
    return f" To its logits those of a regression on {' and '.join(parts)} are added{added}."


def _text_model(config: BundleConfig, metrics: Metrics) -> str:
    encoder = describe_encoder(config.encoder)
    if config.is_pretrained_only:
        return f"A BigBird encoder for text, trained to fill masked tokens: {encoder}."
    labels = config.label_names
    names = ", ".join(labels[:NAMED_LABELS]) + (" …" if len(labels) > NAMED_LABELS else "")
    classes = f" Classes: {names}." if labels else ""
    return f"BigBird fine-tuned on {config.set_name or config.task}: {encoder}.{classes}"


def _training_facts(config: BundleConfig) -> dict[str, object]:
    return {
        "weights at the start": config.initial_weights,
        "optimizer steps": config.training.max_steps,
        "step chosen on validation": config.chosen_step,
        "examples per step": config.examples_per_step,
        "largest learning rate": config.training.learning_rate,
        "warm-up steps": config.training.warmup_steps,
    }


def _text_facts(config: BundleConfig) -> dict[str, object]:
    options = {} if config.options is None else vars(config.options)
    return _training_facts(config) | {
        "dropout": config.encoder.dropout,
        "vocabulary": config.encoder.vocab_size,
        "options": ", ".join(f"{name} {value}" for name, value in options.items()),
        "seed": config.seed,
    }


def _seen_regions(config: BundleConfig) -> str:
    """Return what the model has read, training by training, and how many sequences it remembers."""
    if config.regions_read is None:
        parts = ["unknown"]
    else:
        parts = [record.sentence() for record in config.regions_read]
    count = config.n_sequences_read
    hashes = [f"{count:,} sequences without coordinates are remembered by hash"] * (count > 0)
    return "; ".join([*parts, *hashes])


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


def _dna_facts(config: BundleConfig) -> dict[str, object]:
    members = (
        f"seed {member.seed}, step {member.chosen_step}, weights {member.sha256[:12]}"
        for member in config.member_models
    )
    weight = None if config.is_pretrained_only else config.training.positive_weight
    return {
        "assembly": config.assembly or "unknown",
        "negatives": config.negatives,
        "direction": DIRECTION if config.directional else None,
        "regions read": _seen_regions(config),
        "members": "; ".join(members),
        **_training_facts(config),
        "recipes tried on validation rows": len(config.search) or None,
        "weight of positives": None if config.label_type in RECORDED else weight,
        "mean of the targets in training": _numbers(config.target_means),
        "standard deviation of the targets in training": _numbers(config.target_stds),
        "weight of next-sentence prediction": config.objective.get("nsp_weight"),
        "weight of soft-masked bases in training": config.objective.get("repeat_weight"),
        "share of training examples around sites": config.objective.get("sites_share"),
        "share of hidden sentences (CPC) in the loss": (config.objective.get("cpc") or {}).get(
            "weight"
        ),
        "models that it learned from": config.objective.get("teachers"),
        "dropout": config.encoder.dropout,
        "vocabulary": config.encoder.vocab_size,
        "base pairs per token of the training text": config.bp_per_token,
        "tokens per example of pretraining": config.tokens_per_example,
        "seed": config.seed,
    }
