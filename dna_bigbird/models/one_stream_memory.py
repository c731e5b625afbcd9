"""What layers of Longformer and of the Performer keep more than block-sparse ones, for `models.memory`."""

from dna_bigbird.attention.cores.performer import default_features
from dna_bigbird.models.config import EncoderConfig

FLOAT32 = 4
"""Bytes."""


def longformer_kept(config: EncoderConfig, num_tokens: int, value: int) -> float:
    """Return what a layer of Longformer keeps in addition, in bytes per token.

    The output of all heads is also kept in the order of the tokens. Of the global projections, with one
    global token: two matrices per sequence that replace keys and values, and with narrow products the
    states in both types; with rotary positions or `qk_norm` keys and values.

    Args:
        value: Bytes of a number that a matrix product reads or gives.
    """
    h, is_narrow = config.hidden_size, value < FLOAT32
    kept = value * h
    if not config.longformer.separate_global:
        return kept
    if is_narrow:
        kept += (FLOAT32 + value) * h
    has_plain_keys = config.positions != "rotary" and not config.qk_norm
    if has_plain_keys:
        return kept + 2 * value * h * h / num_tokens
    kept += 3 * value * h  # the product, and the keys after it
    if config.qk_norm:
        kept += FLOAT32 * h * (1 + is_narrow)
    return kept


def performer_kept(config: EncoderConfig, num_tokens: int, value: int) -> float:
    """Return what a layer of the Performer keeps in addition, in bytes per token.

    The sums over keys of a sequence, in float32. Values are copied, so the product that they come from
    is not kept with rotary positions or `qk_norm`.

    Args:
        value: Bytes of a number that a matrix product reads or gives.
    """
    h, D = config.hidden_size, config.hidden_size // config.num_heads
    own = config.performer
    num_features = D if own.rows == "identity" else own.num_features or default_features(D)
    sums = FLOAT32 * num_features * (h + config.num_heads) / num_tokens
    if config.qk_norm and value == FLOAT32:  # the norms keep the product
        return sums + h * value
    is_changed = config.positions == "rotary" or config.qk_norm
    return sums - 2 * h * value * is_changed
