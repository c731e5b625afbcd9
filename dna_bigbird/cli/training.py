"""What the commands that train and evaluate share."""

import math
from pathlib import Path

from dna_bigbird.errors import InputError


def check_tokenizer(store, tokenizer, tokenizer_path: Path | str) -> None:
    """Refuse a token store that another tokenizer made.

    Raises:
        InputError: Naming both files.
    """
    import hashlib

    if hashlib.sha256(tokenizer.model_bytes).hexdigest() != store.tokenizer_sha256:
        raise InputError(
            f"{store.path}: made with another tokenizer than {tokenizer_path}; the ids would mean "
            "other bases. Make it again: dna-bigbird tokenize"
        )


def round_metrics(metrics: dict) -> dict:
    """Round to six digits; a score that is not defined is None (null in JSON)."""
    return {
        name: round(value, 6)
        if isinstance(value, float) and math.isfinite(value)
        else (None if isinstance(value, float) else value)
        for name, value in metrics.items()
    }
