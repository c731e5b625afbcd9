"""A validation split with too few positives to choose a step and a threshold by."""

ENOUGH = 200
"""Positives. With as many negatives, an AUROC of 0.9 has a standard error of 0.016 (0.037 with 38
positives, 0.007 with 1,130; Hanley and McNeil 1982)."""


def few_positives(count: int, name: object) -> str | None:
    """Return what to tell the user of a validation split, or None if it has enough positives.

    Args:
        count: Positive labels in the validation rows, over all labels.
        name: The labelled set, for the message.

    Example:
        >>> few_positives(38, "set.h5").partition(":")[2].partition(",")[0]
        ' 38 positives for validation'
        >>> few_positives(200, "set.h5")
    """
    if count >= ENOUGH:
        return None
    return (
        f"{name}: {count} positives for validation, expected at least {ENOUGH}: the choice of the "
        "best step and of the threshold is uncertain. Hold out more for validation: "
        "more regions in --split.validation, or fewer --split.folds"
    )
