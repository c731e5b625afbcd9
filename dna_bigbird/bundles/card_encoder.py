"""How cards describe an encoder."""

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
"""The same with other global blocks than the published ones."""


def size_in_words(encoder: dict) -> str:
    """Return layers, width, attention and context of an encoder's settings."""
    return (
        f"{encoder['num_layers']} layers of {encoder['num_heads']} heads, hidden size "
        f"{encoder['hidden_size']}, {_attention(encoder)} over at most {encoder['max_tokens']} tokens"
    )


def _attention(encoder: dict) -> str:
    """Say which tokens a token reads; bundles of version 0.1 lack some of the settings."""
    if encoder.get("attention") == "full":
        return "full attention"
    blocks = encoder.get("window_blocks", 3)
    window = f"window of {blocks} block{'s' if blocks > 1 else ''}" if blocks else "no window"
    places = GLOBAL_BLOCKS[encoder.get("global_blocks", "first_last")]
    number = encoder["num_random"]
    plan = encoder.get("random_plan", "uniform")
    is_moved = plan in MOVED_PLANS and encoder.get("global_blocks") == "first_two"
    drawn = (MOVED_PLANS if is_moved else RANDOM_PLANS)[plan]
    randoms = f"{number} random block{'s' if number > 1 else ''} {drawn}"
    return (
        f"block-sparse attention (blocks of {encoder['block_size']} tokens; {window}, {places}, "
        f"{randoms if number else 'no random block'})"
    )
