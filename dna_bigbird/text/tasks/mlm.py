"""Masked words of text (specification §1.6, §6)."""

import itertools
import math
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.baselines.ngram import TokenUnigram, posterior_choice, posterior_nll
from dna_bigbird.corpus.batches import MaskedBatch, PretrainingBatch, collate_masked, masked_fields
from dna_bigbird.corpus.hidden_sentence_examples import (
    HiddenSentenceBatch,
    SentenceHiding,
    choose_sentences,
    sentence_fields,
    sentence_rng,
    sentences_of_text,
    with_copy,
    with_sentences,
)
from dna_bigbird.metrics.language import interval
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.store import TextStore
from dna_bigbird.text.whole_words import TextIds, TextMaskingConfig, mask_words
from dna_bigbird.training.data_modules import chunks
from dna_bigbird.training.objective import Objective, Sums, pair

# Examples of text pretraining made on the fly: packed documents with masked words.
#
# Every example is a function of (seed, epoch, index in the epoch), as in `corpus.pretraining_examples`.

# Documents joined into examples of a fixed length: `[CLS] doc [SEP] doc [SEP] …` (paper, §E.1).
#
# The paper splits documents longer than 4,096 tokens and joins much shorter ones; its exact rule is
# not published. Here: greedy in the order of the corpus, every token exactly once.

SMALLEST = 4
"""[CLS], two tokens and [SEP]."""


@dataclass(frozen=True)
class Packs:
    """n examples made of parts of documents."""

    # bounds (parts, 2): half-open token offsets. Example i has the parts offsets[i] to offsets[i +
    # 1].

    bounds: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def parts(self, number: int) -> list[tuple[int, int]]:
        first, last = self.offsets[number : number + 2].tolist()
        return [(int(start), int(end)) for start, end in self.bounds[first:last]]


def pack(document_offsets: Sequence[int] | np.ndarray, max_tokens: int) -> Packs:
    """Fill examples with documents, one after the other: `[CLS] part [SEP] part [SEP] …`."""
    # A document that does not fit begins the next example if this one is at least half full; else
    # as much of it as fits is taken, and its rest is the next document.
    if max_tokens < SMALLEST:
        raise ValueError(f"max_tokens {max_tokens} must be at least {SMALLEST}")
    bounds: list[tuple[int, int]] = []
    offsets = [0]
    used = 1
    edges = np.asarray(document_offsets, dtype=np.int64).tolist()
    for start, end in itertools.pairwise(edges):
        while start < end:
            room = max_tokens - used - 1
            if end - start > room and 2 * used >= max_tokens:
                offsets.append(len(bounds))
                used = 1
                continue
            length = min(end - start, room)
            bounds.append((start, start + length))
            used += length + 1
            start += length
    if offsets[-1] < len(bounds):
        offsets.append(len(bounds))
    return Packs(np.array(bounds, dtype=np.int64).reshape(-1, 2), np.array(offsets, dtype=np.int64))


class MaskedTextExamples:
    """Example number `index` of an endless, reproducible stream; an epoch reads each token once."""

    def __init__(
        self,
        store: TextStore,
        vocabulary: TextIds,
        max_tokens: int,
        masking: TextMaskingConfig,
        seed: int,
        *,
        in_order: bool = False,
    ) -> None:
        self.store = store
        self.vocabulary = vocabulary
        self.masking = masking
        self.seed = seed
        self.in_order = in_order
        self.packs = pack(store.document_offsets, max_tokens)
        self.budget = masking.budget(max_tokens)
        self._order: tuple[int, Sequence[int] | np.ndarray] | None = None

    @property
    def examples_per_epoch(self) -> int:
        return len(self.packs)

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        """Return `token_ids` (T,), `positions` (M,) of the pieces to predict, and `labels` (M,)."""
        ids, is_text = self.unmasked(index)
        return self.masked(index, ids, is_text)

    def masked(self, index: int, ids: np.ndarray, may_hide: np.ndarray) -> dict[str, np.ndarray]:
        """Return an example with masked words; unknown pieces only if there is nothing else."""
        known = may_hide & (ids >= self.vocabulary.first_piece_id)
        seen, positions, labels = mask_words(
            ids,
            known if known.any() else may_hide,
            np.random.default_rng([self.seed, *divmod(index, len(self.packs))]),
            self.masking,
            self.vocabulary,
            self.budget,
        )
        return {"token_ids": seen, "positions": positions, "labels": labels}

    def _pack(self, epoch: int, number: int) -> int:
        if self.in_order:
            return number
        if self._order is None or self._order[0] != epoch:
            rng = np.random.default_rng([self.seed, epoch])
            self._order = (epoch, rng.permutation(len(self.packs)))
        return int(self._order[1][number])

    def unmasked(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of an example before words are masked, and which of them are text, (T,) twice."""
        number = self._pack(*divmod(index, len(self.packs)))
        separator = [self.vocabulary.sep_id]
        parts, is_text = [[self.vocabulary.cls_id]], [[False]]
        for start, end in self.packs.parts(number):
            parts += [self.store.tokens(start, end), separator]
            is_text += [np.ones(end - start, dtype=bool), [False]]
        ids = np.concatenate(parts).astype(np.int64)
        return ids, np.concatenate(is_text).astype(bool)


SENTENCE_FIELDS = HiddenSentenceBatch._fields[len(PretrainingBatch._fields) :]
HiddenTextBatch = namedtuple("HiddenTextBatch", (*MaskedBatch._fields, *SENTENCE_FIELDS))


class HiddenTextExamples:
    """The examples of `MaskedTextExamples`, a few of whose sentences are hidden."""

    # All tokens of a hidden sentence are masked and none is predicted. Their number still shows how
    # long it is.

    def __init__(
        self,
        examples: MaskedTextExamples,
        ends: np.ndarray,
        hiding: SentenceHiding,
        *,
        keeps_masks: bool = False,
    ) -> None:
        self.examples = examples
        self.ends = ends
        self.hiding = hiding
        self.keeps_masks = keeps_masks

    @property
    def examples_per_epoch(self) -> int:
        return self.examples.examples_per_epoch

    def __getitem__(self, index: int) -> dict:
        """Return one example: as `MaskedTextExamples`, with sentences as `HiddenSentenceExamples` has them."""
        examples = self.examples
        ids, is_text = examples.unmasked(index)
        sentences = sentences_of_text(ids, is_text, self.ends)
        chosen = choose_sentences(sentences, is_text, sentence_rng(examples, index), self.hiding)
        more = with_sentences(ids, sentences, chosen)
        is_hidden, mask_id = np.isin(sentences, chosen), examples.vocabulary.mask_id
        if self.keeps_masks:
            return with_copy(examples[index], is_hidden, mask_id) | more
        shown = np.where(is_hidden, mask_id, ids)
        return examples.masked(index, shown, is_text & ~is_hidden) | more


def collate_hidden_text(examples: Sequence[tuple[int, dict]]) -> HiddenTextBatch:
    """Join numbered examples of `HiddenTextExamples`."""
    return HiddenTextBatch(**masked_fields(examples), **sentence_fields(examples))


# B batch, T tokens, P predicted positions of the whole batch, V vocabulary, N examples


class MaskedTextTask(Objective):
    """Predict the pieces of masked words; the loss is the mean over predicted pieces."""

    # bits_per_token is what Table 10 and Longformer's code call bits per character; bits_per_char
    # divides the same sum by the characters that the predicted pieces stand for.

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
    """Return `bits_per_token` and `bits_per_char` with 95 % intervals over examples (N,)."""
    bits = nll_nats / math.log(2)
    return interval("bits_per_token", bits, predicted, seed) | interval(
        "bits_per_char", bits, characters, seed
    )


@torch.inference_mode()
def evaluate_masked(
    task: MaskedTextTask, examples, count: int, *, counts: np.ndarray, batch_size: int, seed: int
) -> dict:
    """Score the examples 0 … count - 1 with dropout off, next to piece frequencies."""
    # `unigram` reads no context; `unigram_informed` also uses the piece that a predicted position
    # shows (Bayes' rule with the shares of masking).
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
