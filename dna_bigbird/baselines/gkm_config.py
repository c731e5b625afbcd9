"""Settings of the gapped k-mer SVM; read by help texts, so nothing slow is imported."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from dna_bigbird.baselines.kmer_config import MaxRows
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Range


@dataclass(frozen=True)
class GkmConfig:
    """Which gapped words are counted, and where (gkm-SVM, Ghandi et al. 2014)."""

    word_length: Annotated[int, Range(2, most=12)] = 10
    """Length of a word in bases, gaps included."""
    informative: Annotated[int, Range(1, most=12)] = 6
    """Bases of a word that are read; the others are gaps."""
    strands: Literal["together", "apart"] = "together"
    """Count a word and its reverse complement apart or together; gkm-SVM does the latter."""
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
