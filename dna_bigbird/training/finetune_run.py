"""Steps of `finetune`: the training of a setup, and the search for its recipe."""

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer_baseline import (
    baselines_of,
    fit_kmer_baseline,
    reads_one_strand,
)
from dna_bigbird.baselines.recipe_search import TABLE, draw_recipes, search, trial_folder
from dna_bigbird.bundles.card import is_semi_synthetic
from dna_bigbird.bundles.seen_sequences import union
from dna_bigbird.core.errors import checked_settings, note
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.paths import next_to
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.labelled.chromatin.bin_groups import BinGroups
from dna_bigbird.labelled.labelled_data import standardisation
from dna_bigbird.labelled.labelled_set import LabelledSet, open_labelled_set
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import (
    EncoderConfig,
    HeadConfig,
    check_head,
    stored_encoder,
    stored_head,
)
from dna_bigbird.models.kmer_config import KmerHeadConfig, stored_kmers
from dna_bigbird.models.label_types import MONITORS, RECORDED, REGRESSION, TRACKS
from dna_bigbird.models.lora import adapt, freeze
from dna_bigbird.models.lora_config import LoraConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.models.weight_transfer import copy_weights
from dna_bigbird.training.encoder_source import EncoderSource
from dna_bigbird.training.fit import FitResult, training_settings
from dna_bigbird.training.label_config import (
    LabelHeadConfig,
    LabelTrainConfig,
    recipe_for,
)
from dna_bigbird.training.label_training import LabelModule, train_on_labels
from dna_bigbird.training.processes import is_first_on_node
from dna_bigbird.training.seen_rows import seen_hashes, seen_in_fine_tuning
from dna_bigbird.training.training_checks import module_sha256, set_training_backend

# Steps of `finetune`: the model before its training, and the settings that its bundle keeps.

SET_FACTS = (
    "task", "label_names", "label_groups", "window_bp", "bin_bp", "assembly", "negatives",
)  # fmt: skip
"""What the bundle keeps of the labelled set."""


MEASURED_WINDOWS = 16
"""Training rows whose tokens are counted to choose how many are in the middle."""


_POOLED = {
    "centre": " of {centre_tokens} tokens",
    "parts": " ({parts})",
    "bin": " of {bin_bp} bp",
    "bins": " of {bin_bp} bp",
}


def choose_settings(
    training: TrainConfig,
    head: HeadConfig,
    labelled: LabelledSet,
    source: EncoderSource,
    *,
    trains_layers: bool = True,
) -> tuple[TrainConfig, HeadConfig]:
    """Return the settings with what was not given, and note what was chosen."""
    rows = labelled.rows("train")
    bp_per_token = _bp_per_token(labelled, rows[:MEASURED_WINDOWS], source.tokenizer)
    with checked_settings():
        if isinstance(head, LabelHeadConfig):
            head = head.for_set(
                bin_bp=labelled.bin_bp,
                bp_per_token=bp_per_token,
                window_bp=labelled.window_bp,
                crop_bp=labelled.crop_bp if labelled.num_bins else None,
            )
        check_head(head, source.encoder)
        if not isinstance(training, LabelTrainConfig):
            return training, head
        recipe = recipe_for(
            bin_bp=labelled.bin_bp,
            bp_per_token=bp_per_token,
            trains_layers=trains_layers,
            is_tracks=labelled.num_bins > 0,
        )
        windows = BinGroups.of(labelled, rows).centres if head.bins_at_once else rows
        if training.learning_rate is None and training.both_strands is None and not labelled.bin_bp:
            one_strand, why = reads_one_strand(labelled)
            if why and is_first_on_node():
                note(why)
            training = replace(training, both_strands=not one_strand)
        chosen = training.for_rows(len(windows), recipe)
    if training.has_gaps and is_first_on_node():
        muon = chosen.optimizer == "muon"
        note(
            f"{len(rows):,} training rows{_in_windows(windows, rows)}: {chosen.max_steps:,} steps of {chosen.batch_size}, {chosen.optimizer}, "
            f"learning rate {chosen.learning_rate:g} (head {chosen.head_learning_rate or chosen.learning_rate:g}"
            f"{f', matrices {chosen.muon_learning_rate:g}' if muon else ''})"
            f"{' from a probe' if chosen.start_at_probe else ''}, "
            f"warm-up {chosen.warmup_steps} steps, validation every {chosen.validate_every}, pooling "
            f"{head.pooling}{_POOLED.get(head.pooling, '').format(**asdict(head))}"
        )
    return chosen, head


def _in_windows(windows: np.ndarray, rows: np.ndarray) -> str:
    return "" if windows is rows else f" in {len(windows):,} windows"


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
    if labelled.label_type == TRACKS:
        _, means, stds, _ = labelled.track_training
        facts |= {"target_means": means.tolist(), "target_stds": stds.tolist()}
    return facts


def is_directional(labelled: LabelledSet, both_strands: bool) -> bool:
    """Return True if the labels belong to one strand: trained so, and not bins, which have none."""
    return not both_strands and not labelled.bin_bp


@dataclass(frozen=True)
class FinetuningSetup:
    """What is fine-tuned, on which set, from which weights."""

    source: EncoderSource
    labelled: LabelledSet
    head: HeadConfig
    dropout: float | None
    """Dropout of the encoder; None keeps that of the source."""
    seed: int
    both_strands: bool
    """Whether training windows are shown on both strands."""
    frozen: bool = False
    """Whether the encoder keeps its weights."""
    lora: LoraConfig = field(default_factory=LoraConfig)
    words: KmerHeadConfig | None = None
    """k-mers whose counts are added after the training."""
    trials: list[dict] = field(default_factory=list)
    """Rows of the search that chose the recipe; empty without one."""

    @property
    def is_adapted(self) -> bool:
        """Whether most weights of the encoder are not trained."""
        return self.frozen or self.lora.rank > 0

    @property
    def adaptation(self) -> dict:
        """Which weights are trained, for settings and config; nothing if all are."""
        kept = {"freeze": "encoder"} if self.frozen else {}
        return kept | ({"lora": asdict(self.lora)} if self.lora.rank else {})

    @property
    def encoder(self) -> EncoderConfig:
        """Settings of the encoder."""
        encoder = self.source.encoder
        return encoder if self.dropout is None else replace(encoder, dropout=self.dropout)

    def build_model(self) -> SequenceClassifier:
        """Return the model with the weights that training starts from."""
        num_labels = len(self.labelled.label_names)
        model = SequenceClassifier(self.encoder, num_labels, self.head, seed=self.seed)
        if (bundle := self.source.bundle) is not None:
            copy_weights(bundle.model.encoder, model.encoder)
        if model.bins is not None:
            with checked_settings():
                model.bins.know_pieces(torch.from_numpy(self.source.tokenizer.piece_bp))
        if self.frozen:
            freeze(model.encoder)
        if self.lora.rank:
            with checked_settings():
                adapt(model.encoder, self.lora, torch.Generator().manual_seed(self.seed))
        return model

    def run_settings(self, model: SequenceClassifier) -> dict:
        """Return what decides the result, without the set, the training settings and the seed."""
        return {
            "command": "finetune",
            "model": stored_encoder(self.encoder),
            "head": stored_head(self.head),
            **self.adaptation,
            "inputs": {"encoder": module_sha256(model.encoder), **self.source.inputs},
        }

    def config(self) -> dict:
        """Return what the bundle's config says of set and model."""
        semi_synthetic = is_semi_synthetic(self.labelled.assembly)
        anchor_bp = self.labelled.upstream_bp
        return {
            **{name: getattr(self.labelled, name) for name in SET_FACTS},
            **label_facts(self.labelled),
            "encoder": stored_encoder(self.encoder),
            "head": stored_head(self.head),
            **({"words": stored_kmers(self.words)} if self.words else {}),
            **self.adaptation,
            "semi_synthetic": semi_synthetic or self.source.semi_synthetic,
            "initial_weights": "random" if self.source.bundle is None else "pretrained",
            "seed": self.seed,
            **({"search": self.trials} if self.trials else {}),
            **({"directional": True} if is_directional(self.labelled, self.both_strands) else {}),
            **({} if anchor_bp is None else {"anchor_bp": anchor_bp}),
            **self._seen_regions(),
        }

    @cached_property
    def seen_sequences(self) -> NDArray[np.uint64]:
        """Hashes of all sequences without coordinates that encoder and head have read."""
        before = self.source.bundle
        own = seen_hashes(self.labelled)
        return union([own] if before is None else [own, before.sequences_read])

    def _seen_regions(self) -> dict:
        """Return what encoder and head have read; no regions if those of the encoder are unknown."""
        before, count = self.source.seen_regions, len(self.seen_sequences)
        hashed = {"n_sequences_read": count} if count else {}
        if before is None:
            return hashed
        records = (*before, seen_in_fine_tuning(self.labelled))
        return {"regions_read": [asdict(x) for x in records], **hashed}


def score_trained(
    trained: TrainedModel, data: Path, genome: Path | None, scored: Path, seed: int
) -> TrainedModel:
    """Evaluate a model next to baselines that are fitted here: the bundle `scored`."""
    methods = baselines_of(open_labelled_set(data, genome))
    paths = {method: next_to(scored, f"{method}.h5") for method in methods}
    for name, path in paths.items():
        fit_kmer_baseline(genome, data, path, KmerConfig(), method=name, seed=seed)
    evaluate = load("dna_bigbird.evaluation.evaluate:evaluate")
    evaluation = evaluate(genome, trained.output, data, scored, baselines=paths)
    return replace(trained, evaluation=evaluation)


def train(
    setup: FinetuningSetup, training: TrainConfig, checkpoints: Path
) -> tuple[LabelModule, FitResult, int]:
    """Train a setup; what `train_on_labels` returns."""
    network = setup.build_model()
    set_training_backend(network.encoder, training.attention_backend)
    return train_on_labels(
        network,
        setup.labelled,
        setup.source.tokenizer,
        training,
        max_tokens=network.encoder.config.max_tokens,
        checkpoints=checkpoints,
        seed=setup.seed,
        settings=setup.run_settings(network),
        leaves_out_frozen=setup.is_adapted and training.strategy != "fsdp",
        bins_at_once=setup.head.bins_at_once,
        track_loss=setup.head.loss,
        kmers=setup.words if setup.words and setup.words.around_bp else None,
    )


def chosen_recipe(
    setup: FinetuningSetup, training: TrainConfig, count: int, checkpoints: Path
) -> tuple[FinetuningSetup, TrainConfig, Path, dict[str, str]]:
    """Return setup, settings and checkpoints of the best recipe, and the table as a file."""
    if not count:
        return setup, training, checkpoints, {}
    recipes = draw_recipes(training, setup.dropout, count, setup.seed)
    setups = [replace(setup, dropout=recipe.dropout) for recipe in recipes]
    checksum = sha256_of(setup.labelled.path)

    def run(number: int) -> tuple[float, int]:
        folder = trial_folder(checkpoints, number)
        task, result, _ = train(setups[number], recipes[number].training, folder)
        return result.best_metrics[task.monitor], result.best_step

    def identify(number: int) -> dict:
        tried = setups[number]
        return {
            "training": training_settings(recipes[number].training),
            "settings": tried.run_settings(tried.build_model()),
            "data": checksum,
            "seed": tried.seed,
        }

    values = [recipe.values for recipe in recipes]
    monitor = MONITORS[setup.labelled.label_type]
    done = search(values, run, identify, checkpoints, monitor=monitor)
    best = done.best.number
    chosen = replace(setups[best], trials=done.rows)
    return chosen, recipes[best].training, trial_folder(checkpoints, best), {TABLE: done.table}
