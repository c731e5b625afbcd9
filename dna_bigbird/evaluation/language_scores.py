"""Scores of a masked language model, example by example."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch

from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.metrics.language import interval
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
    """Score the examples 0 … count - 1 with dropout off.

    Args:
        examples: datasets.pretraining_examples.PretrainExamples.
    """
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
