"""Steps of `evaluate-lm`: scores of the model and of its masked baselines, whole and by part."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.corpus.all_masked import AllMasked
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.evaluation.language_baselines import (
    DESCRIPTIONS,
    BaselineDocuments,
    MaskedBaselines,
)
from dna_bigbird.evaluation.language_scores import score_examples
from dna_bigbird.evaluation.language_strata import spread_costs, strata_tables
from dna_bigbird.metrics.language import interval
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.pretraining_task import PretrainingTask

if TYPE_CHECKING:
    from dna_bigbird.evaluation.language_scores import ExampleScores

    MaskedExamples = PretrainExamples | AllMasked


def scored_ways(
    bundle: Bundle, examples: PretrainExamples, count: int, batch_size: int
) -> tuple[dict[str, MaskedExamples], dict[str, ExampleScores]]:
    """Score the first `count` examples as they are, and with [MASK] at all hidden tokens.

    Returns:
        The examples and the scores, each by "masked" and "all_masked".
    """
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
    documents: BaselineDocuments,
) -> dict:
    """Return the model's tables by chromosome and class, and its masked baselines with theirs.

    Args:
        scores: Of the model, by what its hidden tokens show: "masked" (as in the paper) or "all_masked".
        examples: What it was scored on, by the same names.
        train: Store that the baselines count.
        strata: Ways to divide the positions, by the name of the table.
        documents: How many documents are counted.
    """
    usual = examples["masked"]
    masked = MaskedBaselines(train, usual.vocabulary, usual.masking, documents.most_counted)
    tables: dict = {}
    for shown, their_examples in examples.items():
        baselines = masked.for_masking(their_examples.masking)
        tables = _joined(
            tables, _tables_of(shown, scores[shown], their_examples, baselines, strata)
        )
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
    baselines = {
        baseline: interval(name, whole[:, k] / np.log(2), whole[:, -1], seed)
        | interval(
            f"model_minus_baseline_{shown}",
            (whole[:, 0] - whole[:, k]) / np.log(2),
            whole[:, -1],
            seed,
        )
        | masked.counted_by(baseline)
        | strata_tables(strata, parts, k, seed, name)
        for k, baseline in enumerate(masked.names, start=1)
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
