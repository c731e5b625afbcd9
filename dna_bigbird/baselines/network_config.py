"""Settings of the published networks, and how they grow with the window; docs/baselines.md."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Range
from dna_bigbird.core.shared_options import Doc

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
