"""Single bases of a genome as characters, with parts by regions."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.corpus.characters import Characters, CharacterSplit, numbers_of
from dna_bigbird.corpus.regions import contiguous_stretches, merge, read_region, select
from dna_bigbird.genome import Genome, Interval

ALPHABET = b"ACGTN"
UNKNOWN = ALPHABET.index(b"N")
COMPLEMENT = np.array([3, 2, 1, 0, UNKNOWN], np.uint8)
MAX_N_RUN_BP = 10
"""A longer run of N is a gap, as in `corpus.documents`."""


def read_bases(path: Path, split: CharacterSplit) -> Characters:
    """Read the bases of a FASTA file; regions are for validation and test, the others for training.

    A part is its stretches between gaps, in the genome's order, with an N between two; N is read but never
    predicted.

    Raises:
        InputError: If the file is not FASTA, a region is missing or wrong, or two overlap.
    """
    genome = Genome(path)
    for name in ("validation", "test"):
        if not getattr(split, name):
            raise InputError(f"--split.{name}: DNA needs regions, such as --split.{name} chr10")
    held_out = {name: _regions(genome, getattr(split, name)) for name in ("validation", "test")}
    for region in held_out["validation"]:
        if any(region.overlap(other) for other in held_out["test"]):
            raise InputError(f"--split: {region.chrom} has bases in both validation and test")
    intervals = {
        "train": select(genome, [], [*split.validation, *split.test]),
        **held_out,
    }
    parts = {}
    for name, some in intervals.items():
        parts[name] = _joined(genome, some)
        if (parts[name] != UNKNOWN).sum() < 2:
            raise InputError(f"{path}: no bases for {name}, only N")
    return Characters(ALPHABET, parts, UNKNOWN, sha256_of(path))


def text_of(bases: NDArray[np.uint8]) -> str:
    """Return the bases of a part as text."""
    return np.frombuffer(ALPHABET, np.uint8)[bases].tobytes().decode("ascii")


def _regions(genome: Genome, texts: Sequence[str | int]) -> list[Interval]:
    return merge([read_region(text, genome) for text in texts], list(genome.lengths))


def _joined(genome: Genome, intervals: Sequence[Interval]) -> NDArray[np.uint8]:
    pieces = []
    for interval in intervals:
        for stretch in contiguous_stretches(genome, interval, MAX_N_RUN_BP):
            bases = np.frombuffer(genome.fetch(stretch).encode("ascii"), np.uint8)
            pieces += [numbers_of(bases, ALPHABET), np.array([UNKNOWN], np.uint8)]
    return np.concatenate(pieces[:-1]) if pieces else np.empty(0, np.uint8)
