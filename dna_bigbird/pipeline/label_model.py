"""Steps of `finetune`: the model before its training, and the settings that its bundle keeps."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.card import is_semi_synthetic
from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.pipeline.training_checks import module_sha256

SET_FACTS = (
    "task", "label_names", "label_groups", "window_bp", "bin_bp", "assembly", "negatives",
)  # fmt: skip
"""What the bundle keeps of the labelled set."""


def load_encoder(pretrained: Path) -> Bundle:
    """Load the bundle whose encoder is fine-tuned.

    Raises:
        InputError: If it reads text or is an ensemble.
    """
    bundle = load_bundle(pretrained)
    bundle.check_reads_dna()
    bundle.check_single("fine-tuning")
    return bundle


@dataclass(frozen=True)
class FinetuningSetup:
    """What is fine-tuned, on which set, from which weights."""

    source: Bundle
    labelled: LabelledSet
    head: HeadConfig
    dropout: float | None
    """Dropout of the encoder; None keeps that of the source."""
    from_scratch: bool
    seed: int

    @property
    def encoder(self) -> EncoderConfig:
        """Settings of the encoder."""
        encoder = self.source.config.encoder
        return encoder if self.dropout is None else replace(encoder, dropout=self.dropout)

    def build_model(self) -> SequenceClassifier:
        """Return the model with the weights that training starts from."""
        num_labels = len(self.labelled.label_names)
        model = SequenceClassifier(self.encoder, num_labels, self.head, seed=self.seed)
        if not self.from_scratch:
            model.encoder.load_state_dict(self.source.model.encoder.state_dict())
        return model

    def run_settings(self, model: SequenceClassifier) -> dict:
        """Return what decides the result, without the set, the training settings and the seed."""
        return {
            "command": "finetune",
            "model": asdict(self.encoder),
            "head": asdict(self.head),
            "inputs": {"encoder": module_sha256(model.encoder)},
        }

    def config(self) -> dict:
        """Return what the bundle's config says of set and model."""
        semi_synthetic = is_semi_synthetic(self.labelled.assembly)
        return {
            **{name: getattr(self.labelled, name) for name in SET_FACTS},
            "encoder": asdict(self.encoder),
            "head": asdict(self.head),
            "semi_synthetic": semi_synthetic or self.source.config.semi_synthetic,
            "initial_weights": "random" if self.from_scratch else "pretrained",
            "seed": self.seed,
        }
