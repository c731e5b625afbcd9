"""What the report reads of a bundle's config.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from dna_bigbird.label_types import label_type_of

OTHER_BLOCKS = {
    "full": "full attention",
    "etc": "band + global tokens",
    "longformer": "window + global tokens",
    "performer": "random features",
}
"""What attention without the block pattern consists of."""


def _known(cls: type, values: Mapping[str, object]) -> dict[str, object]:
    """Return the values that are fields of a dataclass."""
    names = {x.name for x in fields(cls)}
    return {key: value for key, value in values.items() if key in names}


@dataclass(frozen=True)
class EncoderSettings:
    """Size and attention pattern of the encoder; None where the file does not say."""

    vocab_size: int | None = None
    hidden_size: int | None = None
    num_layers: int | None = None
    max_tokens: int | None = None
    attention: str = "bigbird"
    num_random: int = 0
    window_blocks: int = 3
    global_blocks: str = "first_last"

    @property
    def building_blocks(self) -> str:
        """What the attention pattern consists of, in words."""
        if self.attention in OTHER_BLOCKS:
            return OTHER_BLOCKS[self.attention]
        used = {
            "random": self.num_random > 0,
            "window": self.window_blocks > 0,
            "global": self.global_blocks != "none",
        }
        return " + ".join(name for name, is_used in used.items() if is_used)


@dataclass(frozen=True)
class TrainingSettings:
    """How a model was trained; None where the file does not say."""

    max_steps: int | None = None
    batch_size: int | None = None
    positive_weight: float = 1.0


@dataclass(frozen=True)
class ModelConfig:
    """A model, its training and its labels."""

    dna_bigbird_version: str = "unknown"
    semi_synthetic: bool = False
    assembly: str | None = None
    seed: int | None = None
    encoder: EncoderSettings = EncoderSettings()
    training: TrainingSettings = TrainingSettings()
    examples_per_step: int | None = None
    chosen_step: int | None = None
    initial_weights: str | None = None
    members: int = 1
    """Models whose mean the bundle returns."""
    member_models: tuple[Mapping[str, object], ...] = ()
    """Their own configs."""
    label_names: tuple[str, ...] = ()
    label_type: str = ""
    """One of `label_types.LABEL_TYPES`; a file names it for classes and targets only."""
    window_bp: int | None = None
    negatives: str = ""
    """How artificial negatives were generated; empty for chromatin labels."""
    encoder_values: Mapping[str, object] = field(default_factory=dict)
    """All encoder settings as in the file."""

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> "ModelConfig":
        """Read the object of a config.json; unknown keys are ignored."""
        known = _known(cls, values)
        encoder = known.pop("encoder", {})
        known["encoder"] = EncoderSettings(**_known(EncoderSettings, encoder))
        training = known.pop("training", {})
        known["training"] = TrainingSettings(**_known(TrainingSettings, training))
        names = known.get("label_names", ())
        known["label_type"] = label_type_of(known.get("label_type"), names)
        return cls(**known, encoder_values=encoder)

    @property
    def sequences_per_step(self) -> int | None:
        """Sequences that one optimizer step reads."""
        if self.examples_per_step is None:
            return self.training.batch_size
        return self.examples_per_step

    @property
    def all_initial_weights(self) -> list[str]:
        """The weights from which the members were fine-tuned, sorted."""
        configs = self.member_models or ({"initial_weights": self.initial_weights},)
        weights = {str(x.get("initial_weights")) for x in configs if x.get("initial_weights")}
        return sorted(weights)
