"""How much of its sequence a model's attention reads."""

from dna_bigbird.models.config import EncoderConfig


def key_share(config: EncoderConfig) -> float:
    """Return the share of (query block, key block) pairs that a model's first layer reads.

    Of BigBird-ETC the share of pairs of tokens of both streams, of Longformer that of tokens with one
    global token. The Performer computes no pairs: its share is 1.
    """
    from dna_bigbird.models.attention_cores import block_core
    from dna_bigbird.models.flops import etc_pairs, longformer_pairs

    if config.attention == "etc":
        num_global = -(-config.max_tokens // config.etc.tokens_per_global)
        pairs = etc_pairs(config, config.max_tokens, num_global)
        return pairs / (config.max_tokens + num_global) ** 2
    if config.attention == "performer":
        return 1.0
    if config.attention == "longformer":
        return (
            longformer_pairs(config, 0, config.max_tokens) / config.num_heads / config.max_tokens**2
        )
    pattern = block_core(config, layer=0).eval().pattern(config.max_tokens)
    return float((pattern.times() > 0).mean())
