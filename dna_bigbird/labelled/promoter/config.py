"""Settings of a promoter set."""

from dataclasses import dataclass, field

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count, Positive
from dna_bigbird.core.shared_options import MaxNFraction
from dna_bigbird.labelled.promoter.negatives import ARTIFICIAL, NEGATIVES, PARTS
from dna_bigbird.labelled.splits import SplitConfig


@dataclass(frozen=True)
class PromoterConfig:
    """Which window is cut around a start site, and how its negatives are made."""

    upstream: Count = 5000
    """Bases before the start site, in the direction of transcription."""
    downstream: Positive = 3000
    """Bases from the start site on, the first transcribed base included."""
    negatives: str = "random_base"
    """Negatives: random_base redraws 12 of 20 parts; permuted shuffles 12 of 20 parts; genomic
    takes real windows away from every start site, with similar GC content and repeats, and
    background takes such windows of any content.
    Several, joined by commas (random_base,permuted,genomic), give every promoter a negative
    of each; a repeated name gives another negative."""
    max_n_fraction: MaxNFraction = 0.0
    training_negatives: str = ""
    """The same for promoters in training; as `negatives` if not given. More of them,
    such as permuted,permuted,permuted, are more examples to learn from; validation and
    test stay as they are."""
    unread: list[str | int] = field(default_factory=list)
    """Regions that pretraining did not read, such as chr22:19,500,001-20,500,000. With folds,
    genomic negatives of validation and test are in them, and those of training elsewhere."""

    def __post_init__(self) -> None:
        check_fields(self)
        options = [("negatives", x) for x in self.methods]
        options += [("training_negatives", x) for x in self.training_methods]
        for option, method in options:
            if method not in NEGATIVES:
                raise ValueError(
                    f"--{option} {method!r} does not exist; choose one of: {', '.join(NEGATIVES)}, "
                    "or several with commas between them"
                )
            if method in ARTIFICIAL and self.window_bp < PARTS:
                raise ValueError(
                    f"a window of {self.window_bp} bp cannot be cut into {PARTS} parts"
                )

    def check_split(self, split: SplitConfig) -> None:
        """Raise ValueError for regions that this way to split does not read."""
        if self.unread and not split.folds:
            raise ValueError(
                "--unread belongs to --split.folds; with regions a negative is in those of its split"
            )

    @property
    def methods(self) -> list[str]:
        """The kind of each negative of a promoter, in the order of the rows."""
        return self.negatives.split(",")

    @property
    def training_methods(self) -> list[str]:
        """The kind of each negative of a promoter in training."""
        return (self.training_negatives or self.negatives).split(",")

    @property
    def has_genomic(self) -> bool:
        """True if some negatives are windows of the genome."""
        return not set(ARTIFICIAL).issuperset([*self.methods, *self.training_methods])

    @property
    def window_bp(self) -> int:
        """Length of the window."""
        return self.upstream + self.downstream
