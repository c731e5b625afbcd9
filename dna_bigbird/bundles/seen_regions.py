"""Which parts of a genome a model has read in its trainings, as its bundle records it."""

import re
from dataclasses import dataclass

from dna_bigbird.core.errors import shortened

PRETRAINING = "pretraining"
_REGIONS = re.compile(r"\d{1,12}-\d{1,12}(,\d{1,12}-\d{1,12})*")


@dataclass(frozen=True)
class SeenRegions:
    """What a model has read in one training.

    Regions are text by chromosome, counted from 1 with both ends included, as people write them.

    Example:
        >>> SeenRegions("pretraining", "GRCh37", {"chr22": "1001-2000,5001-9000"}).summary()
        'chr22:1,001-2,000, chr22:5,001-9,000'
    """

    training: str
    """'pretraining' (without labels), or the task of a fine-tuning."""
    assembly: str
    regions: dict[str, str] | None
    """Regions by chromosome; None is unknown."""
    elsewhere: str = ""
    """What was read without coordinates, in words."""
    validation: dict[str, str] | None = None
    """Regions of the validation rows, which choose the step; None is unknown."""
    is_hashed: bool = False
    """Whether `sequences_read.safetensors` has all sequences of this training without coordinates."""

    def __post_init__(self) -> None:
        for chrom, text in [*(self.regions or {}).items(), *(self.validation or {}).items()]:
            if not _REGIONS.fullmatch(text):
                raise ValueError(
                    f"regions of {shortened(chrom)}: {shortened(repr(text))}, expected such as '1-200,301-400'"
                )

    @property
    def is_pretraining(self) -> bool:
        """True if no labels were read."""
        return self.training == PRETRAINING

    @property
    def described(self) -> str:
        """What the training was, in words."""
        return (
            "pretraining" if self.is_pretraining else f"the fine-tuning on {self.training} labels"
        )

    def bounds(self, *, with_validation: bool = False) -> list[tuple[str, int, int]]:
        """Return chromosome, first and last base of every region."""
        regions = list((self.regions or {}).items())
        if with_validation:
            regions += (self.validation or {}).items()
        return [
            (chrom, *map(int, part.split("-")))
            for chrom, text in regions
            for part in text.split(",")
        ]

    def sentence(self) -> str:
        """Return training, regions and assembly: "in pretraining: chr22:1-100 of GRCh37"."""
        if self.regions == {} and self.elsewhere:
            return f"in {self.described}: {self.elsewhere}"
        elsewhere = f", and {self.elsewhere}" if self.elsewhere else ""
        return f"in {self.described}: {self.summary()} of {self.assembly}{elsewhere}"

    def summary(self, most: int = 8) -> str:
        """Return the regions as a user writes them; of many, their number and extent."""
        if self.regions is None:
            return "unknown regions"
        bounds = self.bounds()
        if len(bounds) <= most:
            return ", ".join(f"{chrom}:{start:,}-{end:,}" for chrom, start, end in bounds)
        total = sum(end - start + 1 for _, start, end in bounds)
        names = ", ".join(list(self.regions)[:most]) + (", …" if len(self.regions) > most else "")
        return f"{len(bounds):,} regions of {total / 1e6:,.2f} Mb together on {names}"
