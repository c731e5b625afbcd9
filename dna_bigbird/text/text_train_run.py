"""The parts of a fine-tuning on a text task: settings of the encoder, rows, training, the bundle."""

from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.errors import InputError, checked_settings
from dna_bigbird.core.limits import use_threads
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.corpus.hidden_sentence_examples import (
    choose_sentences,
    sentence_fields,
    with_sentences,
)
from dna_bigbird.models.attention_config import HIDDEN_SENTENCE, SENTENCE
from dna_bigbird.models.config import BIN, EncoderConfig, stored_encoder
from dna_bigbird.models.encoder import initialise
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.etc_encoder import GlobalTokens
from dna_bigbird.models.pretraining_model import CpcHead, HiddenSentences
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.prediction.partial_results import Outputs, as_arrays, in_order, split_rows
from dna_bigbird.text.data.row_store import StoredSet
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.set_source import SetSource, check_length, count_metrics, report_size
from dna_bigbird.text.stored_sets import stored_set
from dna_bigbird.text.tasks.task import TextTask, text_data
from dna_bigbird.training.fit import fit
from dna_bigbird.training.objective import Objective, Sums, pair
from dna_bigbird.training.objective_config import CpcConfig
from dna_bigbird.training.pretraining_task import contrast, figures_of, loss_of
from dna_bigbird.training.trained_bundle import save_trained, validation_metrics
from dna_bigbird.training.training_checks import (
    check_compiles,
    check_no_dropout,
    module_sha256,
    set_training_backend,
)

NO_CPC = CpcConfig(weight=0.0)


def scores_of(task: TextTask, text_set: TextSet, outputs: list[Outputs]) -> dict[str, float]:
    """Decode and score with the official metric."""
    predictions = task.decode(text_set, outputs)
    statistics = task.statistics(text_set.examples, predictions)
    metrics = task.summarise(np.asarray(statistics, dtype=np.float64))
    return {name: float(value) for name, value in metrics.items()}  # checkpoints hold plain values


# B batch, T tokens, G global tokens, S hidden sentences


def hide_sentences(batch: Any, cpc: CpcConfig, mask_id: int) -> HiddenSentences:
    """Hide some sentences of each row, all equally likely; `numbers_S` are those of their global tokens."""
    tokens = batch.global_tokens
    owns_BTG = tokens.layout.belongs & (tokens.types_BG == SENTENCE)[:, None]
    rng = np.random.default_rng(int(torch.randint(2**62, ())))  # seeded before every micro-batch
    examples = []
    for ids_T, owns_TG in zip(
        batch.token_ids_BT.cpu().numpy(), owns_BTG.cpu().numpy(), strict=True
    ):
        numbers = np.flatnonzero(owns_TG.any(axis=0))
        is_text = owns_TG.any(axis=1)
        sentences = np.where(is_text, np.searchsorted(numbers, owns_TG.argmax(axis=1)), -1)
        chosen = choose_sentences(sentences, is_text, rng, cpc)
        shown = np.where(np.isin(sentences, chosen), mask_id, ids_T)
        example = with_sentences(ids_T, sentences, chosen) | {"hidden_ids": shown}
        examples.append(example | {"hidden": numbers[chosen]})
    fields = sentence_fields(list(enumerate(examples))).items()
    device = batch.token_ids_BT.device
    return HiddenSentences.of(SimpleNamespace(**{k: v.to(device) for k, v in fields}))


def check_contrast(task: TextTask, cpc: CpcConfig) -> None:
    """Raise InputError if CPC is asked for where rows have no global tokens of sentences."""
    if cpc.weight and not (task.two_streams and hasattr(task.options, "max_global_tokens")):
        raise InputError(
            f"--cpc.weight {cpc.weight:g}: sentences have global tokens in question answering with attention etc "
            "only; leave it out"
        )


def contrast_head(bundle: Bundle, encoder: EncoderConfig, seed: int, from_scratch: bool) -> CpcHead:
    """Return the head of CPC of a pretrained model, or a fresh one."""
    head = CpcHead(encoder.hidden_size)
    initialise(head, encoder.init_std, torch.Generator().manual_seed(seed))
    own = getattr(bundle.model, "cpc", None)
    if own is not None and not from_scratch:
        head.load_state_dict(own.state_dict())
    return head


class TextModule(Objective):
    """Training of a text task; validation decodes and scores with its official metric."""

    # With CPC a training batch is read once more, with hidden sentences, so that answers are learned from whole
    # texts; its head is `model.cpc`, which no bundle has.

    def __init__(
        self,
        model: nn.Module,
        task: TextTask,
        config: TrainConfig,
        validation: TextSet,
        cpc: CpcConfig = NO_CPC,
        mask_id: int = 0,
    ) -> None:
        super().__init__(model, config)
        self.task, self.cpc, self.mask_id = task, cpc, mask_id
        self.validation = validation
        self.monitor, self.mode = task.monitor, task.mode
        self._outputs: list[tuple[int, Outputs]] = []

    def examples_of(self, batch: Any) -> Tensor:
        return batch.rows_B

    def loss_and_sums(self, batch: Any) -> tuple[Tensor, Sums]:
        outputs = self.task.outputs(self.model, batch)
        loss = self.task.loss(outputs, batch)
        rows = len(batch.rows_B)
        sums = {"loss": pair(loss * rows, rows)}
        if self.training and self.cpc.weight:
            hidden = hide_sentences(batch, self.cpc, self.mask_id)
            result = contrast(*self.vectors(batch, hidden), gather=True)
            loss = (1 - self.cpc.weight) * loss + self.cpc.weight * loss_of(result)
            sums = {"loss": pair(loss * rows, rows), **figures_of(result)}
        if not self.training:
            if self.task.scored_by_loss:
                sums |= self.task.loss_sums(outputs, batch)
            else:
                self._outputs += split_rows(
                    as_arrays(self.task.kept(outputs, batch)), batch.rows_B.tolist()
                )
        return loss, sums

    def vectors(self, batch: Any, hidden: HiddenSentences) -> tuple[Tensor, Tensor]:
        """Return vectors of hidden sentences in their rows, and read alone."""
        types_BG = batch.global_tokens.types_BG.clone()
        types_BG[hidden.rows_S, hidden.numbers_S] = HIDDEN_SENTENCE
        tokens = GlobalTokens(types_BG, batch.global_tokens.layout)
        rest = (batch.is_padding_BT, batch.segment_ids_BT)
        encoder = self.model.encoder
        _, global_BGE = encoder.both(hidden.hidden_ids_BT, *rest, global_tokens=tokens)
        return self.model.cpc(encoder, global_BGE, hidden)

    def on_validation_epoch_start(self) -> None:
        """Forget the rows of the validation before."""
        super().on_validation_epoch_start()
        self._outputs = []

    def on_validation_epoch_end(self) -> None:
        """Add the official metrics over the rows of all processes."""
        super().on_validation_epoch_end()
        if self.task.scored_by_loss:
            return
        rows = self._outputs
        if self.trainer.world_size > 1:
            parts: list = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, rows)
            rows = [row for part in parts for row in part]
        outputs = in_order(rows, len(self.validation.rows))
        self.validation_metrics |= scores_of(self.task, self.validation, outputs)
        self._outputs = []


def check_run(output: Path, training: TrainConfig, threads: int) -> None:
    """Check what can be checked before the data are read, and set the threads."""
    use_threads(threads)
    check_compiles(training)
    check_no_dropout(training)
    if training.strategy == "fsdp":  # processes with unequal numbers of validation batches hang
        raise InputError("--training.strategy fsdp does not train text tasks; use ddp")


def encoder_settings(
    task: TextTask,
    bundle: Bundle,
    dropout: float | None,
    changes: EncoderChanges,
    from_scratch: bool,
) -> EncoderConfig:
    """Return the settings of the encoder to fine-tune: with markers, as the options want it."""
    pretrained = bundle.config.encoder
    attention = changes.attention or pretrained.attention
    for name in changes.values:
        of_attention, _, _ = name.rpartition(".")
        if of_attention not in ("", attention):
            raise InputError(f"--{name} is for a model with attention {of_attention}")
    if not from_scratch and (others := changes.other_weights(pretrained)):
        raise InputError(
            f"--{others[0]} needs fresh weights: leave it out, or add --from_scratch true"
        )
    with checked_settings():
        encoder = changes.applied_to(pretrained)
    size = max(pretrained.vocab_size, bundle.tokenizer.size_with_markers)
    sizes = {"vocab_size": size, "dropout": dropout}
    if encoder.attention == "etc" and pretrained.num_segments:
        sizes["num_segments"] = max(pretrained.num_segments, task.num_segments)
    with checked_settings():
        return replace(encoder, **{k: v for k, v in sizes.items() if v is not None})


def stored_sets(
    task: TextTask,
    bundle: Bundle,
    paths: dict[str, Path],
    folder: Path,
    limit: int,
    seed: int,
    max_unpacked_gib: float = 0,
    threads: int = 0,
) -> tuple[TextTask, dict[str, StoredSet]]:
    """Return the task with its labels, the training rows and those of (a sample of) the validation; report both."""
    check_length(task, bundle.config.encoder.max_tokens, bundle.folder)
    sets = {}
    for split, path in paths.items():
        is_training = split == "train"
        source = SetSource(
            task,
            bundle.tokenizer,
            path,
            split,
            bundle.config.encoder.max_tokens,
            training=is_training,
            limit=0 if is_training else limit,
            seed=seed,
            max_unpacked_gib=max_unpacked_gib,
        )
        sets[split] = stored_set(folder / f"rows-{split}.h5", source, threads)
        if is_training:
            task = task.changed(labels=sets[split].labels)
    for split, rows in sets.items():
        report_size(split, rows)
    return task, sets


def start_model(
    task: TextTask, bundle: Bundle, encoder: EncoderConfig, seed: int, from_scratch: bool
) -> nn.Module:
    """Return the model of a task with the weights of the pretrained one, or with fresh ones."""
    if getattr(task.head, "pooling", None) == BIN:
        raise InputError(
            f"--head.pooling {BIN} is for DNA, and text has no bins; choose another pooling"
        )
    with checked_settings():
        model = task.description.build_model(encoder, task.head, len(task.labels), seed)
        if not from_scratch:
            task.start_from(model, bundle.model, seed)
    return model


def fit_and_save(
    task: TextTask,
    model: nn.Module,
    sets: dict[str, StoredSet],
    training: TrainConfig,
    *,
    tokenizer: Any,
    output: Path,
    checkpoints: Path,
    seed: int,
    initial_weights: str,
    cpc: CpcConfig = NO_CPC,
) -> TrainedModel:
    """Train a model, and write the bundle of the best validation."""
    set_training_backend(model.encoder, training.attention_backend)
    mask_id = tokenizer.mask_id if cpc.weight else 0
    module = TextModule(model, task, training, sets["validation"], cpc, mask_id)
    stream = text_data(
        sets["train"],
        sets["validation"],
        task.collate,
        seed=seed,
        batch_size=training.batch_size,
        accumulate=training.accumulate,
        workers=training.workers,
        units=task.units(sets["train"]),
    )
    described = described_task(task, model.encoder.config)
    if cpc.weight:
        described["objective"] = {"cpc": asdict(cpc)}
    settings = {**described, "inputs": checksums_of(sets, model)}
    result = fit(module, stream, training, checkpoints=checkpoints, seed=seed, settings=settings)
    if cpc.weight:
        del model.cpc
    validation = sets["validation"]
    counts = {"n": len(validation.examples), **count_metrics(validation.counts)}
    return save_trained(
        output,
        module,
        tokenizer,
        training,
        result,
        config={**described, "initial_weights": initial_weights, "seed": seed},
        metrics=validation_metrics(result.best_metrics, result.best_step, seed, **counts),
    )


def checksums_of(sets: dict[str, StoredSet], model: nn.Module) -> dict[str, str]:
    """Return checksums of the rows, of the labels that choose the step, and of the first weights."""
    return {
        **{split: rows.rows_sha256 for split, rows in sets.items()},
        "gold": sets["validation"].examples_sha256,
        "model": module_sha256(model),
    }


def described_task(task: TextTask, encoder: EncoderConfig) -> dict:
    """Return what a bundle's config says of its task and its model."""
    return {
        "task": task.name,
        "set": getattr(task.options, "set", task.name),
        "reads": "text",
        "encoder": stored_encoder(encoder),
        "head": asdict(task.head),
        "options": asdict(task.options),
        "label_names": task.labels,
    }
