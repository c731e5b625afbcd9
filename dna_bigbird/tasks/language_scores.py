"""Scores of a masked language model, example by example, with their intervals."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch

from dna_bigbird.datasets.modules import chunks, collate_pretraining
from dna_bigbird.tasks.pretraining import PretrainingTask

DRAWS = 1000


@dataclass(frozen=True)
class ExampleScores:
    """Sums over the predicted tokens of each of n examples, and the tokens themselves."""

    nll_nats: np.ndarray
    """(n,)"""
    base_pairs: np.ndarray
    """(n,) bases that the predicted tokens cover."""
    predicted: np.ndarray
    """(n,) number of predicted tokens."""
    right: np.ndarray
    """(n,) of them predicted exactly."""
    right_next: np.ndarray
    """(n,) 1 where next-sentence prediction was right."""

    def metrics(self, seed: int) -> dict[str, float | int]:
        """Return all figures with 95 % intervals over examples."""
        return {
            **interval("bits_per_base_masked", self.nll_nats / np.log(2), self.base_pairs, seed),
            **interval("mlm_accuracy", self.right, self.predicted, seed),
            **interval("nsp_accuracy", self.right_next, np.ones(len(self.right_next)), seed),
            "n_examples": len(self.nll_nats),
            "n_masked_tokens": int(self.predicted.sum()),
            "n_masked_bp": int(self.base_pairs.sum()),
        }


def interval(
    name: str, numerators: np.ndarray, denominators: np.ndarray, seed: int
) -> dict[str, float]:
    """Return a ratio of sums and its 95 % bootstrap interval, drawing whole examples.

    Returns:
        `name`, `name_low` and `name_high`, rounded to six digits.
    """
    count = len(numerators)
    rng = np.random.default_rng([seed, count])
    weights = rng.multinomial(count, np.full(count, 1 / count), size=DRAWS)
    ratios = (weights @ numerators) / (weights @ denominators)
    low, high = np.quantile(ratios, [0.025, 0.975])
    value = numerators.sum() / denominators.sum()
    return {
        name: round(float(value), 6),
        f"{name}_low": round(float(low), 6),
        f"{name}_high": round(float(high), 6),
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
    """Score the examples 0 … count - 1 with dropout off.

    Args:
        examples: datasets.pretraining.PretrainExamples.
    """
    task.eval()
    piece_bp = task.piece_bp.cpu().numpy()
    sums: list[np.ndarray] = []
    for numbers in progress(chunks(list(range(count)), batch_size)):
        batch = collate_pretraining([(i, examples[i]) for i in numbers])
        batch = type(batch)(*(field.to(task.device) for field in batch))
        nll_P, mlm_logits_PV, nsp_logits_B2 = task.predict_batch(batch)
        labels = batch.labels_P.cpu().numpy()
        owner = np.repeat(np.arange(len(numbers)), batch.predicted_B.cpu().numpy())
        per_token = (
            nll_P.double().cpu().numpy(),
            piece_bp[labels],
            np.ones(len(labels)),
            (mlm_logits_PV.argmax(-1).cpu().numpy() == labels).astype(float),
        )
        rows = [np.bincount(owner, values, minlength=len(numbers)) for values in per_token]
        right_next = nsp_logits_B2.argmax(-1) == batch.is_random_next_B
        sums.append(np.stack([*rows, right_next.cpu().numpy().astype(float)]))
    return ExampleScores(*np.concatenate(sums, axis=1))
