"""What the loss of pretraining is made of, and what is read more often."""

from dataclasses import asdict, dataclass

from dna_bigbird.corpus.hidden_sentences import CpcConfig
from dna_bigbird.models.config import CPC, PRETRAINING_HEADS


@dataclass(frozen=True)
class ObjectiveConfig:
    """Weights in the loss of pretraining and share of examples at sites; the paper's are the defaults.

    Raises:
        ValueError: If a weight or share is out of range.
    """

    nsp_weight: float = 1.0
    """Weight of next-sentence prediction; 0: none, and every example is one contiguous stretch."""
    repeat_weight: float = 1.0
    """Weight of a soft-masked base in the loss of masked tokens; 1: as any other."""
    sites_share: float = 0.0
    """Share of the training examples that are drawn around sites."""
    cpc: CpcConfig | None = None
    """Hidden sentences, of BigBird-ETC; None: there are none."""

    def __post_init__(self) -> None:
        if not 0 <= self.nsp_weight < float("inf"):
            raise ValueError(f"--nsp_weight {self.nsp_weight}: expected at least 0")
        if self.cpc is not None and self.nsp_weight:
            raise ValueError(
                f"--nsp_weight {self.nsp_weight}: with hidden sentences (CPC) there is no NSP; leave it "
                "out, or give --cpc.weight 0"
            )
        if not 0 <= self.repeat_weight < float("inf"):
            raise ValueError(f"--repeat_weight {self.repeat_weight}: expected at least 0")
        if not 0 <= self.sites_share <= 1:
            raise ValueError(f"--sites_share {self.sites_share}: expected 0 to 1")

    @property
    def heads(self) -> tuple[str, ...]:
        """Heads of a model with this objective."""
        if self.cpc is not None:
            return ("mlm", CPC)
        return PRETRAINING_HEADS if self.nsp_weight else ("mlm",)

    @property
    def stored(self) -> dict:
        """Settings for a file, without those that do not apply."""
        settings = asdict(self)
        if self.cpc is None:
            del settings["cpc"]
        return settings
