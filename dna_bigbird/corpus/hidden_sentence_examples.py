"""Examples of DNA with masked tokens and whole hidden sentences, and their batches."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.corpus.batches import PAD_ID, collate_pretraining, pad_right, padding_of
from dna_bigbird.corpus.masking import mask_tokens
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore

# Which sentences are hidden as a whole, for contrastive predictive coding (CPC; specification §2.4).


class SentenceHiding(Protocol):
    """What choosing sentences needs of a `training.objective_config.CpcConfig`."""

    @property
    def sentence_share(self) -> float: ...
    @property
    def fewest_sentences(self) -> int: ...


SENTENCE_ENDS = (".", "!", "?")
"""Last characters of a piece after which a sentence of text begins."""


def ends_of_sentences(pieces: Sequence[str]) -> np.ndarray:
    """Return which pieces end a sentence of text, (V,) bool: those that end with . ! or ?."""
    return np.array([piece.endswith(SENTENCE_ENDS) for piece in pieces])


def sentences_of_text(ids: np.ndarray, is_text: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the sentence of each token (T,), from 0, -1 outside of text; `ends` is bool (V,).

    Example:
        >>> ends = np.array([False, False, True])  # the third piece is "."
        >>> ids = np.array([0, 1, 1, 2, 1, 0, 1])
        >>> sentences_of_text(ids, ids > 0, ends).tolist()
        [-1, 0, 0, 0, 1, -1, 2]
    """
    before = np.concatenate(([True], (~is_text | ends[ids])[:-1]))
    return np.where(is_text, np.cumsum(is_text & before) - 1, -1)


def choose_sentences(
    sentences: np.ndarray,
    maskable: np.ndarray,
    rng: np.random.Generator,
    config: SentenceHiding,
    size: int = 0,
) -> np.ndarray:
    """Choose sentences to hide, all equally likely; at least one is left. Ascending, int64."""
    # A sentence with a token that may not be masked stays. With `size` only sentences of so many
    # tokens are hidden, so that their length says nothing.
    count = int(sentences.max(initial=-1)) + 1
    if count < config.fewest_sentences:
        return np.empty(0, dtype=np.int64)
    within = sentences >= 0
    tokens = np.bincount(sentences[within], minlength=count)
    free = np.bincount(sentences[within & maskable], minlength=count)
    candidates = np.flatnonzero((free == tokens) & (tokens > 0) & ((tokens == size) | (size == 0)))
    number = min(len(candidates), count - 1, max(1, round(config.sentence_share * count)))
    return np.sort(rng.choice(candidates, size=number, replace=False))


# B batch, T tokens, G global tokens, S hidden sentences of the whole batch, U tokens of the longest
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


class HiddenSentenceBatch(NamedTuple):
    """A `PretrainingBatch`, field by field, and the hidden sentences; padding is on the right."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    segment_ids_BT: Tensor
    positions_P: Tensor
    labels_P: Tensor
    is_random_next_B: Tensor
    predicted_B: Tensor
    examples_B: Tensor
    weights_P: Tensor
    copied_PK: Tensor
    copied_scores_PKF: Tensor
    hidden_ids_BT: Tensor
    """What is read for CPC; no element if it is `token_ids_BT`."""
    sentences_BT: Tensor
    """Number of each token's sentence from 0, -1 for none and at padding."""
    rows_S: Tensor
    """Example of each hidden sentence, its place in the batch."""
    numbers_S: Tensor
    """Number of each hidden sentence in its example."""
    sentence_ids_SU: Tensor
    """The hidden tokens."""
    is_sentence_padding_SU: Tensor


class HiddenSentenceExamples:
    """`PretrainExamples` cut into sentences of equal length, a few of them hidden."""

    # DNA has no sentences: every `tokens_per_sentence` neighbouring tokens are one. All tokens of a
    # hidden sentence are masked and none of them is predicted. Only full sentences without a
    # special token are hidden, so the number of tokens says nothing about which one it was. With
    # `keeps_masks`, for validation, the masked tokens are those of `PretrainExamples`, and
    # `hidden_ids` is another copy in which sentences are hidden.

    def __init__(
        self,
        examples: PretrainExamples,
        tokens_per_sentence: int,
        hiding: SentenceHiding,
        *,
        keeps_masks: bool = False,
    ) -> None:
        self.examples = examples
        self.tokens_per_sentence = tokens_per_sentence
        self.hiding = hiding
        self.keeps_masks = keeps_masks

    @property
    def store(self) -> TokenStore:
        """Token store of the examples."""
        return self.examples.store

    @property
    def examples_per_epoch(self) -> int:
        """Examples of an epoch."""
        return self.examples.examples_per_epoch

    def predicted_spans(
        self, index: int, piece_bp: np.ndarray, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return where predicted tokens lie, as `PretrainExamples.predicted_spans`."""
        return self.examples.predicted_spans(index, piece_bp, positions)

    def __getitem__(self, index: int) -> dict[str, np.ndarray | int]:
        """Return an example with `sentences` (T,), `hidden` (S,) and `originals`."""
        examples = self.examples
        drawn = examples.unmasked(index)
        size = self.tokens_per_sentence
        sentences = np.arange(len(drawn.token_ids)) // size
        rng = sentence_rng(examples, index)
        chosen = choose_sentences(sentences, drawn.maskable, rng, self.hiding, size)
        more = with_sentences(drawn.token_ids, sentences, chosen)
        is_hidden, mask_id = np.isin(sentences, chosen), examples.vocabulary.mask_id
        if self.keeps_masks:
            return with_copy(examples[index], is_hidden, mask_id) | more
        shown = np.where(is_hidden, mask_id, drawn.token_ids)
        masking = examples.masking_of(index)
        seen, positions, labels = mask_tokens(
            shown, drawn.maskable & ~is_hidden, drawn.rng, masking, examples.vocabulary
        )
        usual = {"token_ids": seen, "positions": positions, "labels": labels}
        return usual | {"segment_ids": drawn.segment_ids, "is_next": drawn.pair.is_next} | more


def sentence_rng(examples: Any, index: int) -> np.random.Generator:
    """Return what sentences are drawn from: numbers of their own, so that masks stay as they are without."""
    return np.random.default_rng([examples.seed, *divmod(index, examples.examples_per_epoch), 2])


def with_copy(example: dict, is_hidden: np.ndarray, mask_id: int) -> dict:
    """Return an example with a copy of its tokens in which sentences are hidden."""
    return example | {"hidden_ids": np.where(is_hidden, mask_id, example["token_ids"])}


def with_sentences(token_ids: np.ndarray, sentences: np.ndarray, chosen: np.ndarray) -> dict:
    """Return what an example has of its sentences; `token_ids` (T,) are those before masking."""
    originals = [token_ids[sentences == number] for number in chosen]
    return {"sentences": sentences, "hidden": chosen, "originals": originals}


def collate_hidden_sentences(examples: Sequence[tuple[int, dict]]) -> HiddenSentenceBatch:
    """Join numbered examples of `HiddenSentenceExamples`."""
    return HiddenSentenceBatch(*collate_pretraining(examples), **sentence_fields(examples))


def sentence_fields(examples: Sequence[tuple[int, dict]]) -> dict[str, Tensor]:
    """Join the sentences of numbered examples, of DNA or text, by field."""
    each = [example for _, example in examples]
    originals = [tokens for example in each for tokens in example["originals"]]
    counts = [len(example["hidden"]) for example in each]
    sentences = [example["sentences"] for example in each]
    hidden = [example["hidden_ids"] for example in each if "hidden_ids" in example]
    nothing = torch.zeros(0, 0, dtype=torch.int64)
    return {
        "hidden_ids_BT": pad_right(hidden, PAD_ID) if hidden else nothing,
        "sentences_BT": pad_right(sentences, -1),
        "rows_S": torch.from_numpy(np.repeat(np.arange(len(each)), counts)),
        "numbers_S": torch.from_numpy(np.concatenate([e["hidden"] for e in each])),
        "sentence_ids_SU": pad_right(originals, PAD_ID) if originals else nothing,
        "is_sentence_padding_SU": padding_of(originals) if originals else nothing.bool(),
    }
