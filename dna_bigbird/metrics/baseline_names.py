"""Readable names of the baselines."""

WINDOW_BASELINES = {
    "kmer": "k-mer regression",
    "gc": "GC content",
    "gkm": "gkm-SVM, trained here",
    "majority": "majority class",
    "mean": "mean target",
    "cnnprom": "CNNProm, trained here",
    "deepromoter": "DeePromoter, trained here",
    "deepsea": "DeepSEA CNN, trained here",
}
"""Of models of labels, classes or targets, by their key in metrics.json."""


def window_baseline(key: str) -> str:
    """Return the name of a baseline of a model of labels, classes or targets."""
    return WINDOW_BASELINES.get(key, key)


SEEN = ("masked", "causal", "one_hidden")
"""Ends of the keys of n-gram baselines: which bases or tokens they see."""


def direction(key: str) -> str:
    """Return what an n-gram baseline sees, one of `SEEN`, or nothing if its key does not name it.

    Example:
        >>> direction("base_mixture_one_hidden")
        'one_hidden'
    """
    return next((word for word in SEEN if key.endswith(f"_{word}")), "")


def ngram_name(key: str) -> str:
    """Return the name of an n-gram baseline without its direction.

    Example:
        >>> ngram_name("token_bigram_informed_masked")
        'informed token bigram'
    """
    words = key.removesuffix(f"_{direction(key)}").split("_")
    words.sort(key=lambda word: word != "informed")
    return " ".join(words).replace("ngram", "n-gram")


def ngram_title(key: str) -> str:
    """Return the name of an n-gram baseline with its direction.

    Example:
        >>> ngram_title("token_ngram_causal")
        'token n-gram (causal)'
    """
    seen = direction(key).replace("_", " ")
    return f"{ngram_name(key)} ({seen})" if seen else ngram_name(key)
