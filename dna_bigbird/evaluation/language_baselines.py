"""Settings of the baselines of a pretrained model; read without torch."""

from dataclasses import dataclass

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.settings import Count, Positive


@dataclass(frozen=True)
class LanguageBaselines:
    """Which baselines are scored next to a pretrained model, and on how many documents."""

    baseline_counted_documents: Count = 0
    """Most training documents that a baseline counts, evenly spaced if
    there are more; 0: all that cover the training regions once (memory: docs/reference/metrics.md)."""
    baseline_scored_documents: Positive = 2000
    """Most held-out documents that a causal baseline scores, also
    evenly spaced."""
    kenlm: bool = False
    """Add the n-grams of KenLM, which must be installed (docs/reference/comparisons.md)."""
    unmasked_baselines: bool = True
    """Score the baselines that do not read the hidden tokens, too: causal counts, and
    counts with one base hidden. They do not depend on the model and take most of the time."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.kenlm and not self.unmasked_baselines:
            raise InputError(
                "--kenlm true: its n-grams are causal; leave out --unmasked_baselines false"
            )

    @property
    def most_counted(self) -> int | None:
        """Most documents counted; None for all."""
        return self.baseline_counted_documents or None
