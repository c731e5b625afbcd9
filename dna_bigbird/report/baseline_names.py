"""Readable names of the baselines."""

WINDOW_BASELINES = {
    "kmer": "k-mer regression",
    "gc": "GC content",
    "cnnprom": "CNNProm, trained here",
    "deepromoter": "DeePromoter, trained here",
    "deepsea": "DeepSEA CNN, trained here",
}
"""Of promoter and chromatin models, by their key in metrics.json."""


def window_baseline(key: str) -> str:
    """Return the name of a baseline of a promoter or chromatin model."""
    return WINDOW_BASELINES.get(key, key)


def direction(key: str) -> str:
    """Return what an n-gram baseline sees: `masked`, `causal` or nothing that its key names."""
    return next((word for word in key.split("_") if word in ("masked", "causal")), "")


def ngram_name(key: str) -> str:
    """Return the name of an n-gram baseline without its direction.

    Example:
        >>> ngram_name("token_bigram_informed_masked")
        'informed token bigram'
    """
    words = [word for word in key.split("_") if word != direction(key)]
    words.sort(key=lambda word: word != "informed")
    return " ".join(words).replace("ngram", "n-gram")


def ngram_title(key: str) -> str:
    """Return the name of an n-gram baseline with its direction.

    Example:
        >>> ngram_title("token_ngram_causal")
        'token n-gram (causal)'
    """
    return f"{ngram_name(key)} ({direction(key)})" if direction(key) else ngram_name(key)
