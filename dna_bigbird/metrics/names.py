"""Readable names of the sources and metrics of benchmark results."""

import re

WINDOW_BASELINES = {
    "counts": "counts of the model alone",
    "kmer": "k-mer regression",
    "gc": "GC content",
    "composition": "kernel regression on composition",
    "positional": "regression on bases by position",
    "motif": "TATA match, without training",
    "gkm": "gkm-SVM, trained here",
    "majority": "majority class",
    "mean": "mean target",
    "other_tracks": "mean of the other tracks, measured",
    "replicate": "replicate, measured",
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


SOURCES = {
    "model": "model",
    "random_weights": "random weights",
    "cnn": "small CNN",
    "kmer": "k-mers",
    "gc": "GC content",
    "composition": "composition",
    "positional": "bases by position",
    "motif": "TATA match",
    "majority": "majority class",
    "length": "sequence length",
    "mean": "mean target",
    "likelihood": "log-likelihood ratio",
    "absolute_likelihood": "absolute log-likelihood ratio",
    "embedding": "embedding distance",
    "embedding_cosine": "embedding, cosine distance",
    "probe": "probe on embeddings",
    "counting": "n-gram counts",
    "random": "random order",
}
WORDS = {
    "auroc": "AUROC", "auprc": "AUPRC", "f1": "F1", "mcc": "MCC", "r2": "R²", "rmse": "RMSE",
    "pearson": "Pearson correlation", "spearman": "Spearman correlation",
}  # fmt: skip
METRICS = {
    "auprc_by_chromosome": "AUPRC by chromosome",
    "mean_difference": "mean difference in score",
    "mean_fall": "mean fall by the change",
    "mean_control_fall": "mean fall by the control",
}
MEDIAN = "median_auroc_"
"""Start of the name of a median over the labels of a group."""


def source_name(key: str) -> str:
    """Return the name of a source of scores.

    Example:
        >>> source_name("kmer"), source_name("log_likelihood")
        ('k-mers', 'log likelihood')
    """
    return SOURCES.get(key, key.replace("_", " "))


def metric_name(key: str) -> str:
    """Return the name of a score.

    Example:
        >>> metric_name("macro_f1"), metric_name("accuracy")
        ('macro F1', 'accuracy')
        >>> metric_name("auprc_by_chromosome"), metric_name("median_auroc_TF")
        ('AUPRC by chromosome', 'median AUROC of TF labels')
    """
    if key.startswith(MEDIAN):
        return f"median AUROC of {key.removeprefix(MEDIAN)} labels"
    if key in METRICS:
        return METRICS[key]
    return " ".join(WORDS.get(word, word) for word in key.split("_"))


def file_name(suite: str, task: str, number: int) -> str:
    """Return the name of a task's picture: letters, digits, dots, - and _ only, one name per task.

    Example:
        >>> file_name("gue", "EMP/H3 <K4>", 7)
        'gue_07_EMP_H3_K4'
    """
    return "_".join(
        re.sub(r"[^A-Za-z0-9.-]+", "_", part).strip("_") for part in (suite, f"{number:02}", task)
    )
