"""Settings of a chromatin set."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count, Positive
from dna_bigbird.core.shared_options import BinBp, MaxNFraction

FEW_LABELS = 10
"""With fewer labels a set gets background unless the user says which bins are kept."""
DEFAULT_BACKGROUND = 3
"""Bins without a peak per bin with one, in such a set."""
USUAL_WINDOW, FEW_LABELS_WINDOW = 8000, 2000


@dataclass(frozen=True)
class ChromatinConfig:
    """Which bins become rows, and what is read around them."""

    window: Positive | None = None
    """Window in base pairs: what the model reads, centred on the bin. If not given it is 8000,
    or 2000 if there are fewer than ten labels."""
    bin: BinBp = 200
    require_group: str | None = None
    """Keep bins with at least one label of this group; `none` - with any label; `all` - every bin, also
    without a label. If not given it is TF, or none if there are fewer than ten labels or none of them is
    in that group."""
    max_n_fraction: MaxNFraction = 0.1
    min_positive: Count = 0
    """Labels with fewer bins than this, over all splits, are left out."""
    allow_empty_labels: bool = False
    """Keep labels without a positive in the training split, with a warning."""
    background: Count | None = None
    """Also take so many bins without a peak of any file for each of those bins, from the same chromosomes
    and splits. If not given it is 0, or 3 if there are fewer than ten labels and no --require_group."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.background and self.require_group == "all":
            raise ValueError(
                f"--background {self.background} --require_group all: every bin is in the set already; "
                "choose one of the two"
            )
        if self.window is not None:
            self._check_window(self.window)

    def _check_window(self, window: int) -> None:
        if window < self.bin:
            raise ValueError(f"--window {window} is shorter than --bin {self.bin}")
        if (window - self.bin) % 2:
            raise ValueError(
                f"--window {window} cannot be centred on --bin {self.bin}: their difference is odd"
            )

    def for_labels(self, count: int, groups: Collection[str] = ("TF",)) -> "ChromatinConfig":
        """Return the settings with what was not given, for a set of so many labels of these groups."""
        are_few = self.require_group is None and count < FEW_LABELS
        group = self.require_group or ("none" if are_few or "TF" not in groups else "TF")
        background = self.background
        if background is None:
            background = DEFAULT_BACKGROUND if are_few else 0
        window = self.window
        if window is None:
            window = FEW_LABELS_WINDOW if count < FEW_LABELS else USUAL_WINDOW
        return replace(self, window=window, require_group=group, background=background)
