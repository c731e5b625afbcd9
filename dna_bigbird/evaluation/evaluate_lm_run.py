"""Steps of `evaluate-lm`: scores of the model and of its masked baselines, whole and by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import (
    TokenStore,
    check_store_genome,
    check_tokenizer,
    verify_stores,
)
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.evaluation.evaluate_lm_baselines import (
    DESCRIPTIONS,
    ByChromosome,
    ByRepeatClass,
    MaskedBaselines,
    Strata,
    spread_costs,
    strata_tables,
)
from dna_bigbird.genome import Genome
from dna_bigbird.genome.repeats import repeat_classes
from dna_bigbird.metrics.language import COLUMNS, interval
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.prediction.compute import beyond_training
from dna_bigbird.training.data_modules import chunks
from dna_bigbird.training.pretraining_task import PretrainingTask


@dataclass(frozen=True)
class ExampleScores:
    """Sums over the predicted tokens of each of n examples, and the cost of each token."""

    nll_nats: np.ndarray
    """(n,)"""
    base_pairs: np.ndarray
    """(n,) bases that the predicted tokens cover."""
    predicted: np.ndarray
    """(n,) number of predicted tokens."""
    right: np.ndarray
    """(n,) of them predicted exactly."""
    right_next: np.ndarray | None
    """(n,) 1 where next-sentence prediction was right; None of a model that does not predict it."""
    token_nats: list[np.ndarray]
    """n times the nats of every predicted token, in the order of the example's labels; float32."""

    def metrics(self, seed: int) -> dict[str, float | int | None]:
        """Return all figures with 95 % intervals over examples."""
        next_sentence = {}
        if self.right_next is not None:
            pairs = np.ones(len(self.right_next))
            next_sentence = interval("nsp_accuracy", self.right_next, pairs, seed)
        return {
            **interval("bits_per_base_masked", self.nll_nats / np.log(2), self.base_pairs, seed),
            **interval("mlm_accuracy", self.right, self.predicted, seed),
            **next_sentence,
            "n_examples": len(self.nll_nats),
            "n_masked_tokens": int(self.predicted.sum()),
            "n_masked_bp": int(self.base_pairs.sum()),
        }

    def all_masked_metrics(self, seed: int) -> dict[str, float | None]:
        """Return the figures of examples whose predicted tokens all show [MASK], under own names."""
        bits = self.nll_nats / np.log(2)
        return {
            **interval("bits_per_base_all_masked", bits, self.base_pairs, seed),
            **interval("mlm_accuracy_all_masked", self.right, self.predicted, seed),
        }


@torch.inference_mode()
def score_examples(
    task: PretrainingTask,
    examples,
    count: int,
    *,
    batch_size: int,
    progress: Callable[[Iterable], Iterable] = iter,
) -> ExampleScores:
    """Score the examples 0 … count - 1 with dropout off."""
    task.eval()
    piece_bp = task.piece_bp.cpu().numpy()
    sums: list[np.ndarray] = []
    right_next: list[np.ndarray] = []
    token_nats: list[np.ndarray] = []
    for numbers in progress(chunks(list(range(count)), batch_size)):
        batch = collate_pretraining([(i, examples[i]) for i in numbers])
        batch = type(batch)(*(field.to(task.device) for field in batch))
        nll_P, mlm_logits_PV, nsp_logits_B2 = task.predict_batch(batch)
        labels = batch.labels_P.cpu().numpy()
        predicted = batch.predicted_B.cpu().numpy()
        owner = np.repeat(np.arange(len(numbers)), predicted)
        per_token = (
            nll_P.double().cpu().numpy(),
            piece_bp[labels],
            np.ones(len(labels)),
            (mlm_logits_PV.argmax(-1).cpu().numpy() == labels).astype(float),
        )
        rows = [np.bincount(owner, values, minlength=len(numbers)) for values in per_token]
        sums.append(np.stack(rows))
        if nsp_logits_B2 is not None:
            right_B = nsp_logits_B2.argmax(-1) == batch.is_random_next_B
            right_next.append(right_B.cpu().numpy().astype(float))
        nats = per_token[0].astype(np.float32)
        token_nats += np.split(nats, np.cumsum(predicted)[:-1])
    whole = np.concatenate(right_next) if right_next else None
    return ExampleScores(*np.concatenate(sums, axis=1), whole, token_nats)


def example_rows(masked: ExampleScores, all_masked: ExampleScores) -> list[dict[str, float | int]]:
    """Return one row per example: hidden tokens, their bases, the scores of both ways to hide them."""
    counts = (masked.predicted.astype(int), masked.base_pairs.astype(int))
    scores = [
        x for each in (masked, all_masked) for x in (each.nll_nats.round(6), each.right.astype(int))
    ]
    columns = (x.tolist() for x in (np.arange(len(masked.right)), *counts, *scores))
    return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]


def load_masked_model(model: Path) -> Bundle:
    """Return a pretrained bundle that has the head that is scored."""
    bundle = load_bundle(model)
    if bundle.config.task != PRETRAINING:
        raise InputError(f"{model}: a {bundle.config.task} model; expected a pretrained one")
    if "mlm" not in bundle.model.heads:
        heads = ", ".join(bundle.model.heads) or "none"
        raise InputError(f"{model}: scoring needs the head mlm; it has {heads}")
    bundle.check_reads_dna()
    return bundle


def example_length(bundle: Bundle, max_tokens: int | None) -> int:
    """Return the tokens of an example, and note it if training had none of that length."""
    encoder = bundle.config.encoder
    if max_tokens is None:
        return encoder.max_tokens
    if max_tokens > encoder.max_tokens and not encoder.reads_any_length:
        raise InputError(
            f"--max_tokens {max_tokens}: {bundle.folder} reads at most {encoder.max_tokens} tokens; its "
            "positions are a learned table. Lengthen it first: dna-bigbird convert --help"
        )
    for line in beyond_training(encoder, max_tokens - 2, f"--max_tokens {max_tokens}"):
        note(line)
    return max_tokens


def load_stores(
    train: Path, test: Path, tokenizer: DnaTokenizer, model: Path
) -> dict[str, TokenStore]:
    """Return both token stores, made with the model's tokenizer; both are verified."""
    stores = {"train": TokenStore(train), "test": TokenStore(test)}
    for store in stores.values():
        check_tokenizer(store, tokenizer, model)
    verify_stores(stores.values())
    return stores


def ways_to_divide(
    store: TokenStore, genome: Path | None, repeats: Path | None, pieces: bool
) -> dict[str, Strata]:
    """Return the ways to divide the scores, by the name of their table in metrics.json."""
    strata: dict[str, Strata] = {"by_chromosome": ByChromosome(store.chromosomes)}
    if genome is None:
        if repeats is not None:
            raise InputError("--repeats needs the genome too: give --genome")
        return strata
    reference = Genome(genome)
    check_store_genome(store, reference)
    classes = repeat_classes(reference, repeats, pieces)
    return strata | {"by_repeat_class": ByRepeatClass(classes, store.chromosomes)}


class AllMasked:
    """The same examples and predicted positions, but all of these show [MASK]."""

    # The paper shows the true token at one predicted position in ten, which rewards copying.
    def __init__(self, examples: PretrainExamples) -> None:
        self.examples = examples
        self.seed = examples.seed
        self.vocabulary = examples.vocabulary
        self.masking = replace(examples.masking, mask_share=1.0, random_share=0.0)

    def __getitem__(self, index: int) -> dict[str, np.ndarray | int]:
        """Return one example, as `PretrainExamples`."""
        example = self.examples[index]
        seen = example["token_ids"].copy()
        seen[example["positions"]] = self.vocabulary.mask_id
        return example | {"token_ids": seen}

    def predicted_spans(self, index: int, piece_bp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the predicted tokens lie, as `PretrainExamples`."""
        return self.examples.predicted_spans(index, piece_bp)


if TYPE_CHECKING:
    MaskedExamples = PretrainExamples | AllMasked


def scored_ways(
    bundle: Bundle, examples: PretrainExamples, count: int, batch_size: int
) -> tuple[dict[str, MaskedExamples], dict[str, ExampleScores]]:
    """Return the first `count` examples and their scores, by "masked" and "all_masked"."""
    ways: dict[str, MaskedExamples] = {"masked": examples, "all_masked": AllMasked(examples)}
    scores = {name: model_scores(bundle, way, count, batch_size) for name, way in ways.items()}
    return ways, scores


def model_scores(
    bundle: Bundle, examples: MaskedExamples, count: int, batch_size: int
) -> ExampleScores:
    """Score the first `count` examples, on the GPU if there is one."""
    task = PretrainingTask(bundle.model, TrainConfig(), bundle.tokenizer.piece_bp)
    task.to("cuda" if torch.cuda.is_available() else "cpu")
    progress = partial(progress_bar, desc="examples", unit=" batches")
    return score_examples(task, examples, count, batch_size=batch_size, progress=progress)


def masked_tables(
    scores: Mapping[str, ExampleScores],
    examples: Mapping[str, MaskedExamples],
    train: TokenStore,
    strata: Mapping[str, object],
    most_counted: int | None,
) -> dict:
    """Return the model's tables by chromosome and class, and its masked baselines with theirs."""
    usual = examples["masked"]
    masked = MaskedBaselines(train, usual.vocabulary, usual.masking, most_counted)
    tables: dict = {}
    for shown, own in examples.items():
        baselines = masked.for_masking(own.masking)
        tables = _joined(tables, _tables_of(shown, scores[shown], own, baselines, strata))
    return tables


def _tables_of(
    shown: str,
    scores: ExampleScores,
    examples: MaskedExamples,
    masked: MaskedBaselines,
    strata: Mapping[str, object],
) -> dict:
    """Return the tables of one way to hide tokens; its name is in those of the scores."""
    seed, name = examples.seed, f"bits_per_base_{shown}"
    whole, parts = spread_costs(
        examples,
        scores.token_nats,
        masked.nats,
        examples.vocabulary.piece_bp,
        strata,
        progress=partial(progress_bar, desc="baselines"),
    )
    model, *others = whole[:, :-1].T / np.log(2)
    gain = f"model_minus_baseline_{shown}"
    baselines = {
        baseline: interval(name, bits, whole[:, -1], seed)
        | interval(gain, model - bits, whole[:, -1], seed)
        | masked.counted_by(baseline)
        | strata_tables(strata, parts, k, seed, name)
        for k, (baseline, bits) in enumerate(zip(masked.names, others, strict=True), start=1)
    }
    return {**strata_tables(strata, parts, 0, seed, name), "baselines": baselines}


def _joined(tables: dict, more: dict) -> dict:
    """Return nested tables with the entries of both.

    Example:
        >>> _joined({"a": {"x": 1}, "n": 3}, {"a": {"y": 2}, "n": 3})
        {'a': {'x': 1, 'y': 2}, 'n': 3}
    """
    nested = {
        name: _joined(tables[name], table)
        for name, table in more.items()
        if isinstance(table, dict) and name in tables
    }
    return tables | more | nested


def with_descriptions(metrics: dict) -> dict:
    """Return the metrics with a description in front of the scores of each baseline."""
    baselines = {
        name: {"description": DESCRIPTIONS[name], **table}
        for name, table in metrics["baselines"].items()
    }
    return metrics | {"baselines": baselines}
