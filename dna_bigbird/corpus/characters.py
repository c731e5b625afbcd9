"""Characters of a text or of DNA as numbers, in three parts, and examples of them.

Every example is a function of (seed, epoch, index in the epoch), as in `corpus.pretraining_examples`.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Range

PARTS = ("train", "validation", "test")
Source = Literal["bytes", "text8", "enwik8", "dna"]
"""What a file of characters is."""


@dataclass(frozen=True)
class CharacterSplit:
    """What is held out of a text or a genome; everything else is for training."""

    validation_share: Annotated[float, Range(above=0, below=1)] = 0.05
    """Share of a text, before the test part, for validation: the usual one of text8 is 5 of 100 MB."""
    test_share: Annotated[float, Range(above=0, below=1)] = 0.05
    """Share of a text, its end, for the test."""
    validation: list[str | int] = field(default_factory=list)
    """Validation data: regions of DNA, such as chr7 or `chr22:19,000,001-20,000,000`."""
    test: list[str | int] = field(default_factory=list)
    """Test data: regions of DNA likewise."""

    def __post_init__(self) -> None:
        check_fields(self, "split")
        if self.validation_share + self.test_share >= 1:
            raise ValueError("--split.validation_share and test_share leave nothing for training")


@dataclass(frozen=True, eq=False)
class Characters:
    """Numbers of the characters of each part.

    Attributes:
        alphabet: The character of each number.
        parts: Part to its numbers, (N,) uint8.
        unscored: Number that is read but never predicted: N of DNA; None: there is none.
        sha256: Of the file.
    """

    alphabet: bytes
    parts: dict[str, NDArray[np.uint8]]
    unscored: int | None
    sha256: str


class CharacterExamples:
    """Windows of neighbouring characters; example `index` of an endless, reproducible stream.

    In an epoch the characters are cut into windows that do not overlap, from an offset drawn for it, in an
    order drawn for it. A window has one character more than is read: the last one is predicted only.

    Args:
        characters: (N,) uint8.
        max_tokens: Characters that are read.
        complement: Number of each character's complement: a window is its reverse complement every second
            time, by chance. None: always as it is.
        in_order: Windows from the first character on, in order: for validation. If there are fewer
            characters, the only window is shorter.

    Raises:
        ValueError: If there are too few characters.
    """

    def __init__(
        self,
        characters: NDArray[np.uint8],
        max_tokens: int,
        seed: int,
        *,
        complement: NDArray[np.uint8] | None = None,
        in_order: bool = False,
    ) -> None:
        self.characters, self.max_tokens, self.seed = characters, max_tokens, seed
        self.complement, self.in_order = complement, in_order
        available = len(characters) - 1
        if in_order:
            self.max_tokens = min(max_tokens, available)
            self.examples_per_epoch = available // max(self.max_tokens, 1)
        else:  # the last window fits with any offset
            self.examples_per_epoch = (available - max_tokens + 1) // max_tokens
        if min(self.examples_per_epoch, available) < 1:
            least = 2 if in_order else 2 * max_tokens
            raise ValueError(f"{len(characters):,} characters; expected at least {least:,}")
        self._epoch: tuple[int, int, NDArray[np.int64]] | None = None

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        """Return the characters of one example, (max_tokens + 1,)."""
        epoch, number = divmod(index, self.examples_per_epoch)
        if self.in_order:
            start = number * self.max_tokens
        else:
            offset, order = self._drawn(epoch)
            start = offset + int(order[number]) * self.max_tokens
        window = self.characters[start : start + self.max_tokens + 1]
        if self.complement is None:
            return window
        is_reversed = np.random.default_rng([self.seed, epoch, number, 1]).random() < 0.5
        return self.complement[window[::-1]] if is_reversed else window

    def _drawn(self, epoch: int) -> tuple[int, NDArray[np.int64]]:
        if self._epoch is None or self._epoch[0] != epoch:
            rng = np.random.default_rng([self.seed, epoch])
            offset = int(rng.integers(self.max_tokens))
            self._epoch = (epoch, offset, rng.permutation(self.examples_per_epoch))
        return self._epoch[1:]


def numbers_of(characters: NDArray[np.uint8], alphabet: bytes) -> NDArray[np.uint8]:
    """Return the number of each character, whose byte is in the alphabet.

    Example:
        >>> numbers_of(np.frombuffer(b"banana", np.uint8), b"abn").tolist()
        [1, 0, 2, 0, 2, 0]
    """
    table = np.zeros(256, np.uint8)
    table[np.frombuffer(alphabet, np.uint8)] = np.arange(len(alphabet))
    return table[characters]
