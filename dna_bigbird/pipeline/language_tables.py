"""Steps of `evaluate-lm`: scores of the model and of its masked baselines, whole and by part."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.datasets.pretraining_examples import PretrainExamples
from dna_bigbird.datasets.token_store import TokenStore
from dna_bigbird.evaluation.language import interval
from dna_bigbird.progress import progress_bar
from dna_bigbird.tasks.config import TrainConfig
from dna_bigbird.tasks.language_baselines import (
    DESCRIPTIONS,
    BaselineDocuments,
    MaskedBaselines,
)
from dna_bigbird.tasks.language_scores import score_examples
from dna_bigbird.tasks.language_strata import spread_costs, strata_tables
from dna_bigbird.tasks.pretraining_task import PretrainingTask

if TYPE_CHECKING:
    from dna_bigbird.tasks.language_scores import ExampleScores


def model_scores(
    bundle: Bundle, examples: PretrainExamples, count: int, batch_size: int
) -> ExampleScores:
    """Score the first `count` examples, on the GPU if there is one."""
    task = PretrainingTask(bundle.model, TrainConfig(), bundle.tokenizer.piece_bp)
    task.to("cuda" if torch.cuda.is_available() else "cpu")
    progress = partial(progress_bar, desc="examples", unit=" batches")
    return score_examples(task, examples, count, batch_size=batch_size, progress=progress)


def masked_tables(
    scores: ExampleScores,
    examples: PretrainExamples,
    train: TokenStore,
    strata: Mapping[str, object],
    documents: BaselineDocuments,
) -> dict:
    """Return the model's tables by chromosome and class, and its masked baselines with theirs.

    Args:
        scores: Of the model.
        train: Store that the baselines count.
        strata: Ways to divide the positions, by the name of the table.
        documents: How many documents are counted.
    """
    seed = examples.seed
    masked = MaskedBaselines(train, examples.vocabulary, examples.masking, documents.most_counted)
    whole, parts = spread_costs(
        examples,
        scores.token_nats,
        masked.nats,
        examples.vocabulary.piece_bp,
        strata,
        progress=partial(progress_bar, desc="baselines"),
    )
    baselines = {
        name: interval("bits_per_base_masked", whole[:, k] / np.log(2), whole[:, -1], seed)
        | masked.counted
        | strata_tables(strata, parts, k, seed)
        for k, name in enumerate(masked.names, start=1)
    }
    return {**strata_tables(strata, parts, 0, seed), "baselines": baselines}


def with_descriptions(metrics: dict) -> dict:
    """Return the metrics with a description in front of the scores of each baseline."""
    baselines = {
        name: {"description": DESCRIPTIONS[name], **table}
        for name, table in metrics["baselines"].items()
    }
    return metrics | {"baselines": baselines}
