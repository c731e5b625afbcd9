"""How much memory a pretraining step takes on one device: an estimate from the settings alone.

It counts what is in memory when the backward pass begins, which is the peak:

* states, for each parameter: weight, gradient and the optimizer's state in float32 (two moments of
  Adam, one of Muon), a bfloat16 copy of the weight under autocast, and a second gradient for the
  exchange where there are several processes. Without accumulation there are no gradients yet when
  the backward pass begins, but for the copy of the exchange;
* activations, which autograd keeps from the forward pass. Of a layer, for each token: the inputs of
  its four dense layers, queries, keys, values and output of attention, the input of GELU, the sums
  before its two LayerNorms in float32, and the masks of dropout; with gradient checkpointing only
  the layer's input;
* logits of the predicted tokens: log-probabilities and two gradients of that size, in float32; or,
  with gradient checkpointing, one layer as it is computed again with the gradients on both sides of
  its GELU, if that is more.

Of Longformer one global token is assumed.

The backend `gather`, which `auto` is on a GPU before anything was measured, also keeps the keys and
values that each query block reads, some 8 times as many as there are; the others do not. Not counted: the
runtime of CUDA and NCCL, workspaces of kernels, and what fragmentation wastes.
"""

from dataclasses import dataclass

import torch

from dna_bigbird.attention.cores.performer import default_features
from dna_bigbird.core.limits import check_memory
from dna_bigbird.models.attention_config import NUM_TYPES
from dna_bigbird.models.attention_cores import block_core, etc_pattern
from dna_bigbird.models.config import EncoderConfig

FLOAT32, BFLOAT16 = 4, 2
"""Bytes."""

# --- What the layers of BigBird-ETC take of memory ---


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
    """Return what a layer keeps beyond one of block-sparse attention, in bytes per token."""
    # Scores of labels and the output of each softmax are in float32, and so is a copy of narrower queries.
    # Keys and values of the other stream may be their own. Scores of labels between global tokens are a
    # square, shared by all tokens. `value` is the bytes of a number that a matrix product reads or gives.
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


# --- What layers of Longformer and of the Performer keep more than block-sparse ones, for `models.memory` ---


def longformer_kept(config: EncoderConfig, num_tokens: int, value: int) -> float:
    """Return what a layer of Longformer keeps in addition, in bytes per token."""
    # The output of all heads is also kept in the order of the tokens. Of the global projections, with one
    # global token: two matrices per sequence that replace keys and values, and with narrow products the
    # states in both types; with rotary positions or `qk_norm` keys and values.
    h, is_narrow = config.hidden_size, value < FLOAT32
    kept = value * h
    if not config.longformer.separate_global:
        return kept
    if is_narrow:
        kept += (FLOAT32 + value) * h
    has_plain_keys = config.positions != "rotary" and not config.qk_norm
    has_plain_keys = has_plain_keys and not config.value_embeddings
    if has_plain_keys:
        return kept + 2 * value * h * h / num_tokens
    kept += 3 * value * h  # the product, and the keys after it
    if config.qk_norm:
        kept += FLOAT32 * h * (1 + is_narrow)
    return kept


def performer_kept(config: EncoderConfig, num_tokens: int, value: int) -> float:
    """Return what a layer of the Performer keeps in addition, in bytes per token."""
    # The sums over keys of a sequence, in float32. Values are copied, so the product that they come from
    # is not kept with rotary positions or `qk_norm`.
    h, D = config.hidden_size, config.hidden_size // config.num_heads
    own = config.performer
    num_features = D if own.rows == "identity" else own.num_features or default_features(D)
    sums = FLOAT32 * num_features * (h + config.num_heads) / num_tokens
    if config.qk_norm and value == FLOAT32:  # the norms keep the product
        return sums + h * value
    is_changed = config.positions == "rotary" or config.qk_norm
    return sums - 2 * h * value * is_changed


IN_ADDITION = {
    "etc": kept_in_addition,
    "longformer": longformer_kept,
    "performer": performer_kept,
}
"""What an attention without blocks keeps in addition."""


@dataclass(frozen=True)
class StepMemory:
    """Bytes on one device."""

    weights: int
    gradients: int
    """That are there when the backward pass begins, with the copies for an exchange."""
    optimizer: int
    copies: int
    """Of the weights in bfloat16."""
    activations: int
    logits: int
    recomputed: int = 0
    """One layer computed again with gradient checkpointing, when the logits are gone."""
    averaged: int = 0
    """Of the mean of the weights (EMA, SWA)."""

    @property
    def states(self) -> int:
        """Return the bytes that do not depend on the batch."""
        return self.weights + self.gradients + self.optimizer + self.copies + self.averaged

    @property
    def total(self) -> int:
        """Return the estimated peak in bytes."""
        peak = self.states + self.activations + max(self.logits, self.recomputed)
        # At its end all gradients are there, each as large as its weight.
        return max(peak, 2 * self.weights + self.optimizer + self.averaged)


def pretraining_parameters(config: EncoderConfig) -> int:
    """Return the parameters of a `PretrainingModel` with all its heads, of BigBird-ETC with mlm and cpc."""
    h, f = config.hidden_size, config.ffn_size
    attention = 4 * h * h + 3 * h * config.qkv_bias + h * config.output_bias
    attention += 2 * (h // config.num_heads) * config.qk_norm
    if has_global_projections(config):
        attention += 3 * h * h + 3 * h * config.qkv_bias
    attention += config.value_embeddings * (h * h + 1)
    attention += config.head_gates * (h + 1) * config.num_heads
    layer = attention + 2 * h * f + f + h + 4 * h
    positions = config.max_tokens if config.has_position_table else 0
    embeddings = (config.vocab_size + positions + config.num_segments) * h + 2 * h
    embeddings += config.untied_head * config.vocab_size * h
    embeddings += config.layer_skips * (config.num_layers // 2)
    if config.stem_width:
        embeddings += config.stem_width * h * h + h
    if config.word_memory:
        embeddings += config.word_memory * h + h * h + h
    if config.attention == "etc":
        layer = layer_parameters(config)
        embeddings += embedding_parameters(config)
        cpc = 2 * (h * h + h)
        return config.num_layers * layer + embeddings + h * h + 3 * h + config.vocab_size + cpc
    if config.patch_tokens > 1:
        embeddings += config.patch_tokens * (h * h + h)
    mlm, pooler, nsp = h * h + 3 * h + config.vocab_size, h * h + h, 2 * h + 2
    return config.num_layers * layer + embeddings + mlm + pooler + nsp


def check_weights_fit(config: EncoderConfig) -> None:
    """Raise InputError if the weights of a model do not fit into the memory that is free."""
    # Before any layer is built. On the device `meta` weights take none.
    if torch.get_default_device().type != "meta":
        sizes = ("num_layers", "hidden_size", "ffn_size", "vocab_size", "max_tokens")
        options = " ".join(f"--model.{name} {getattr(config, name)}" for name in sizes)
        check_memory(options, FLOAT32 * pretraining_parameters(config))


def muon_parameters(config: EncoderConfig) -> int:
    """Return the weights of the matrices of the layers that Muon updates: all but those of gates."""
    h, f = config.hidden_size, config.ffn_size
    if config.attention == "etc":
        return config.num_layers * layer_matrices(config)
    projections = 7 if has_global_projections(config) else 4
    projections += config.value_embeddings
    return config.num_layers * (projections * h * h + 2 * h * f)


def has_global_projections(config: EncoderConfig) -> bool:
    """Return True if global tokens have projections of their own (Longformer)."""
    return config.attention == "longformer" and config.longformer.separate_global


def optimizer_bytes(config: EncoderConfig, optimizer: str) -> int:
    """Return the bytes of the optimizer's state; Adafactor's rows and columns are few."""
    if optimizer == "adafactor":
        return 0
    with_one_moment = muon_parameters(config) if optimizer == "muon" else 0
    return FLOAT32 * (2 * pretraining_parameters(config) - with_one_moment)


def gathered(config: EncoderConfig, num_tokens: int) -> float:
    """Return how many copies of a token's key the backend `gather` makes, on average."""
    pattern = block_core(config, 0).pattern(num_tokens)
    if pattern.covers_everything:
        return 0.0
    return int((pattern.key_blocks[0] >= 0).sum()) / pattern.num_blocks


def bytes_of(precision: str) -> int:
    """Return the bytes of a number that a matrix product reads or gives."""
    return BFLOAT16 if precision == "bf16-mixed" else FLOAT32


def layer_bytes(
    config: EncoderConfig, num_tokens: int, *, precision: str, device: str, backend: str
) -> float:
    """Return what autograd keeps of one encoder layer, in bytes per token."""
    h, f = config.hidden_size, config.ffn_size
    value = bytes_of(precision)
    # A CPU keeps the factors of dropout as numbers, CUDA one byte each.
    mask = (1 if device == "cuda" else value) if config.dropout else 0
    inputs = 2 * h + f  # of the projections to q, k and v, of the two dense layers after attention
    attention = 4 * h  # q, k, v and the output, which is the input of the last projection
    if backend == "gather" and config.has_blocks and (copies := gathered(config, num_tokens)):
        attention += 2 * h + 2 * h * copies  # queries and output again; keys and values
    if config.positions == "rotary" or config.qk_norm:
        attention += 2 * h  # the values keep the whole product, queries and keys are new ones
    norms = 2 * (FLOAT32 * h + 2 * FLOAT32)  # the sum, its mean and its deviation
    sums = FLOAT32 * config.num_heads  # logarithm of each row's denominator
    if config.qk_norm:  # queries and keys in float32, and divided by their root mean square
        norms += 2 * FLOAT32 * h * (1 + (value == BFLOAT16))
    if config.value_embeddings:  # the sum, what is added, and a narrow copy of what is mapped
        attention += (2 + (value == BFLOAT16)) * h
    if config.head_gates:  # the product, and what is multiplied
        attention += h + 2 * config.num_heads
    kept = value * (inputs + attention + f) + 2 * mask * h + norms + sums
    in_addition = IN_ADDITION.get(config.attention)
    return kept if in_addition is None else kept + in_addition(config, num_tokens, value)


def pretraining_memory(
    config: EncoderConfig,
    *,
    batch_size: int,
    predicted: int,
    num_tokens: int = 0,
    precision: str = "bf16-mixed",
    device: str = "cuda",
    backend: str = "gather",
    processes: int = 1,
    optimizer: str = "adamw",
    accumulates: bool = True,
    averages: bool = False,
) -> StepMemory:
    """Return the estimated peak memory of one pretraining step on one device.

    Args:
        predicted: Masked tokens of the whole micro-batch.
        num_tokens: Tokens of each sequence; by default `max_tokens`.
        backend: 'gather', or any other.
        processes: Of the whole run; above 1 each has a copy of the gradients to exchange.
        accumulates: Whether a step has several micro-batches: gradients of the first ones are there
            when the backward pass of the next begins.
        averages: Whether a mean of the weights is kept.

    Example:
        >>> base = EncoderConfig()
        >>> for backend in ("gather", "flex"):
        ...     step = pretraining_memory(base, batch_size=32, predicted=32 * 614, backend=backend)
        ...     print(f"{step.total / 1e9:.1f} GB")
        98.2 GB
        56.1 GB
    """
    num_tokens = num_tokens or config.max_tokens
    tokens = batch_size * num_tokens
    value = bytes_of(precision)
    parameters = pretraining_parameters(config)
    patches = -(-num_tokens // config.patch_tokens)
    layer = layer_bytes(config, patches, precision=precision, device=device, backend=backend)
    layer *= patches / num_tokens
    if config.attention == "etc":
        tokens *= tokens_of_both(config)
    is_recomputed = config.gradient_checkpointing
    kept = config.num_layers * (FLOAT32 * config.hidden_size if is_recomputed else layer)
    # The sum of the embeddings and its dropout, and the neighbours that the stem reads.
    mask = (1 if device == "cuda" else FLOAT32) if config.dropout else 0
    embedded = (FLOAT32 + mask + value * config.stem_width) * config.hidden_size
    embedded += FLOAT32 * config.hidden_size * config.value_embeddings
    if config.word_memory:  # rows of the words; the sum, normed, what was read, and its product
        embedded += 2 * (config.word_tokens - 1) * 8
        embedded += (3 * FLOAT32 + value + value * (value == BFLOAT16)) * config.hidden_size
    return StepMemory(
        weights=FLOAT32 * parameters,
        gradients=FLOAT32 * (accumulates + (processes > 1)) * parameters,
        optimizer=optimizer_bytes(config, optimizer),
        copies=value * (value == BFLOAT16) * parameters,
        activations=int(tokens * (kept + embedded)),
        logits=3 * FLOAT32 * predicted * config.vocab_size,
        recomputed=int(tokens * (layer + 2 * value * config.ffn_size) * is_recomputed),
        averaged=FLOAT32 * averages * parameters,
    )
