"""How many operations a model's definition asks for: what utilisation is measured by.

Counted are matrix products, a multiplication and an addition as two operations:

* dense layers of the encoder: 2 * weights, for each token;
* attention: 4 * head dimension, for each head and pair of a query and a key that its block reads
  (scores, and the weighted sum), a ragged last block as a whole one; with BigBird-ETC for each pair
  that is read, and 2 * head dimension for each query and label; with Longformer for each pair that is
  read if the first token is global, whose own projections read states; with the Performer
  (8 * head dimension + 2) * features for each head and token (its query and key, both sums);
* the head for masked tokens: 2 * (hidden size + vocabulary) * hidden size, for each predicted
  token;
* the other heads: 2 * weights, for each sequence.

Padding, what a backend computes in vain, norms, activations and recomputation are not counted, and
the backward pass as twice the forward one.
"""

from collections.abc import Sequence

import numpy as np
from torch import nn

from dna_bigbird.attention.patterns import BlockPattern
from dna_bigbird.models.attention_cores import etc_pattern
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.etc_encoder import EtcEncoder


def block_pairs(pattern: BlockPattern) -> int:
    """Return how many (query block, key block) pairs all heads together compute."""
    listed = int((pattern.key_blocks >= 0).sum())
    return listed + int(pattern.is_global.sum()) * pattern.num_blocks * pattern.num_heads


def etc_pairs(config: EncoderConfig, num_long: int, num_global: int) -> int:
    """Return how many pairs of a query and a key each head of a layer of BigBird-ETC reads."""
    settings = config.etc
    size, reach = (
        (settings.radius, 1) if settings.local_mode == "three_blocks" else (1, settings.radius)
    )
    at = np.arange(num_long) // size
    ends = np.minimum((at + reach + 1) * size, num_long)
    band = int((ends - np.maximum(at - reach, 0) * size).sum())
    long_to_global = num_long if settings.hard_l2g else num_long * num_global
    global_to_long = num_long if settings.hard_g2l else num_long * num_global
    return band + long_to_global + global_to_long + num_global**2


def longformer_pairs(config: EncoderConfig, layer: int, num_tokens: int) -> int:
    """Return how many pairs all heads of a layer of Longformer read; the first token is global."""
    own, pairs, at = config.longformer, 0, np.arange(num_tokens)
    for dilation in own.dilations_of(layer, config.num_heads):
        window = own.window_of(layer)
        before = np.minimum(at // dilation, window)
        after = np.minimum((num_tokens - 1 - at) // dilation, window)
        in_window = before + after + 1
        # The first token counts once for each query, in its window or as a global one.
        has_first = (at % dilation == 0) & (at // dilation <= window)
        pairs += int((in_window + ~has_first)[1:].sum()) + num_tokens
    return pairs


def _unread_by_one_global(encoder: Encoder, num_tokens: int) -> int:
    """Return the operations of global projections that one global token does not need."""
    # Its query is projected back and attends to states (`attend_states`): for each head E instead of D
    # numbers of a token, and no keys and values of all tokens.
    config = encoder.config
    if not config.longformer.separate_global:
        return 0
    E, H = config.hidden_size, config.num_heads
    if (
        config.positions == "rotary" or config.qk_norm or config.value_embeddings
    ):  # its query alone is not projected for all
        again = config.value_embeddings * num_tokens  # the values that global tokens read
        return config.num_layers * 2 * E * E * (num_tokens - 1 - again)
    projected = 6 * E * E * (num_tokens - 1)
    return config.num_layers * (projected - 4 * (H - 1) * E * num_tokens)


def _etc_flops(encoder: EtcEncoder, num_long: int) -> int:
    config = encoder.config
    num_global = -(-num_long // config.etc.tokens_per_global)
    queries = num_long + num_global
    E, labels = config.hidden_size, etc_pattern(config.etc).num_labels
    weights = 4 * E * E + 2 * E * config.ffn_size
    if config.etc.sharing != "qkv":  # keys and values of the other stream
        weights += 2 * E * E
    attention = 4 * E * etc_pairs(config, num_long, num_global) + 2 * E * labels * queries
    layers = len(encoder.layers) * (2 * weights * queries + attention)
    before = _dense(encoder) - _dense(encoder.layers)
    return 2 * before * num_long + layers


def encoder_flops(encoder: Encoder, num_tokens: int) -> int:
    """Return the operations of a forward pass of one sequence through the encoder."""
    if isinstance(encoder, EtcEncoder):
        return _etc_flops(encoder, num_tokens)
    config = encoder.config
    patches = -(-num_tokens // config.patch_tokens)
    above = _dense(encoder.layers) + (_dense(encoder.patches) if encoder.patches else 0)
    before = _dense(encoder) - above
    dense = 2 * (before * num_tokens + above * patches)
    if config.attention == "performer":
        features = sum(layer.attention.num_features for layer in encoder.layers)
        return dense + (8 * config.hidden_size + 2 * config.num_heads) * features * patches
    head_dim = config.hidden_size // config.num_heads
    if config.attention == "longformer":
        pairs = sum(longformer_pairs(config, i, patches) for i in range(config.num_layers))
        return dense + 4 * head_dim * pairs - _unread_by_one_global(encoder, patches)
    pairs = sum(block_pairs(layer.attention.pattern(patches)) for layer in encoder.layers)
    pairs *= config.block_size**2
    return dense + 4 * head_dim * pairs


def _dense(module: nn.Module) -> int:
    return sum(m.weight.numel() for m in module.modules() if isinstance(m, nn.Linear))


def forward_flops(model: nn.Module, lengths: Sequence[int], predicted: int = 0) -> int:
    """Return the operations of a forward pass of a batch with so many masked tokens."""
    cost = {length: encoder_flops(model.encoder, length) for length in set(lengths)}
    total = sum(cost[length] for length in lengths)
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and not name.startswith("encoder."):
            times = predicted if name.startswith("mlm.") else len(lengths)
            total += 2 * module.weight.numel() * times
    if predicted:  # the head for masked tokens ends in the table of word embeddings
        total += 2 * model.encoder.word.weight.numel() * predicted
    return total


def training_flops(model: nn.Module, lengths: Sequence[int], predicted: int = 0) -> int:
    """Return the operations of forward and backward pass; arguments as for `forward_flops`."""
    return 3 * forward_flops(model, lengths, predicted)
