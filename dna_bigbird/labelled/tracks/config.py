"""Settings of a track set."""

from dataclasses import dataclass
from typing import Annotated, Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count, Positive, Range
from dna_bigbird.core.shared_options import BinBp, MaxNFraction


@dataclass(frozen=True)
class TrackConfig:
    """Which windows become rows, and what is read from the tracks along them."""

    window: Positive = 2048
    """Window in base pairs."""
    crop: Count = 512
    """Bases at either end of a window that have no bins: they are read, and the windows next to it predict them."""
    bin: BinBp = 32
    reduce: Literal["mean", "sum", "max"] = "mean"
    """What a bin has of its bases."""
    unlisted: Literal["zero", "missing"] = "zero"
    """What bases without a row in a track are, on chromosomes that it has: zero, as in coverage files without rows of
    0, or missing."""
    transform: Literal["none", "log1p", "arcsinh"] = "none"
    """What is done with the value of a bin, after `clip`."""
    clip: Annotated[float, Range(above=0, most=100)] = 100.0
    """Percentile of the training bins of each track to which higher values are lowered; 100: none."""
    max_n_fraction: MaxNFraction = 0.1

    def __post_init__(self) -> None:
        check_fields(self)
        if self.middle_bp <= 0 or self.middle_bp % self.bin:
            raise ValueError(
                f"--window {self.window} without --crop {self.crop} at either end has {self.middle_bp} bases; "
                f"expected a multiple of --bin {self.bin}"
            )

    @property
    def middle_bp(self) -> int:
        """Bases of a window that have bins; windows start so many bases after each other."""
        return self.window - 2 * self.crop

    @property
    def num_bins(self) -> int:
        """Bins of a window."""
        return self.middle_bp // self.bin
