"""What the labels of a set are, and the scores that each type of label is judged by."""

from collections.abc import Collection, Sequence

BINARY, MULTI_LABEL, MULTI_CLASS, REGRESSION = "binary", "multi-label", "multi-class", "regression"
TRACKS = "tracks"
LABEL_TYPES = (BINARY, MULTI_LABEL, MULTI_CLASS, REGRESSION, TRACKS)
"""One 0/1 label; several 0/1 labels; one of several classes; numbers; numbers of each bin of a window."""
NUMBERS = (REGRESSION, TRACKS)
"""Types whose predictions are numbers in a unit, not probabilities."""
RECORDED = (MULTI_CLASS, REGRESSION, TRACKS)
"""Types that a file names; sets and bundles of the others do not record a type."""
MONITORS = {
    BINARY: "macro_auroc",
    MULTI_LABEL: "macro_auroc",
    MULTI_CLASS: "mcc",
    REGRESSION: "pearson",
    TRACKS: "pearson",
}
"""The validation score that chooses the step."""
HEADLINES = {
    BINARY: ("auroc", "auprc"),
    MULTI_LABEL: ("macro_auroc", "macro_auprc"),
    MULTI_CLASS: ("mcc", "accuracy", "macro_f1", "macro_auroc"),
    REGRESSION: ("pearson", "spearman", "r2", "rmse"),
    TRACKS: ("pearson", "spearman", "profile_pearson", "total_pearson", "r2", "rmse"),
}
"""Test scores, the main one first."""
LOWER_IS_BETTER = ("rmse",)
TRIVIAL = {MULTI_CLASS: "majority", REGRESSION: "mean", TRACKS: "mean"}
"""Name of the baseline that knows only the labels of the training rows."""


def label_type_of(recorded: str | None, label_names: Sequence[str]) -> str:
    """Return the type of a set or bundle that may not record one."""
    return recorded or (BINARY if len(label_names) == 1 else MULTI_LABEL)


def headlines_in(scores: Collection[str]) -> tuple[str, ...]:
    """Return the names of the main scores among those of a source, the main one first."""
    if "profile_pearson" in scores:
        return HEADLINES[TRACKS]
    if "pearson" in scores:
        return HEADLINES[REGRESSION]
    if "accuracy" in scores:
        return HEADLINES[MULTI_CLASS]
    return HEADLINES[MULTI_LABEL if "macro_auroc" in scores else BINARY]


def gain_key(score: str, baseline: str) -> str:
    """Return the name of the difference of a score from a baseline."""
    name = score.removeprefix("macro_") if score in HEADLINES[MULTI_LABEL] else score
    return f"{name}_gain_over_{baseline}"
