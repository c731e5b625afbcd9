"""Published scores of promoter and chromatin models, each with the protocol it belongs to."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Published:
    """One published row. It was not computed or repeated here."""

    model: str
    window_bp: int
    scores: dict[str, float]
    """By the key of metrics.json, as a share of 1."""
    protocol: str
    """The test data, as far as the publication says."""
    negatives: str = ""
    """How artificial negatives were generated; empty for chromatin labels."""
    parameters: str = ""
    groups: dict[str, int] = field(default_factory=dict)
    """Labels in each group."""


PROMOTERS = (
    Published("CNNProm", 300, {"f1": 0.697}, "as in Table 6 of the BigBird paper", "random_base"),
    Published(
        "DeePromoter", 300, {"f1": 0.956}, "as in Table 6 of the BigBird paper", "random_base"
    ),
    Published(
        "BigBird",
        8000,
        {"f1": 0.999},
        "Table 6 of the paper: 29,597 EPDnew promoters on GRCh37; it warns that the negatives "
        "resemble masking",
        "random_base",
        "110 M",
    ),
    Published("GENA-LM", 300, {"f1": 0.7644}, "EPDnew, own split", "permuted"),
    Published("GENA-LM", 2000, {"f1": 0.9370}, "EPDnew, own split", "permuted"),
)
"""Table 6 of the paper, and what others published since (each on its own data and split)."""

_919 = {"TF": 690, "DHS": 125, "HM": 104}
_CHROMS = "the published bundle, test chr8 and chr9"


def _chromatin(model: str, bp: int, parameters: str, protocol: str, **scores: float) -> Published:
    medians = {f"median_auroc_{group}": value for group, value in scores.items()}
    return Published(model, bp, medians, protocol, parameters=parameters, groups=_919)


CHROMATIN = (
    _chromatin("gkm-SVM", 1000, "", f"Table 7 of the BigBird paper; {_CHROMS}", TF=0.896),
    _chromatin(
        "DeepSEA",
        1000,
        "40 M",
        f"Table 7 of the BigBird paper; {_CHROMS}; mean of both strands",
        TF=0.958,
        DHS=0.923,
        HM=0.856,
    ),
    _chromatin(
        "BigBird",
        8000,
        "110 M",
        f"Table 7 of the paper; {_CHROMS}; mean of two models",
        TF=0.961,
        DHS=0.921,
        HM=0.887,
    ),
    _chromatin("HyenaDNA", 1000, "7 M", _CHROMS, TF=0.964, DHS=0.930, HM=0.863),
    _chromatin("HyenaDNA", 8000, "3.5 M", _CHROMS, TF=0.955, DHS=0.917, HM=0.893),
)
"""Table 7 of the paper and the best since: medians of the AUROC over the labels of a group."""
