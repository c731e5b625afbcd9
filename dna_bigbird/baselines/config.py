"""Which baselines there are, and their settings; read by help texts, so nothing slow is imported."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Range
from dna_bigbird.core.shared_options import Doc

Method = Literal[
    "kmer",
    "gc",
    "composition",
    "positional",
    "motif",
    "gkm",
    "cnnprom",
    "deepromoter",
    "deepsea",
    "replicate",
]
MOTIF_UPSTREAM_BP = 36
"""Bases before the start site from which on the rule `motif` reads."""


def default_baselines(*, is_aligned: bool, upstream_bp: int | None) -> list[Method]:
    """Return the methods that take seconds and apply to a set; a model is compared with each.

    Args:
        is_aligned: A position may mean the same in all windows.
        upstream_bp: Bases before the start site in every window; None if there is no start site.

    Example:
        >>> default_baselines(is_aligned=True, upstream_bp=200)
        ['kmer', 'gc', 'composition', 'positional', 'motif']
    """
    methods: list[Method] = ["kmer", "gc", "composition"]
    if is_aligned:
        methods.append("positional")
    if upstream_bp is not None and upstream_bp >= MOTIF_UPSTREAM_BP:
        methods.append("motif")
    return methods


PublishedShare = Annotated[float, Range(above=0, most=4)]
Width = Annotated[
    PublishedShare, Doc("Share of the published size: number of filters and hidden units.")
]


@dataclass(frozen=True)
class CnnPromConfig:
    """CNNProm (Umarov and Solovyev 2017): one convolution, one hidden layer."""

    NAME: ClassVar[str] = "cnnprom"

    variant: Literal["tata", "non_tata"] = "tata"
    """Which of the two published human models: 200 filters and pooling over 4 bases, or 300 filters
    and pooling over the whole window."""
    width: Width = 1.0

    def __post_init__(self) -> None:
        check_fields(self, self.NAME)

    def describe(self) -> str:
        """Return what it is, for the report."""
        return f"CNNProm ({self.variant}), width {self.width:g}"


@dataclass(frozen=True)
class DeePromoterConfig:
    """DeePromoter (Oubounyt et al. 2019): parallel convolutions, a BiLSTM, one hidden layer."""

    NAME: ClassVar[str] = "deepromoter"

    width: PublishedShare = 1.0
    """Share of the published size: number of filters, LSTM units and hidden units."""

    def __post_init__(self) -> None:
        check_fields(self, self.NAME)

    def describe(self) -> str:
        """Return what it is, for the report."""
        return f"DeePromoter, width {self.width:g}"


@dataclass(frozen=True)
class DeepSeaConfig:
    """DeepSEA (Zhou and Troyanskaya 2015): three convolutions on the central 1000 bp."""

    NAME: ClassVar[str] = "deepsea"

    width: Width = 1.0

    def __post_init__(self) -> None:
        check_fields(self, self.NAME)

    def describe(self) -> str:
        """Return what it is, for the report."""
        return f"DeepSEA, width {self.width:g}, on the central 1000 bp"


def scaled(units: int, width: float) -> int:
    """Return that share of a published number of units, at least 1.

    Example:
        >>> scaled(320, 1.0), scaled(320, 0.25), scaled(32, 0.01)
        (320, 80, 1)
    """
    return max(1, round(units * width))


def pooling_bp(published_bp: int, *, window_bp: int, published_window_bp: int) -> int:
    """Return over how many bases to pool in another window than the published one.

    As many times more as the window is longer, to the nearest whole number and never less, so
    that what follows keeps about its published size in a window of any length.

    Example:
        >>> pooling_bp(6, window_bp=300, published_window_bp=300)
        6
        >>> pooling_bp(6, window_bp=8000, published_window_bp=300)
        162
    """
    return published_bp * max(1, round(window_bp / published_window_bp))


MaxRows = Annotated[int, Range(2), Doc("Training rows, drawn by the seed if there are more.")]


@dataclass(frozen=True)
class KmerConfig:
    """Which k-mers are counted, and where."""

    max_k: Annotated[int, Range(1, most=8)] = 5
    """Longest k-mer in bases."""
    strands: Literal["auto", "apart", "together"] = "auto"
    """Count a k-mer and its reverse complement apart or together; auto: apart for promoters, whose
    windows are oriented, and for sequences of your own, together otherwise."""
    centre_bp: Annotated[int, Range(-1)] = -1
    """Also count in this many bases at the centre of the window, 0 for none; -1: 1000 for sets
    with labelled bins (as DeepSEA reads), none otherwise; for `composition` two bins, or none."""
    max_rows: MaxRows = 50000

    def __post_init__(self) -> None:
        check_fields(self, "kmer")

    def for_set(self, *, window_bp: int, bin_bp: int, oriented: bool) -> "KmerConfig":
        """Return the same settings with `auto` and -1 filled in for a labelled set."""
        strands = self.strands if self.strands != "auto" else ("apart" if oriented else "together")
        centre_bp = self.centre_bp if self.centre_bp >= 0 else (1000 if bin_bp else 0)
        return replace(self, strands=strands, centre_bp=centre_bp if centre_bp < window_bp else 0)


# --- Settings of the gapped k-mer SVM; read by help texts, so nothing slow is imported ---


@dataclass(frozen=True)
class GkmConfig:
    """Which gapped k-mers are counted, and where (gkm-SVM, Ghandi et al. 2014)."""

    word_length: Annotated[int, Range(2, most=12)] = 10
    """Length of a k-mer in bases, gaps included."""
    informative: Annotated[int, Range(1, most=12)] = 6
    """Bases of a k-mer that are read; the others are gaps."""
    strands: Literal["together", "apart"] = "together"
    """Count a k-mer and its reverse complement apart or together; gkm-SVM does the latter."""
    read_bp: Annotated[int, Range(-1)] = -1
    """Bases at the centre of the window that are read, 0 for all; -1: 1000 for sets with labelled
    bins (as DeepSEA reads), all otherwise."""
    max_rows: MaxRows = 10000

    def __post_init__(self) -> None:
        check_fields(self, "gkm")
        if self.informative > self.word_length:
            raise ValueError(
                f"--gkm.informative {self.informative} is more than --gkm.word_length "
                f"{self.word_length}"
            )

    def for_set(self, *, window_bp: int, bin_bp: int) -> "GkmConfig":
        """Return the same settings with -1 filled in for a labelled set."""
        read_bp = self.read_bp if self.read_bp >= 0 else (1000 if bin_bp else 0)
        return replace(self, read_bp=read_bp if read_bp < window_bp else 0)
