"""Batches of the three learning tasks: hidden words of real DNA, planted pairs in DNA, and in text."""

# B batch, T tokens, P hidden tokens
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird.evaluation.long_attention.distant_pairs import (
    DNA_WORDS,
    WORD_BP,
    PairExample,
    PairTask,
    dna_pairs,
    dna_words,
    text_pairs,
    text_vocabulary,
)
from dna_bigbird.evaluation.long_attention.small_models import BLOCK

HIDDEN_SHARE = 0.15
DNA_DISTANCES_BP = (252, 510, 1026, 2046, 4098, 8190, 16386)
"""0.25 to 16 kb in whole words of six bases. The nearest is inside the window of every core, the others outside."""
DNA_DISTANCES = tuple(bp // WORD_BP for bp in DNA_DISTANCES_BP)
SHORT_DNA_DISTANCES = (12, 24)
"""In training only."""
TEXT_DISTANCES = (256, 512, 1024, 2048, 4096)
SHORT_TEXT_DISTANCES = (64, 128)
"""Trained first, and not tested: the lengths of the first stages have room for no other."""


@dataclass(frozen=True)
class Batch:
    """Sequences of one length and what is to be named in them."""

    token_ids_BT: Tensor
    positions_P: Tensor
    """Flat indices into batch × tokens."""
    answers_P: Tensor
    """Index into the choices, or the token itself."""
    distances_P: NDArray[np.int64]
    """Tokens to the evidence; 0 where there is no such thing."""


class Source(Protocol):
    """Where batches come from."""

    vocabulary: int
    """Tokens, the mask included, which is the last one."""
    choices: Tensor | None
    """Tokens that an answer may be; None: any."""

    def draw(self, count: int, tokens: int, rng: np.random.Generator) -> Batch:
        """Return a batch of so many sequences."""
        ...


class HiddenWords:
    """Crops of real DNA with 15 % of the words hidden."""

    def __init__(self, is_test: bool) -> None:
        self.words = dna_words(is_test)
        self.vocabulary = DNA_WORDS + 1
        self.choices = None

    def draw(self, count: int, tokens: int, rng: np.random.Generator) -> Batch:
        """Return a batch of so many sequences."""
        starts = rng.integers(len(self.words) - tokens + 1, size=count)
        return hide_any([self.words[start : start + tokens] for start in starts], DNA_WORDS, rng)


class Pairs:
    """Questions of a planted task, or, as pretraining, hidden tokens anywhere in its sequences."""

    def __init__(
        self, task: PairTask, vocabulary: int, distances: Sequence[int], is_asked: bool = True
    ) -> None:
        self.task, self.vocabulary, self.distances = task, vocabulary, distances
        self.is_asked = is_asked
        self.choices = torch.tensor(task.values) if is_asked else None

    def draw(self, count: int, tokens: int, rng: np.random.Generator) -> Batch:
        """Return a batch of so many sequences."""
        examples = [self.task.draw(tokens, self.distances, rng) for _ in range(count)]
        if not self.is_asked:
            return hide_any([example.tokens_T for example in examples], self.vocabulary - 1, rng)
        return ask(examples, self.vocabulary - 1)


def ask(examples: Sequence[PairExample], mask: int) -> Batch:
    """Return the questions of planted examples."""
    tokens = len(examples[0].tokens_T)
    flat = [example.positions_Q + number * tokens for number, example in enumerate(examples)]
    return Batch(
        torch.from_numpy(np.stack([example.asked(mask) for example in examples])),
        torch.from_numpy(np.concatenate(flat)),
        torch.from_numpy(np.concatenate([example.answers_Q for example in examples])),
        np.concatenate([example.distances_Q for example in examples]),
    )


def hide_any(rows: Sequence[NDArray[np.int64]], mask: int, rng: np.random.Generator) -> Batch:
    """Hide 15 % of the tokens of each row, drawn without repetition."""
    tokens_BT = np.stack(rows)
    B, T = tokens_BT.shape
    hidden = max(1, round(HIDDEN_SHARE * T))
    columns_BP = rng.random((B, T)).argpartition(hidden - 1, axis=1)[:, :hidden]
    positions_P = (columns_BP + np.arange(B)[:, None] * T).ravel()
    answers_P = tokens_BT.ravel()[positions_P]
    shown_BT = tokens_BT.copy()
    shown_BT.ravel()[positions_P] = mask
    return Batch(
        torch.from_numpy(shown_BT),
        torch.from_numpy(positions_P),
        torch.from_numpy(answers_P),
        np.zeros(len(positions_P), dtype=np.int64),
    )


def source_of(part: str, *, is_test: bool, is_asked: bool = True) -> Source:
    """Return the source of a part; training and test have backgrounds without a common base or word."""
    if part == "dna":
        return HiddenWords(is_test)
    if part == "text":
        task = text_pairs(BLOCK, is_test, asks_last=BLOCK)
        distances = TEXT_DISTANCES if is_test else SHORT_TEXT_DISTANCES + TEXT_DISTANCES
        return Pairs(task, len(text_vocabulary()) + 1, distances)
    distances = DNA_DISTANCES if is_test else SHORT_DNA_DISTANCES + DNA_DISTANCES
    return Pairs(dna_pairs(BLOCK, is_test), DNA_WORDS + 1, distances, is_asked)
