"""Sequences with planted pairs: what is asked at one site is answered by its partner at a known distance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.corpus.made_words import PEOPLE, THINGS, drawing, sentence
from dna_bigbird.genome.embedded_sequence import load_background

# T tokens, Q questions
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

KEY, VALUE, FREE = -1, -2, -3
"""Parts of a site that a task fills in: its key, its value, and a token of the background that stays."""
TRIES = 50


@dataclass(frozen=True)
class PairExample:
    """One sequence with its questions."""

    tokens_T: NDArray[np.int64]
    """With the value of the site that asks; `asked` hides it."""
    positions_Q: NDArray[np.int64]
    """Of the values to name."""
    answers_Q: NDArray[np.int64]
    """Which of the task's values each is."""
    distances_Q: NDArray[np.int64]
    """Tokens from the value to that of the partner."""

    def asked(self, mask: int) -> NDArray[np.int64]:
        """Return the tokens with the asked values hidden."""
        tokens_T = self.tokens_T.copy()
        tokens_T[self.positions_Q] = mask
        return tokens_T


@dataclass(frozen=True)
class PairTask:
    """Pairs of sites with one key and one value, exactly a distance apart, in a background.

    Every sequence has each key twice, each decoy key once, and each value equally often. Values are
    drawn again for every sequence, so no count of tokens says anything about an answer. A decoy, a
    site with a key that is never asked, is between every question and its partner, so the nearest
    value says nothing either.
    """

    background: NDArray[np.int64]
    site: tuple[int, ...]
    """Its tokens in order, with `KEY`, `VALUE` and `FREE`."""
    keys: tuple[int, ...]
    values: tuple[int, ...]
    decoys: tuple[int, ...]
    margin: int
    """Tokens at both ends without a site."""
    asks_last: int = 0
    """Questions are in so many last tokens, partners before them; 0: both are anywhere."""

    def __post_init__(self) -> None:
        if len(self.keys) % len(self.values):
            raise ValueError(f"{len(self.values)} values do not divide {len(self.keys)} keys")
        if len(self.decoys) != len(self.keys):
            raise ValueError(f"got {len(self.decoys)} decoys for {len(self.keys)} keys")

    def fitting(self, distances: Sequence[int], num_tokens: int) -> list[int]:
        """Return the distances that fit: the sequence has room for a pair of every key."""
        room = 2 * self.margin + 5 * len(self.keys) * len(self.site)
        return [distance for distance in distances if distance + room <= num_tokens]

    def draw(
        self, num_tokens: int, distances: Sequence[int], rng: np.random.Generator
    ) -> PairExample:
        """Draw one sequence; its pairs have distances in turn, from a random order of them."""
        fitting = self.fitting(distances, num_tokens)
        if not fitting:
            raise ValueError(
                f"no pair at a distance of {min(distances)} fits into {num_tokens} tokens"
            )
        keys = rng.permutation(len(self.keys))
        answers_Q, of_decoys_Q = (
            rng.permutation(np.arange(len(keys)) % len(self.values)) for _ in range(2)
        )
        order = rng.permutation(fitting)
        distances_Q = order[np.arange(len(keys)) % len(order)]
        while (ends := self._positions(num_tokens, distances_Q, rng)) is None:
            pass
        start = rng.integers(len(self.background) - num_tokens + 1)
        tokens_T = self.background[start : start + num_tokens].copy()
        rows = zip(keys, answers_Q, of_decoys_Q, ends.tolist(), strict=True)
        for key, answer, of_decoy, (question, partner, decoy) in rows:
            for position in (question, partner):
                self._plant(tokens_T, position, self.keys[key], self.values[answer])
            self._plant(tokens_T, decoy, self.decoys[key], self.values[of_decoy])
        return PairExample(tokens_T, ends[:, 0], answers_Q, distances_Q)

    def _positions(
        self, num_tokens: int, distances_Q: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64] | None:
        """Return the positions of the values at question, partner and decoy; None if a site has no room."""
        before, after = self._around()
        is_used = np.zeros(num_tokens, dtype=bool)
        ends = np.zeros((len(distances_Q), 3), dtype=np.int64)
        for number in np.argsort(-distances_Q, kind="stable"):
            distance = int(distances_Q[number])
            for _ in range(TRIES):
                sites = self._sites(num_tokens, distance, rng)
                spans = [slice(x - before, x + after) for x in sites]
                if all(x.start >= 0 and not is_used[x].any() for x in spans):
                    break
            else:
                return None
            for span in spans:
                is_used[span] = True
            ends[number] = sites
        return ends

    def _sites(
        self, num_tokens: int, distance: int, rng: np.random.Generator
    ) -> tuple[int, int, int]:
        before, after = self._around()
        nearer = int(rng.integers(len(self.site), distance - len(self.site) + 1))
        if self.asks_last:
            first_question = num_tokens - self.asks_last + before
            question = int(rng.integers(first_question, num_tokens - after + 1))
            nearer = max(nearer, question - first_question + len(self.site))  # before all questions
            return question, question - distance, question - nearer
        first, last = self.margin + before, num_tokens - self.margin - after
        left = int(rng.integers(first, last - distance + 1))
        if rng.random() < 0.5:
            return left, left + distance, left + nearer
        return left + distance, left, left + distance - nearer

    def _around(self) -> tuple[int, int]:
        """Return how many tokens of a site are before its value, and from its value on."""
        before = self.site.index(VALUE)
        return before, len(self.site) - before

    def _plant(self, tokens_T: NDArray[np.int64], position: int, key: int, value: int) -> None:
        first = position - self._around()[0]
        for offset, part in enumerate(self.site):
            if part != FREE:
                tokens_T[first + offset] = {KEY: key, VALUE: value}.get(part, part)


WORD_BP = 6
"""Bases of a token of DNA; words do not overlap."""
DNA_WORDS = 4**WORD_BP
LETTERS = "ACGT"
DNA_KEYS = ("GATTCA", "CCTGAA", "TTAGGC", "ACGTCA")
DNA_DECOYS = ("AGTCCA", "CATGGT", "TCCAAG", "GGTTAC")
DNA_VALUES = ("TGACTC", "CAGGTA")
TEST_BP = 300_000
"""Real DNA that no training reads: the last bases before the end of the packaged piece."""
TEXT_WORDS, TEXT_TEST_WORDS = 60_000, 30_000
KEYS_OF_TEXT, DECOYS_OF_TEXT = PEOPLE[:4], PEOPLE[4:8]
VALUES_OF_TEXT = THINGS["colour"][:2]


def word_number(word: str) -> int:
    """Return the token of a word of six bases, its number in base 4.

    Example:
        >>> word_number("AAAAAA"), word_number("AAAACT")
        (0, 7)
    """
    return sum(LETTERS.index(base) * 4**digit for digit, base in enumerate(reversed(word)))


def word_text(number: int) -> str:
    """Return the bases of a token.

    Example:
        >>> word_text(7)
        'AAAACT'
    """
    return "".join(LETTERS[number // 4**digit % 4] for digit in reversed(range(WORD_BP)))


def dna_words(is_test: bool) -> NDArray[np.int64]:
    """Return real hg19 as tokens: the six frames of the stretch one after the other, words with N left out."""
    sequence = load_background()
    sequence = sequence[-TEST_BP:] if is_test else sequence[:-TEST_BP]
    codes = np.full(256, -1, dtype=np.int64)
    codes[np.frombuffer(LETTERS.encode(), dtype=np.uint8)] = range(4)
    bases = codes[np.frombuffer(sequence.encode(), dtype=np.uint8)]
    frames = []
    for frame in range(WORD_BP):
        rest = bases[frame:]
        words = rest[: len(rest) // WORD_BP * WORD_BP].reshape(-1, WORD_BP)
        words = words[(words >= 0).all(axis=1)]
        frames.append(words @ 4 ** np.arange(WORD_BP - 1, -1, -1))
    return np.concatenate(frames)


def dna_pairs(margin: int, is_test: bool) -> PairTask:
    """Return the planted partner task: KEY, a word of the background, VALUE."""
    keys, values, decoys = (
        tuple(map(word_number, words)) for words in (DNA_KEYS, DNA_VALUES, DNA_DECOYS)
    )
    background = dna_words(is_test)
    planted = np.array(keys + values + decoys)
    # No planted word in the background, and no 7 neighbouring bases of both key and value.
    while (is_planted := np.isin(background, planted)).any():
        background = np.where(is_planted, (background + 1) % DNA_WORDS, background)
    return PairTask(background, (KEY, FREE, VALUE), keys, values, decoys, margin)


def text_vocabulary() -> list[str]:
    """Return the words of the made text in alphabetical order; a token is the number of its word."""
    words = {word for is_test in (False, True) for word in _filler(is_test)}
    return sorted(words | {"of", "is", "colour", *KEYS_OF_TEXT, *DECOYS_OF_TEXT, *VALUES_OF_TEXT})


def text_pairs(margin: int, is_test: bool, asks_last: int) -> PairTask:
    """Return the text task: "the colour of PERSON is COLOUR ." asked in the last tokens, said before."""
    numbers = {word: number for number, word in enumerate(text_vocabulary())}
    site = tuple(
        {"PERSON": KEY, "COLOUR": VALUE}.get(word) or numbers[word]
        for word in ["the", "colour", "of", "PERSON", "is", "COLOUR"]
    )
    background = np.array([numbers[word] for word in _filler(is_test)])
    keys, values, decoys = (
        tuple(numbers[x] for x in words) for words in (KEYS_OF_TEXT, VALUES_OF_TEXT, DECOYS_OF_TEXT)
    )
    return PairTask(background, site, keys, values, decoys, margin, asks_last)


def _filler(is_test: bool) -> list[str]:
    """Return the words of sentences that have no person and no colour."""
    rng = drawing(0, f"long attention/{'test' if is_test else 'train'}")
    words: list[str] = []
    while len(words) < (TEXT_TEST_WORDS if is_test else TEXT_WORDS):
        words += [*sentence(rng).split(), "."]
    return words
