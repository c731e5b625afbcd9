"""Settings of the k-mer counts next to the encoder; read without torch."""

from dataclasses import asdict, dataclass
from typing import Annotated

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Range


@dataclass(frozen=True)
class KmersConfig:
    """Which k-mers the model counts next to its encoder."""

    max_k: Annotated[int, Range(-1, most=8)] = -1
    """Longest k-mer in bases: up to 8, 0 for none; -1 for 6 if no learning rate is given. After the training
    a ridge regression on the frequencies of k-mers is added to the logits, weighted on the validation rows. Of tracks:
    -1 for 4; before the training small networks on the frequencies around every bin and on filters are fitted, and the
    encoder learns what to add."""
    centre_bp: Annotated[int, Range(-1)] = -1
    """Also count in this many bases at the centre of the window, 0 for none: -1 for two bins of a set with
    labelled bins."""
    by_position: bool | None = None
    """Also add the regression of `baseline --method positional`: on the base at each position, and 3-mers in parts
    of the window. If not given: for windows of one length that are read on one strand, if no learning rate is
    given."""

    def __post_init__(self) -> None:
        check_fields(self, "words")


@dataclass(frozen=True)
class KmerHeadConfig:
    """The same for one model, without gaps."""

    max_k: int = 6
    """Longest k-mer in bases; 0: none are counted."""
    centre_bp: int = 0
    """Bases in the middle that are counted a second time; 0: none."""
    together: bool = True
    """Whether a k-mer and its reverse complement are one."""
    piece_bp: int = 1
    """Bases of the longest token."""
    positions: int = 0
    """Bases of the window in which positions are read; 0: none."""
    around_bp: tuple[int, ...] = ()
    """Of tracks: bases on either side of a bin that are counted with it, each apart; none: whole windows are counted."""
    bin_bp: int = 0
    crop_bp: int = 0
    """Bases at either end of a window without a bin."""
    hidden: int = 0
    """Width of the layer between the counts and the values of bins."""
    filters: int = 0
    """Filters over the bases of either strand, of which the best match near a bin adds to its values."""
    filter_bp: int = 19
    reach_bp: int = 0
    """Bases on either side of a bin where a filter may match."""

    def __post_init__(self) -> None:
        fewest = 0 if self.positions else 1
        if (
            not fewest <= self.max_k <= 8
            or min(self.centre_bp, self.positions) < 0
            or self.piece_bp < 1
        ):
            raise ValueError(
                f"k-mers of 1 to {self.max_k} bases in the middle {self.centre_bp} bp, positions of "
                f"{self.positions} bp, tokens of up to {self.piece_bp} bp: expected lengths of {fewest} to 8, "
                "0 bp or more, and 1 bp or more"
            )


def stored_kmers(kmers: KmerHeadConfig) -> dict:
    """Return the settings for a file; those of bins only where bins are counted."""
    settings = asdict(kmers)
    if not kmers.around_bp:
        return {k: settings[k] for k in ("max_k", "centre_bp", "together", "piece_bp", "positions")}
    return settings | {"around_bp": list(kmers.around_bp)}
