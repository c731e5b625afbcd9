"""Characters of a text or of DNA as numbers, in three parts, and examples of them.

Every example is a function of (seed, epoch, index in the epoch), as in `corpus.pretraining_examples`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import check_readable, sha256_of
from dna_bigbird.core.settings import Range
from dna_bigbird.corpus.regions import contiguous_stretches, merge, read_region, select
from dna_bigbird.genome import Genome, Interval

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
    """Numbers of the characters of each part, (N,) uint8; the sha256 is the file's."""

    alphabet: bytes
    parts: dict[str, NDArray[np.uint8]]
    unscored: int | None
    """Number that is read but never predicted: N of DNA; None: there is none."""
    sha256: str


class CharacterExamples:
    """Windows of neighbouring characters; example `index` of an endless, reproducible stream."""

    # In an epoch the characters are cut into windows that do not overlap, from an offset and in an
    # order drawn for it (`in_order`: from the first one). A window has one character more than is
    # read: the last one is predicted only. With `complement`, the number of each character's
    # complement, every second window by chance is its reverse complement.

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


# Single bases of a genome as characters, with parts by regions.

ALPHABET = b"ACGTN"
UNKNOWN = ALPHABET.index(b"N")
COMPLEMENT = np.array([3, 2, 1, 0, UNKNOWN], np.uint8)
MAX_N_RUN_BP = 10
"""A longer run of N is a gap, as in `corpus.documents`."""


def read_bases(path: Path, split: CharacterSplit) -> Characters:
    """Read a FASTA file; the regions are for validation and test, all else for training."""
    # A part is its stretches between gaps, with an N between two; N is read but never predicted.
    genome = Genome(path)
    for name in ("validation", "test"):
        if not getattr(split, name):
            raise InputError(f"--split.{name}: DNA needs regions, such as --split.{name} chr10")
    held_out = {
        name: merge(
            [read_region(text, genome) for text in getattr(split, name)], list(genome.lengths)
        )
        for name in ("validation", "test")
    }
    for region in held_out["validation"]:
        if any(region.overlap(other) for other in held_out["test"]):
            raise InputError(f"--split: {region.chrom} has bases in both validation and test")
    intervals = {"train": select(genome, [], [*split.validation, *split.test]), **held_out}
    parts = {}
    for name, some in intervals.items():
        parts[name] = _joined(genome, some)
        if (parts[name] != UNKNOWN).sum() < 2:
            raise InputError(f"{path}: no bases for {name}, only N")
    return Characters(ALPHABET, parts, UNKNOWN, sha256_of(path))


def text_of(bases: NDArray[np.uint8]) -> str:
    """Return the bases of a part as text."""
    return np.frombuffer(ALPHABET, np.uint8)[bases].tobytes().decode("ascii")


def _joined(genome: Genome, intervals: Sequence[Interval]) -> NDArray[np.uint8]:
    pieces = []
    for interval in intervals:
        for stretch in contiguous_stretches(genome, interval, MAX_N_RUN_BP):
            bases = np.frombuffer(genome.fetch(stretch).encode("ascii"), np.uint8)
            pieces += [numbers_of(bases, ALPHABET), np.array([UNKNOWN], np.uint8)]
    return np.concatenate(pieces[:-1]) if pieces else np.empty(0, np.uint8)


# Files of characters: text8, enwik8, and any other file, byte by byte.

PUBLISHED_BYTES = 100_000_000
"""Of text8 and of enwik8; the usual split has 90 M, 5 M and 5 M."""
TEXT8 = b" abcdefghijklmnopqrstuvwxyz"
ENWIK8_BYTES = 205
"""Different bytes of enwik8; programs that drop the line break count 204."""
_PACKED = {b"PK": "a zip archive", b"\x1f\x8b": "a gzip file", b"BZ": "a bzip2 file"}


def read_characters(path: Path, split: CharacterSplit, source: str) -> Characters:
    """Read 'text8', 'enwik8' or 'bytes'; the end is for the test, before it is validation."""
    check_readable(path)
    content = Path(path).read_bytes()
    if archive := _PACKED.get(content[:2]):
        raise InputError(f"{path}: {archive}; expected the text itself: unpack it first")
    if split.validation or split.test:
        raise InputError(
            "--split.validation and --split.test are regions of DNA; give shares of text"
        )
    read = np.frombuffer(content, np.uint8)
    alphabet = bytes(np.flatnonzero(np.bincount(read, minlength=256)).astype(np.uint8))
    if source != "bytes":
        _check_published(path, len(content), alphabet, source)
    sizes = [round(share * len(read)) for share in (split.validation_share, split.test_share)]
    first = len(read) - sum(sizes)
    if min(first, *sizes) < 2:
        raise InputError(f"{path}: {len(read):,} bytes are too few for three parts")
    numbers = numbers_of(read, alphabet)
    return Characters(
        alphabet,
        {
            "train": numbers[:first],
            "validation": numbers[first : first + sizes[0]],
            "test": numbers[first + sizes[0] :],
        },
        None,
        hashlib.sha256(content).hexdigest(),
    )


def _check_published(path: Path, size: int, alphabet: bytes, source: str) -> None:
    if size != PUBLISHED_BYTES:
        raise InputError(
            f"{path}: {size:,} bytes; {source} has {PUBLISHED_BYTES:,}. Another text: --source bytes"
        )
    is_right = alphabet == TEXT8 if source == "text8" else len(alphabet) == ENWIK8_BYTES
    if not is_right:
        expected = "a to z and space" if source == "text8" else f"{ENWIK8_BYTES} of them"
        raise InputError(
            f"{path}: {len(alphabet)} different bytes; {source} has {expected}. Another text: --source bytes"
        )
