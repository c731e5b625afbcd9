"""Steps of `evaluate-lm`: scores of the model and of its masked baselines, whole and by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
    check_tokenizer,
    verify_stores,
)
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.evaluation.evaluate_lm_baselines import (
    DESCRIPTIONS,
    MaskedBaselines,
)
from dna_bigbird.evaluation.evaluate_lm_parts import (
    HiddenTokens,
    Strata,
    part_tables,
    spread_costs,
)
from dna_bigbird.metrics.language import BLOCK_BP, COLUMNS, interval
from dna_bigbird.metrics.verdicts import NETWORK
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
    token_right: list[np.ndarray]
    """Likewise 1 for a token that is predicted exactly, else 0."""

    def by_block(self, hidden: HiddenTokens) -> np.ndarray:
        """Return tokens, bases, nats and exact predictions by block of the genome, (U, 4)."""
        nats, right = np.concatenate(self.token_nats), np.concatenate(self.token_right)
        return hidden.by_block(np.stack([np.ones(len(nats)), hidden.bases, nats, right], axis=1))

    def metrics(
        self, seed: int, hidden: HiddenTokens, shown: str = "masked"
    ) -> dict[str, float | int | None]:
        """Return all figures with 95 % intervals over blocks of the genome; `shown` is in their names."""
        end = shown.removeprefix("masked")
        tokens, bases, nats, right = self.by_block(hidden).T
        figures = {
            **interval(f"bits_per_base_{shown}", nats / np.log(2), bases, seed),
            **interval(f"mlm_accuracy{end and '_' + end}", right, tokens, seed),
        }
        if end:
            return figures
        if self.right_next is not None:
            pairs = np.stack([self.right_next, np.ones(len(self.right_next))], axis=1)
            figures |= interval("nsp_accuracy", *hidden.examples_by_block(pairs).T, seed)
        return figures | {
            "n_examples": len(self.nll_nats),
            "n_masked_tokens": int(self.predicted.sum()),
            "n_masked_bp": int(self.base_pairs.sum()),
            "block_bp": BLOCK_BP,
            "n_blocks": len(hidden.blocks),
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
    token_right: list[np.ndarray] = []
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
        token_right += np.split(per_token[3], np.cumsum(predicted)[:-1])
    whole = np.concatenate(right_next) if right_next else None
    return ExampleScores(*np.concatenate(sums, axis=1), whole, token_nats, token_right)


def block_rows(
    hidden: HiddenTokens, masked: ExampleScores, all_masked: ExampleScores
) -> list[dict[str, str | float | int]]:
    """Return one row per block: hidden tokens, their bases, the scores of both ways to hide them."""
    sums, of_all = masked.by_block(hidden), all_masked.by_block(hidden)
    columns = [hidden.blocks, *sums[:, :2].astype(int).T.tolist()]
    for nats, right in (sums[:, 2:].T, of_all[:, 2:].T):
        columns += [nats.round(6).tolist(), right.astype(int).tolist()]
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


def ways_to_hide(examples: PretrainExamples) -> dict[str, MaskedExamples]:
    """Return the examples as they are, and with [MASK] at all predicted positions."""
    return {"masked": examples, "all_masked": AllMasked(examples)}


def scores_by_way(
    bundle: Bundle, ways: Mapping[str, MaskedExamples], count: int, batch_size: int
) -> dict[str, ExampleScores]:
    """Score the first `count` examples of each way."""
    return {name: model_scores(bundle, way, count, batch_size) for name, way in ways.items()}


@contextmanager
def network_alone(bundle: Bundle) -> Iterator[None]:
    """Take the copies away from a model for a while."""
    copies, bundle.model.copies = bundle.model.copies, None
    try:
        yield
    finally:
        bundle.model.copies = copies


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
    alone: Mapping[str, ExampleScores],
    examples: Mapping[str, MaskedExamples],
    hidden: HiddenTokens,
    masked: MaskedBaselines,
    strata: Mapping[str, Strata],
) -> dict:
    """Return the model's tables by part of the genome, and its masked baselines with theirs.

    `alone` are the scores of the network of a model that copies; empty of others.
    """
    count = len(scores["masked"].token_nats)
    of_bases = masked.of_bases(examples["masked"], count)
    progress = partial(progress_bar, desc="baselines")
    tables: dict = {}
    for shown, own in examples.items():
        baselines = masked.for_masking(own.masking)
        nats = baselines.nats(own, count, of_bases, progress)
        if shown in alone:
            nats = np.column_stack([nats, np.concatenate(alone[shown].token_nats)])
        names = [*masked.names, *([NETWORK] if shown in alone else [])]
        whole, parts = spread_costs(hidden, scores[shown].token_nats, nats, strata)
        tables = _joined(
            tables, _tables_of(shown, own.seed, whole, parts, baselines, names, strata)
        )
    return tables


def _tables_of(
    shown: str,
    seed: int,
    whole: np.ndarray,
    parts: dict[str, np.ndarray],
    masked: MaskedBaselines,
    names: Sequence[str],
    strata: Mapping[str, Strata],
) -> dict:
    """Return the tables of one way to hide tokens; its name is in those of the scores."""
    model, *others = whole[:, :-1].T / np.log(2)
    name, gain = f"bits_per_base_{shown}", f"model_minus_baseline_{shown}"
    baselines = {
        baseline: interval(name, bits, whole[:, -1], seed)
        | interval(gain, model - bits, whole[:, -1], seed)
        | masked.counted_by(baseline)
        | part_tables(strata, parts, k, seed, shown)
        for k, (baseline, bits) in enumerate(zip(names, others, strict=True), start=1)
    }
    return {**part_tables(strata, parts, 0, seed, shown), "baselines": baselines}


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
