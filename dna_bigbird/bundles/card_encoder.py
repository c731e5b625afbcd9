"""How cards describe an encoder."""

from dna_bigbird.models.config import EncoderConfig

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
