"""The two planted tasks: six-letter words in real DNA, and sentences in made text."""

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.corpus.made_words import PEOPLE, THINGS, drawing, sentence
from dna_bigbird.evaluation.long_attention.distant_pairs import FREE, KEY, VALUE, PairTask
from dna_bigbird.genome.embedded_sequence import load_background

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
    """Return the planted partner task: KEY, a word of the background, VALUE.

    A word of the background that is a key, a decoy or a value is replaced by the next one that is neither. Between key and
    value is a word of the background, so no 7 neighbouring bases have bases of both.
    """
    keys, values, decoys = (
        tuple(map(word_number, words)) for words in (DNA_KEYS, DNA_VALUES, DNA_DECOYS)
    )
    background = dna_words(is_test)
    planted = np.array(keys + values + decoys)
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
