"""Settings of a set from the published DeepSEA bundle."""

from dataclasses import dataclass, field
from typing import Annotated

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Positive, Range, Share

BIN_BP = 200


@dataclass(frozen=True)
class DeepseaConfig:
    """Which windows are cut around the published bins, and how closely the bundle is checked."""

    window: Annotated[int, Range(BIN_BP)] = 8000
    """Window in base pairs: what the model reads, centred on the 200-bp bin."""
    check_every: Positive = 1
    """Check every n-th row against its source: its 1000 bp with the genome; 1 checks all."""
    max_n_fraction: Share = 1.0
    """Windows with a larger share of N are left out; bases past a chromosome's end count as N.
    1 keeps every published row."""
    test_chromosomes: list[str] = field(default_factory=lambda: ["chr8", "chr9"])
    """Chromosomes of the rows in test.mat."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.window % 2:
            raise ValueError(
                f"--window {self.window} cannot be centred on a bin of {BIN_BP} bp; expected an even number"
            )
