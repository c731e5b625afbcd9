"""What the layers of BigBird-ETC take of memory, for `models.memory`."""

from dna_bigbird.models.attention_cores import etc_pattern
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.global_types import NUM_TYPES

FLOAT32 = 4
"""Bytes."""


def layer_matrices(config: EncoderConfig) -> int:
    """Return the weights of the matrices of one layer."""
    h, etc = config.hidden_size, config.etc
    projections = {"qkv": 3, "kv": 6, "none": 10}[etc.sharing] + (1 if etc.shared_output else 2)
    feed_forward = 2 * h * config.ffn_size * (1 if etc.shared_ffn else 2)
    return projections * h * h + feed_forward


def layer_parameters(config: EncoderConfig) -> int:
    """Return the parameters of one layer, label tables and norms included."""
    h, f, etc = config.hidden_size, config.ffn_size, config.etc
    projections = {"qkv": 3, "kv": 6, "none": 10}[etc.sharing] * h * config.qkv_bias
    outputs = (1 if etc.shared_output else 2) * h * config.output_bias
    feed_forward = (f + h + 2 * h) * (1 if etc.shared_ffn else 2)
    labels = 2 * etc_pattern(etc).num_labels * (h + config.num_heads)
    return layer_matrices(config) + projections + outputs + feed_forward + labels + 4 * h


def embedding_parameters(config: EncoderConfig) -> int:
    """Return the parameters of the embeddings of global tokens."""
    return (NUM_TYPES + 2) * config.hidden_size


def kept_in_addition(config: EncoderConfig, num_tokens: int, value: int) -> float:
    """Return what a layer keeps in addition to one of block-sparse attention, in bytes per token.

    Scores of labels and the output of each softmax are in float32, and so is a copy of narrower queries.
    Keys and values of the other stream may be their own. Scores of labels between global tokens are a
    square, shared by all tokens.

    Args:
        value: Bytes of a number that a matrix product reads or gives.
    """
    h = config.hidden_size
    wide = FLOAT32 * h * (2 if value < FLOAT32 else 1)
    labels = FLOAT32 * config.num_heads * etc_pattern(config.etc).num_labels
    square = FLOAT32 * config.num_heads * num_tokens / config.etc.tokens_per_global**2
    return (
        wide
        + labels
        + square / tokens_of_both(config)
        + (2 * h * value if config.etc.sharing != "qkv" else 0)
    )


def tokens_of_both(config: EncoderConfig) -> float:
    """Return the tokens of both streams per long token."""
    return 1 + 1 / config.etc.tokens_per_global
