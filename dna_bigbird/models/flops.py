"""How many operations a model's definition asks for: what utilisation is measured by.

Counted are matrix products, a multiplication and an addition as two operations:

* dense layers of the encoder: 2 * weights, for each token;
* attention: 4 * head dimension, for each head and pair of a query and a key that its block reads
  (scores, and the weighted sum), a ragged last block as a whole one;
* the head for masked tokens: 2 * (hidden size + vocabulary) * hidden size, for each predicted
  token;
* the other heads: 2 * weights, for each sequence.

Padding, what a backend computes in vain, norms, activations and recomputation are not counted, and
the backward pass as twice the forward one.
"""

from collections.abc import Sequence

from torch import nn

from dna_bigbird.attention.patterns import BlockPattern
from dna_bigbird.models.encoder import Encoder


def block_pairs(pattern: BlockPattern) -> int:
    """Return how many (query block, key block) pairs all heads together compute.

    Example:
        >>> from dna_bigbird.attention.patterns import full
        >>> block_pairs(full(num_blocks=3, block_size=16, num_heads=2))
        18
    """
    listed = int((pattern.key_blocks >= 0).sum())
    return listed + int(pattern.is_global.sum()) * pattern.num_blocks * pattern.num_heads


def encoder_flops(encoder: Encoder, num_tokens: int) -> int:
    """Return the operations of a forward pass of one sequence through the encoder."""
    patches = -(-num_tokens // encoder.config.patch_tokens)
    above = _dense(encoder.layers) + (_dense(encoder.patches) if encoder.patches else 0)
    before = _dense(encoder) - above
    pairs = sum(block_pairs(layer.attention.pattern(patches)) for layer in encoder.layers)
    pairs *= encoder.config.block_size**2
    head_dim = encoder.config.hidden_size // encoder.config.num_heads
    return 2 * (before * num_tokens + above * patches) + 4 * head_dim * pairs


def _dense(module: nn.Module) -> int:
    return sum(m.weight.numel() for m in module.modules() if isinstance(m, nn.Linear))


def forward_flops(model: nn.Module, lengths: Sequence[int], predicted: int = 0) -> int:
    """Return the operations of a forward pass of a batch.

    Args:
        model: PretrainingModel or SequenceClassifier: an `encoder`, and heads on it.
        lengths: Tokens of each sequence, without padding.
        predicted: Masked tokens of the whole batch.
    """
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
