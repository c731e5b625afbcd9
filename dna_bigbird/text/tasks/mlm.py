"""Masked words of text (specification §1.6, §6)."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.baselines.ngram import TokenUnigram, posterior_choice, posterior_nll
from dna_bigbird.corpus.batches import MaskedBatch, collate_masked
from dna_bigbird.metrics.language import interval
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.data_modules import chunks
from dna_bigbird.training.objective import Objective, Sums, pair

# B batch, T tokens, P predicted positions of the whole batch, V vocabulary, N examples


class MaskedTextTask(Objective):
    """Predict the pieces of masked words.

    The loss is the mean over predicted pieces. Figures:

    * `bits_per_token`: mean negative log-likelihood of the predicted pieces over ln 2, what the
      paper's Table 10 and Longformer's code call bits per character;
    * `bits_per_char`: the same sum over the characters that the predicted pieces stand for
      (corpus.piece_characters);
    * `mlm_accuracy`: share of exact predictions.

    Args:
        model: Called as models.pretraining_model.PretrainingModel.
        characters: Of every token id, shape (V,).
    """

    monitor = "bits_per_token"
    mode = "min"

    def __init__(self, model: nn.Module, config: TrainConfig, characters: np.ndarray) -> None:
        super().__init__(model, config)
        values = torch.as_tensor(np.asarray(characters), dtype=torch.float64)
        self.register_buffer("characters", values, persistent=False)

    def predict_batch(self, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
        """Return negative log-likelihoods (P,) in nats, and which predictions are exact, (P,)."""
        logits_PV, _ = self.model(batch.token_ids_BT, batch.is_padding_BT, None, batch.positions_P)
        nll_P = nn.functional.cross_entropy(logits_PV.float(), batch.labels_P, reduction="none")
        return nll_P, logits_PV.argmax(-1) == batch.labels_P

    def loss_and_sums(self, batch: MaskedBatch) -> tuple[Tensor, Sums]:
        """Return the loss and the figures above."""
        nll_P, right_P = self.predict_batch(batch)
        loss = pair(nll_P.sum(), len(nll_P))
        return nll_P.mean(), {"loss": loss, **self.figures_of_masks(batch, nll_P, right_P)}

    def figures_of_masks(self, batch: MaskedBatch, nll_P: Tensor, right_P: Tensor) -> Sums:
        """Return the figures of masked words."""
        count = len(nll_P)
        bits = nll_P.double().sum() / math.log(2)
        return {
            "bits_per_token": pair(bits, count),
            "bits_per_char": pair(bits, self.characters[batch.labels_P].sum()),
            "mlm_accuracy": pair(right_P.sum(), count),
        }


def metrics_of(
    nll_nats: np.ndarray, characters: np.ndarray, predicted: np.ndarray, seed: int
) -> dict[str, float | None]:
    """Return `bits_per_token` and `bits_per_char` with 95 % intervals over examples.

    Args:
        nll_nats, characters, predicted: Sums of each example, shape (N,).
    """
    bits = nll_nats / math.log(2)
    return interval("bits_per_token", bits, predicted, seed) | interval(
        "bits_per_char", bits, characters, seed
    )


@torch.inference_mode()
def evaluate_masked(
    task: MaskedTextTask,
    examples,
    count: int,
    *,
    counts: np.ndarray,
    batch_size: int,
    seed: int,
) -> dict:
    """Score the examples 0 … count - 1 with dropout off, next to piece frequencies.

    Args:
        examples: datasets.text.masked.MaskedTextExamples.
        counts: How often each piece occurs in the training text, shape (V,); gives `unigram`, which
            reads no context, and `unigram_informed`, which also uses the piece shown where a
            predicted position does not show [MASK] (Bayes' rule with the shares of masking).
        seed: Of the bootstrap.

    Returns:
        Metrics with `baselines` by name, as metrics.json has them.
    """
    task.eval()
    characters = task.characters.cpu().numpy()
    vocabulary, masking = examples.vocabulary, examples.masking
    unigram = TokenUnigram(first_piece_id=vocabulary.first_piece_id).fit_counts(counts)
    hiding = {
        "mask_id": vocabulary.mask_id,
        "num_pieces": vocabulary.vocab_size - vocabulary.first_piece_id,
        "mask_share": masking.mask_share,
        "random_share": masking.random_share,
    }
    rows = []
    for numbers in chunks(list(range(count)), batch_size):
        numbered = [(i, examples[i]) for i in numbers]
        batch = collate_masked(numbered)
        nll_P, right_P = task.predict_batch(type(batch)(*(x.to(task.device) for x in batch)))
        labels = batch.labels_P.numpy()
        shown = batch.token_ids_BT.flatten()[batch.positions_P].numpy()
        p = unigram.probability
        seen_p = p[np.where(shown == vocabulary.mask_id, labels, shown)]
        informed = posterior_nll(labels, shown, p[labels], seen_p, **hiding)
        values = [np.ones(len(labels)), characters[labels], nll_P.double().cpu().numpy()]
        values += [right_P.cpu().numpy(), unigram.nll(labels), labels == p.argmax()]
        values += [informed, labels == posterior_choice(shown, p, **hiding)]
        owner = np.repeat(np.arange(len(numbers)), batch.predicted_B.numpy())
        rows.append([np.bincount(owner, v, minlength=len(numbers)) for v in values])
    predicted, covered, nats, right, *baselines = np.concatenate(rows, axis=1)
    return {
        **metrics_of(nats, covered, predicted, seed),
        **interval("mlm_accuracy", right, predicted, seed),
        "n_examples": count,
        "n_masked_tokens": int(predicted.sum()),
        "n_masked_characters": int(covered.sum()),
        "baselines": {
            name: metrics_of(cost, covered, predicted, seed)
            | interval("mlm_accuracy", hits, predicted, seed)
            for name, cost, hits in zip(
                ("unigram", "unigram_informed"), baselines[::2], baselines[1::2], strict=True
            )
        },
    }
