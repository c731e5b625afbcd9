"""Settings of the word-count baseline; read by help texts, so nothing slow is imported."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Range
from dna_bigbird.core.shared_options import Doc

MaxRows = Annotated[int, Range(2), Doc("Training rows, drawn by the seed if there are more.")]


@dataclass(frozen=True)
class KmerConfig:
    """Which words are counted, and where."""

    max_k: Annotated[int, Range(1, most=8)] = 5
    """Longest word in bases."""
    strands: Literal["auto", "apart", "together"] = "auto"
    """Count a word and its reverse complement apart or together; auto: apart for promoters, whose
    windows are oriented, and for sequences of your own, together otherwise."""
    centre_bp: Annotated[int, Range(-1)] = -1
    """Also count in this many bases at the centre of the window, 0 for none; -1: 1000 for sets
    with labelled bins (as DeepSEA reads), none otherwise."""
    max_rows: MaxRows = 50000

    def __post_init__(self) -> None:
        check_fields(self, "kmer")

    def for_set(self, *, window_bp: int, bin_bp: int, oriented: bool) -> "KmerConfig":
        """Return the same settings with `auto` and -1 filled in for a labelled set."""
        strands = self.strands if self.strands != "auto" else ("apart" if oriented else "together")
        centre_bp = self.centre_bp if self.centre_bp >= 0 else (1000 if bin_bp else 0)
        return replace(self, strands=strands, centre_bp=centre_bp if centre_bp < window_bp else 0)
