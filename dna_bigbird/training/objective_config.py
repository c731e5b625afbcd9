"""What the loss of pretraining is made of, and what is read more often."""

from dataclasses import asdict, dataclass
from typing import Annotated

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.settings import NotNegative, Positive, Range, Share, ShareBelowOne
from dna_bigbird.models.config import CPC, PRETRAINING_HEADS, EncoderConfig


@dataclass(frozen=True)
class CpcConfig:
    """Contrastive predictive coding of hidden sentences; the defaults are those of the ETC paper."""

    weight: ShareBelowOne = 0.2
    """Share of CPC in the loss, the rest is that of masked tokens or of the task; 0: no CPC."""
    sentence_share: Annotated[float, Range(above=0, below=1)] = 0.1
    """Share of the sentences of an example that are hidden as a whole, at least one."""
    fewest_sentences: Positive = 7
    """Sentences that an example has at least, or none of them is hidden."""

    def __post_init__(self) -> None:
        check_fields(self, "cpc")
        others = ("sentence_share", "fewest_sentences")
        if not self.weight and any(getattr(self, n) != getattr(CpcConfig, n) for n in others):
            raise ValueError(
                "--cpc.weight 0.0 hides no sentence; leave the other --cpc options out"
            )


@dataclass(frozen=True)
class ObjectiveConfig:
    """Weights in the loss of pretraining and share of examples at sites, by default the paper's."""

    nsp_weight: NotNegative = 1.0
    """Weight of next-sentence prediction; 0: none, and every example is one contiguous stretch."""
    repeat_weight: NotNegative = 1.0
    """Weight of a soft-masked base in the loss of masked tokens; 1: as any other."""
    sites_share: Share = 0.0
    """Share of the training examples that are drawn around sites."""
    cpc: CpcConfig | None = None
    """Hidden sentences, of BigBird-ETC; None: there are none."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.cpc is not None and self.nsp_weight:
            raise ValueError(
                f"--nsp_weight {self.nsp_weight}: with hidden sentences (CPC) there is no NSP; leave it "
                "out, or give --cpc.weight 0"
            )

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


def objective_of(
    model: EncoderConfig,
    cpc: CpcConfig,
    nsp_weight: float | None,
    repeat_weight: float,
    sites_share: float,
) -> ObjectiveConfig:
    """Return the objective of a model: with NSP, or with CPC if its attention is etc."""
    is_etc = model.attention == "etc"
    if not is_etc and cpc != CpcConfig():
        raise InputError("--cpc is read with --model.attention etc only: add that, or leave it out")
    size, fewest = model.etc.tokens_per_global, max(cpc.fewest_sentences, 2)
    if is_etc and cpc.weight and model.max_tokens < fewest * size:
        raise InputError(
            f"--model.max_tokens {model.max_tokens} is less than {fewest} sentences of "
            f"--model.etc.tokens_per_global {size} (--cpc.fewest_sentences): none would ever be hidden; give "
            "smaller sentences, or --cpc.weight 0"
        )
    if nsp_weight is None:
        nsp_weight = 0.0 if is_etc else 1.0
    return ObjectiveConfig(
        nsp_weight, repeat_weight, sites_share, cpc if is_etc and cpc.weight else None
    )
