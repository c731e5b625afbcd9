"""Where windows come from: the interface of all sources, and sequences in memory."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path

from dna_bigbird.errors import InputError
from dna_bigbird.files import open_binary
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of
from dna_bigbird.inference.windows.tiling import Window, num_windows, tile


class WindowSource(ABC):
    """Windows in a fixed order, that can be counted and checked before any of them is scored.

    Attributes:
        files: The files read, by role ('fasta', 'bed'); without those that can be read only once
            (standard input, pipes), and empty for sequences in memory.
        count: Windows in all, known after `check`; None where the input can be read only once.
    """

    def __init__(self, files: dict[str, Path], window_bp: int, stride_bp: int) -> None:
        self.files = files
        self.window_bp, self.stride_bp = window_bp, stride_bp
        self.count: int | None = None

    @property
    @abstractmethod
    def lengths(self) -> dict[str, int]:
        """Length in base pairs of every sequence that a window names.

        For records named by location (`chr1:100-200`), the furthest end on the chromosome. If the
        input can be read only once, this is complete when the last window was read.
        """

    @abstractmethod
    def check(self) -> None:
        """Read everything once and set `count`; do nothing if the input can be read only once.

        Raises:
            InputError: At the first thing that is wrong, with file and line.
        """

    @abstractmethod
    def windows(self, first: int = 0) -> Iterator[Window]:
        """Yield the windows from number `first` on, counted from 0.

        Raises:
            InputError: As `check`, once that line is reached.
        """

    def num_windows(self, length_bp: int) -> int:
        """Return the number of windows of a sequence of this length."""
        return num_windows(length_bp, self.window_bp, self.stride_bp)


class SequenceSource(WindowSource):
    """Windows over sequences in memory, by name.

    Raises:
        InputError: If there is no sequence, a name is empty or has blanks, or a sequence is empty
            or not DNA.
    """

    def __init__(self, sequences: Mapping[str, str], *, window_bp: int, stride_bp: int) -> None:
        super().__init__({}, window_bp, stride_bp)
        if not isinstance(sequences, Mapping):
            raise InputError(
                f"sequences is {type(sequences).__name__}; expected DNA by name, such as "
                "{'name': 'ACGT'}"
            )
        if not sequences:
            raise InputError("no sequence given; expected at least one")
        for name, letters in sequences.items():
            if not (isinstance(name, str) and isinstance(letters, str)):
                raise InputError(
                    f"sequence {name!r}: expected a name and letters, both text; found "
                    f"{type(name).__name__} and {type(letters).__name__}"
                )
            if not letters:
                raise InputError(f"sequence {name!r} has no base")
            if len(name.split()) != 1:
                raise InputError(f"sequence {name!r}: a name has no blanks, and is not empty")
        self.sequences = {
            name: dna_of(FastaRecord(name, letters, number), "sequences")
            for number, (name, letters) in enumerate(sequences.items(), start=1)
        }
        self.count = sum(self.num_windows(len(bases)) for bases in self.sequences.values())

    @property
    def lengths(self) -> dict[str, int]:
        return {name: len(bases) for name, bases in self.sequences.items()}

    def check(self) -> None:
        """Do nothing: everything was checked on construction."""

    def windows(self, first: int = 0) -> Iterator[Window]:
        for name, bases in self.sequences.items():
            for start, window in tile([bases], self.window_bp, self.stride_bp, first):
                yield Window(name, start, start + len(window), window)
            first = max(0, first - self.num_windows(len(bases)))


def readable_files(**paths: str) -> dict[str, Path]:
    """Return the paths that can be read again, after opening each once."""
    files = {}
    for role, path in paths.items():
        is_stream = path == "-" or (
            os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
        )
        if not is_stream:
            with open_binary(path):
                files[role] = Path(path)
    return files
