"""config.json of the library and our EncoderConfig."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from dna_bigbird.bundles.huggingface.tensor_names import FINE_TUNED, HEADS_OF_ARCHITECTURE
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.stored_settings import is_finite, settings_from

T = TypeVar("T")
MODEL_TYPE = "big_bird"
FIELDS = {
    "vocab_size": ("vocab_size", 50358),
    "hidden_size": ("hidden_size", 768),
    "num_layers": ("num_hidden_layers", 12),
    "num_heads": ("num_attention_heads", 12),
    "ffn_size": ("intermediate_size", 3072),
    "max_tokens": ("max_position_embeddings", 4096),
    "num_segments": ("type_vocab_size", 2),
    "block_size": ("block_size", 64),
    "num_random": ("num_random_blocks", 3),
    "dropout": ("hidden_dropout_prob", 0.1),
    "norm_eps": ("layer_norm_eps", 1e-12),
    "init_std": ("initializer_range", 0.02),
    "qkv_bias": ("use_bias", True),
    "scale_embeddings": ("rescale_embeddings", False),
}
"""Our field: the library's name, and what it means there if it is absent."""
ATTENTION = {"block_sparse": "bigbird", "original_full": "full"}
ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
}
"""Three names of one function; the first name of each is the one written."""
TOKEN_IDS = ("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id")
KEPT = ("hidden_act", "attention_probs_dropout_prob", *TOKEN_IDS)
"""Without a place in EncoderConfig; a converted bundle keeps them for the way back."""
ONLY = {
    "norm_first": (False, "its norms come after each sum"),
    "positions": ("learned", "it adds a table of positions to the embeddings"),
    "qk_norm": (False, "it has no norm of queries and keys"),
    "stem_width": (0, "it has no convolution"),
    "patch_tokens": (1, "it has no patches"),
    "word_memory": (0, "it has no memory of words"),
    "layer_skips": (False, "it has no skips between layers"),
    "value_embeddings": (False, "it adds nothing to its values"),
    "head_gates": (False, "it has no gates of heads"),
    "untied_head": (False, "its head for masked tokens is tied"),
    "logit_cap": (0.0, "it has no cap of logits"),
    "output_bias": (True, "its output projection has a bias"),
}
"""The only value of our fields that the library's BigBird has, and why."""


def encoder_config(config: Mapping[str, Any], plan: str | None, source: str) -> EncoderConfig:
    """Return our settings of the model of a config.json; without `plan` that of the library."""
    if (model_type := config.get("model_type")) != MODEL_TYPE:
        raise InputError(f"{source}: model_type is {model_type!r}; only {MODEL_TYPE} is read")
    check_class(config, source, (*HEADS_OF_ARCHITECTURE, *FINE_TUNED))
    attention_type = known_name(config, "attention_type", "block_sparse", ATTENTION, source)
    act = known_name(config, "hidden_act", "gelu_new", ACTIVATIONS, source)
    values = {ours: config.get(theirs, default) for ours, (theirs, default) in FIELDS.items()}
    values |= {"attention": ATTENTION[attention_type], "activation": ACTIVATIONS[act]}
    if attention_type == "block_sparse":
        # There the library leaves attention weights whole; the setting has no effect.
        values |= {"random_plan": plan or "huggingface", "attention_dropout": 0.0}
    elif plan is not None:
        raise InputError(
            f"--plan {plan}: attention_type is {attention_type}, which has no random blocks"
        )
    else:
        values["attention_dropout"] = config.get("attention_probs_dropout_prob", 0.1)
    return read_settings(EncoderConfig, values, source)


def read_settings(config_type: type[T], values: Mapping[str, Any], source: str) -> T:
    """Return settings of a config.json; InputError if a value is wrong."""
    try:
        return settings_from(config_type, values)
    except ValueError as error:
        raise InputError(f"{source}: {error}") from error


def known_name(
    config: Mapping[str, Any], name: str, default: str, known: Iterable[str], source: str
) -> str:
    """Return a setting of config.json that is one of several names."""
    value = config.get(name, default)
    if not isinstance(value, str) or value not in known:
        raise InputError(
            f"{source}: {name} is {shortened(ascii(value))}, not one of {', '.join(known)}"
        )
    return value


def check_numbers(config: Mapping[str, Any], names: Iterable[str], source: str) -> None:
    """Raise InputError if a setting that is kept has another value than a number."""
    for name in names:
        value = config.get(name)
        if value is not None and not is_finite(value):
            raise InputError(f"{source}: {name} is {shortened(ascii(value))}, expected a number")


def check_class(config: Mapping[str, Any], source: str, known: Sequence[str] = ()) -> None:
    """Raise InputError for a decoder, or for a class that is not known, if there are known ones."""
    for name in ("is_decoder", "add_cross_attention", "is_encoder_decoder"):
        if config.get(name):
            raise InputError(f"{source}: {name} is set; only encoders are read")
    known_name(config, "position_embedding_type", "absolute", ("absolute",), source)
    check_numbers(config, KEPT[1:], source)
    classes = config.get("architectures") or []
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise InputError(f"{source}: architectures is {classes!r}, expected a list of names")
    for name in classes if known else ():
        if name not in known:
            raise InputError(
                f"{source}: a {name}; only {', '.join(known)} are read: its head has no counterpart here"
            )


def class_of(config: Mapping[str, Any]) -> str | None:
    """Return the fine-tuned class that a config.json names, if it does."""
    names = config.get("architectures") or []
    return next((name for name in names if name in FINE_TUNED), None)


def label_names(config: Mapping[str, Any], count: int, source: str) -> list[str]:
    """Return the names of the classes of a classifier, as many as the weights have."""
    # A regression, or a classifier that gives several labels at once, has no task here.
    problem_type = config.get("problem_type")
    if problem_type not in (None, "single_label_classification") or count < 2:
        raise InputError(
            f"{source}: problem_type {problem_type!r} and {count} labels; only classifiers with one label per "
            "input, of at least two, are read"
        )
    names = config.get("id2label")
    if names is None:
        return [f"LABEL_{i}" for i in range(count)]
    if not isinstance(names, Mapping) or set(names) != {str(i) for i in range(count)}:
        raise InputError(f"{source}: id2label does not name 0 to {count - 1}, the weights' classes")
    labels = [names[str(i)] for i in range(count)]
    if not all(
        isinstance(label, str) and label.isprintable() and label.strip() for label in labels
    ):
        raise InputError(f"{source}: id2label holds something else than names")
    if len(set(labels)) < count:
        raise InputError(f"{source}: id2label gives two classes the same name")
    return labels


def required_heads(config: Mapping[str, Any], known_heads: set[str]) -> list[str]:
    """Return the heads of a checkpoint: those its class must have, and those it has."""
    named = [h for a in config.get("architectures") or [] for h in HEADS_OF_ARCHITECTURE.get(a, ())]
    heads = known_heads | set(named)
    everything = HEADS_OF_ARCHITECTURE["BigBirdForPreTraining"]
    return [head for head in everything if head in heads or "nsp" in heads]


def activation_name(encoder: EncoderConfig, kept: Mapping[str, Any]) -> str:
    """Return the library's name of an activation: the one that was kept, if it is that."""
    names = (kept.get("hidden_act"), *ACTIVATIONS)
    return next(name for name in names if ACTIVATIONS.get(name) == encoder.activation)


def library_config(
    encoder: EncoderConfig, name: str, token_ids: Mapping[str, int], kept: Mapping
) -> dict[str, Any]:
    """Return the contents of a config.json; what a converted bundle has kept goes first."""
    written = {
        "architectures": [name],
        "model_type": MODEL_TYPE,
        "attention_type": next(k for k, v in ATTENTION.items() if v == encoder.attention),
        "hidden_act": activation_name(encoder, kept),
        "attention_probs_dropout_prob": encoder.attention_dropout,
        **{theirs: getattr(encoder, ours) for ours, (theirs, _) in FIELDS.items()},
        **token_ids,
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
        "dtype": "float32",
    }
    if encoder.attention == "bigbird":
        written["attention_probs_dropout_prob"] = kept.get("attention_probs_dropout_prob", 0.0)
    return written | {name: kept[name] for name in TOKEN_IDS if name in kept}


OTHER_ATTENTION = {
    "etc": "it has no global stream",
    "longformer": "it has neither its window nor its global projections",
    "performer": "it has no random features",
}
"""Attention that the library's BigBird does not have, and why."""


def check_held(encoder: EncoderConfig, source: str) -> None:
    """Raise InputError, naming the setting, if the library's BigBird cannot hold the model."""
    other = not_held(encoder, ONLY)
    if why := OTHER_ATTENTION.get(encoder.attention):
        other.append(f"attention is {encoder.attention} ({why})")
    refuse(other, "BigBird", source)


def not_held(encoder: EncoderConfig, only: Mapping[str, tuple[object, str]]) -> list[str]:
    """Return the settings of an encoder that a model of the library does not have, and why."""
    other = [
        f"{name} is {getattr(encoder, name)} ({why})"
        for name, (value, why) in only.items()
        if getattr(encoder, name) != value
    ]
    if encoder.num_segments == 0:
        other.append("num_segments is 0 (it adds a row of the segment table to each token)")
    return other


def refuse(other: list[str], model: str, source: str) -> None:
    """Raise InputError if there is a setting that the library's model of a name does not have."""
    if other:
        raise InputError(
            f"{source}: the library's {model} cannot hold this model: {'; '.join(other)}. It stays a "
            "bundle: dna-bigbird embed, predict and the Python functions read it"
        )


def differences(encoder: EncoderConfig) -> list[str]:
    """Return what the library would compute differently; none means equal results."""
    changes = []
    if encoder.attention == "bigbird":
        for name, expected, why in (
            ("random_plan", "huggingface", "it draws its own random blocks, in training only"),
            ("window_blocks", 3, "its window is three blocks"),
            ("global_blocks", "first_last", "its global blocks are the first and the last"),
            ("attention_dropout", 0.0, "it leaves block-sparse attention weights whole"),
        ):
            value = getattr(encoder, name)
            if value != expected:
                changes.append(f"{name} {value} ({why})")
        if encoder.num_random == 0:
            changes.append("num_random 0 (it fails without random blocks)")
        if encoder.max_tokens % encoder.block_size:
            changes.append(
                f"max_tokens {encoder.max_tokens} (it pads to blocks of {encoder.block_size} and has "
                "no positions for them)"
            )
    return changes
