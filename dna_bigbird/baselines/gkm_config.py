"""Settings of the gapped k-mer SVM; read by help texts, so nothing slow is imported."""

from dataclasses import dataclass, replace
from typing import Literal

from dna_bigbird.baselines.kmer_config import MaxRows
from dna_bigbird.choices import check_fields


@dataclass(frozen=True)
class GkmConfig:
    """Which gapped words are counted, and where (gkm-SVM, Ghandi et al. 2014)."""

    word_length: int = 10
    """Length of a word in bases, gaps included."""
    informative: int = 6
    """Bases of a word that are read; the others are gaps."""
    strands: Literal["together", "apart"] = "together"
    """Count a word and its reverse complement apart or together; gkm-SVM does the latter."""
    read_bp: int = -1
    """Bases at the centre of the window that are read, 0 for all; -1: 1000 for sets with labelled
    bins (as DeepSEA reads), all otherwise."""
    max_rows: MaxRows = 10000

    def __post_init__(self) -> None:
        check_fields(self)
        if not 2 <= self.word_length <= 12:
            raise ValueError(f"--gkm.word_length {self.word_length} is not between 2 and 12")
        if not 1 <= self.informative <= self.word_length:
            raise ValueError(
                f"--gkm.informative {self.informative} is not between 1 and --gkm.word_length "
                f"{self.word_length}"
            )
        if self.read_bp < -1:
            raise ValueError(f"--gkm.read_bp {self.read_bp} is below -1")
        if self.max_rows < 2:
            raise ValueError(f"--gkm.max_rows {self.max_rows} is below 2")

    def for_set(self, *, window_bp: int, bin_bp: int) -> "GkmConfig":
        """Return the same settings with -1 filled in for a labelled set."""
        read_bp = self.read_bp if self.read_bp >= 0 else (1000 if bin_bp else 0)
        return replace(self, read_bp=read_bp if read_bp < window_bp else 0)
