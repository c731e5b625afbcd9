"""Sequences of more tokens than a model without a table of positions was trained on."""

from dna_bigbird.models.config import EncoderConfig


def beyond_training(encoder: EncoderConfig, pieces: int, option: str = "--window") -> list[str]:
    """Return a line for the user if a sequence was longer than any in training; it was read whole.

    Args:
        pieces: Tokens of the longest sequence that was read whole, without [CLS] and [SEP].
        option: What sets the length.

    Example:
        >>> encoder = EncoderConfig(max_tokens=512, positions="rotary")
        >>> beyond_training(encoder, 510)
        []
        >>> print(*beyond_training(encoder, 2000))
        --window: up to 2,002 tokens are read at once; the model was trained on at most 512
    """
    tokens = pieces + 2
    if not encoder.reads_any_length or tokens <= encoder.max_tokens:
        return []
    return [
        f"{option}: up to {tokens:,} tokens are read at once; the model was trained on at most "
        f"{encoder.max_tokens:,}"
    ]
