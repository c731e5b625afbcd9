"""Steps of `finetune`: the model before its training, and the settings that its bundle keeps."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import bundled_model
from dna_bigbird.bundles.card import is_semi_synthetic
from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.errors import checked_settings, note
from dna_bigbird.label_types import RECORDED, REGRESSION
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.pipeline.read_regions import read_in_fine_tuning
from dna_bigbird.pipeline.training_checks import module_sha256
from dna_bigbird.tasks.config import TrainConfig
from dna_bigbird.tasks.label_config import LabelHeadConfig, LabelTrainConfig
from dna_bigbird.tasks.label_objectives import standardisation

SET_FACTS = (
    "task", "label_names", "label_groups", "window_bp", "bin_bp", "assembly", "negatives",
)  # fmt: skip
"""What the bundle keeps of the labelled set."""


MEASURED_WINDOWS = 16
"""Training rows whose tokens are counted to choose how many are in the middle."""


def load_encoder(pretrained: Path | None) -> Bundle:
    """Load the bundle whose encoder is fine-tuned; None is the bundled model.

    Raises:
        InputError: If it reads text or is an ensemble.
    """
    bundle = load_bundle(bundled_model() if pretrained is None else pretrained)
    bundle.check_reads_dna()
    bundle.check_single("fine-tuning")
    return bundle


def note_encoder(source: Bundle, *, is_bundled: bool, from_scratch: bool) -> None:
    """Name the encoder if none was given, and what it has read."""
    if from_scratch:
        return
    if is_bundled:
        note(
            f"no --pretrained given: fine-tuning the encoder of the bundled model ({source.folder.name})"
        )
    for record in source.config.regions_read or ():
        note(f"the encoder has read {record.sentence()}")


def choose_settings(
    training: TrainConfig, head: HeadConfig, labelled: LabelledSet, tokenizer: object
) -> tuple[TrainConfig, HeadConfig]:
    """Return the settings with what was not given, and note what was chosen.

    Raises:
        InputError: If given settings contradict chosen ones.
    """
    rows = labelled.rows("train")
    with checked_settings():
        if isinstance(head, LabelHeadConfig):
            bp_per_token = _bp_per_token(labelled, rows[:MEASURED_WINDOWS], tokenizer)
            head = head.for_set(bin_bp=labelled.bin_bp, bp_per_token=bp_per_token)
        if not isinstance(training, LabelTrainConfig):
            return training, head
        chosen = training.for_rows(len(rows))
    if training.has_gaps:
        pooling = f"{head.pooling} of {head.centre_tokens} tokens"
        note(
            f"{len(rows):,} training rows: {chosen.max_steps:,} steps of {chosen.batch_size}, "
            f"learning rate {chosen.learning_rate:g} (head {chosen.head_learning_rate or chosen.learning_rate:g}), "
            f"warm-up {chosen.warmup_steps} steps, validation every {chosen.validate_every}, pooling "
            f"{pooling if head.pooling == 'centre' else head.pooling}"
        )
    return chosen, head


def _bp_per_token(labelled: LabelledSet, rows: np.ndarray, tokenizer: object) -> float:
    windows = [labelled.sequence(int(row)) for row in rows]
    tokens = sum(len(tokenizer.encode(bases)) for bases in windows)
    return sum(map(len, windows)) / max(1, tokens)


def label_facts(labelled: LabelledSet) -> dict:
    """Return what the bundle keeps of classes and targets; nothing for labels of 0 and 1."""
    if labelled.label_type not in RECORDED:
        return {}
    facts: dict = {"label_type": labelled.label_type}
    if labelled.label_type == REGRESSION:
        means, stds = standardisation(labelled.labels_of(labelled.rows("train")))
        facts |= {"target_means": means, "target_stds": stds}
    return facts


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
            **label_facts(self.labelled),
            "encoder": asdict(self.encoder),
            "head": asdict(self.head),
            "semi_synthetic": semi_synthetic or self.source.config.semi_synthetic,
            "initial_weights": "random" if self.from_scratch else "pretrained",
            "seed": self.seed,
            **self._regions_read(),
        }

    def _regions_read(self) -> dict:
        """Return what encoder and head have read; nothing if that of the encoder is unknown."""
        before = [] if self.from_scratch else self.source.config.regions_read
        if before is None:
            return {}
        return {"regions_read": [asdict(x) for x in (*before, read_in_fine_tuning(self.labelled))]}
