"""Windows that a model sees: how sequences are cut, and the interface of all sources of windows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dna_bigbird.genome.alphabet import reverse_complement

# What a user should know about the lengths of records, windows and strides of a run.


class RecordNotes:
    """Counts records (named `unit`) with gaps, and those shorter than the window of the model.

    Example:
        >>> notes = RecordNotes(300, 300, model_bp=300)
        >>> for length in (300, 10, 700):
        ...     notes.count(length)
        >>> notes.lines()
        ["1 of 3 records are shorter than the model's window of 300 bp; each is one window of its own length, and the model was not tested on such"]
    """

    def __init__(
        self, window_bp: int, stride_bp: int, model_bp: int | None = None, unit: str = "records"
    ) -> None:
        self.window_bp, self.stride_bp = window_bp, stride_bp
        self.model_bp, self.unit = model_bp, unit
        self._records = self._short = self._gaps = 0
        self.more: list[str] = []
        """Further lines."""

    def count(self, length_bp: int) -> None:
        """Add a record."""
        self._records += 1
        self._short += self.model_bp is not None and length_bp < self.model_bp
        # The last window is moved left, so up to two windows there is no gap.
        self._gaps += self.stride_bp > self.window_bp and length_bp > 2 * self.window_bp

    def lines(self) -> list[str]:
        """Return at most one line on short windows, and one on gaps, after `more`."""
        lines = [*self.more]
        if self.model_bp is not None and self.window_bp < self.model_bp:
            lines += short_window_notes(self.window_bp, self.model_bp)
        elif self._short:
            lines.append(
                f"{self._short:,} of {self._records:,} {self.unit} are shorter than the model's "
                f"window of {self.model_bp:,} bp; each is one window of its own length, and the model "
                "was not tested on such"
            )
        if self._gaps:
            lines.append(
                f"the stride of {self.stride_bp:,} bp is longer than the window of "
                f"{self.window_bp:,} bp: the bases between two windows are not read"
            )
        return lines


def short_window_notes(window_bp: int, model_bp: int) -> list[str]:
    """Return one line if all windows of a run are shorter than those of the model."""
    if window_bp >= model_bp:
        return []
    return [
        f"windows of {window_bp} bp are shorter than the model's window of {model_bp} bp; the model "
        "was not tested on such"
    ]


@dataclass(frozen=True)
class Window:
    """A piece of a named sequence; `start` and `end` are 0-based, half-open on that sequence."""

    name: str
    start: int
    end: int
    bases: str
    row_name: str | None = field(default=None, compare=False)
    """Name of its BED row; None if it comes from no BED, or the BED has no names."""
    is_reverse: bool = field(default=False, compare=False)
    """Whether the bases are those of the other strand, from `end` to `start`."""

    @property
    def forward(self) -> str:
        """The bases on the forward strand."""
        return reverse_complement(self.bases) if self.is_reverse else self.bases


class WindowSource(ABC):
    """Windows in a fixed order, that can be counted and checked before any of them is scored."""

    # files: those read, by role; without those that can be read only once (standard input, pipes).
    # count: windows in all, known after `check`; None where the input can be read only once.
    # records: complete after `check`; where the input can be read only once, after the last window.

    unit = "records"

    def __init__(
        self, files: dict[str, Path], *, window_bp: int, stride_bp: int, model_bp: int | None = None
    ) -> None:
        self.files = files
        self.records = RecordNotes(window_bp, stride_bp, model_bp, self.unit)
        self.window_bp, self.stride_bp = window_bp, stride_bp
        self.count: int | None = None

    @property
    @abstractmethod
    def lengths(self) -> dict[str, int]:
        """Length in bp of every sequence that a window names."""
        # For records named by location the furthest end; read only once, complete when the last
        # window was read.

    @abstractmethod
    def check(self) -> None:
        """Read everything once and set `count`; do nothing if the input can be read only once."""

    @abstractmethod
    def windows(self, first: int = 0) -> Iterator[Window]:
        """Yield the windows from number `first` on, counted from 0."""

    def num_windows(self, length_bp: int) -> int:
        """Return the number of windows of a sequence of this length."""
        return num_windows(length_bp, self.window_bp, self.stride_bp)


def num_windows(length_bp: int, window_bp: int, stride_bp: int) -> int:
    """Return the number of windows of a sequence, see `window_starts`."""
    return 1 + max(0, -(-(length_bp - window_bp) // stride_bp))


def window_start(number: int, length_bp: int, window_bp: int, stride_bp: int) -> int:
    """Return where window `number` of a sequence starts, counted from 0, see `window_starts`."""
    return min(number * stride_bp, max(0, length_bp - window_bp))


def window_starts(length_bp: int, window_bp: int, stride_bp: int) -> list[int]:
    """Return where windows start so that together they cover every base; the last one moves left.

    Example:
        >>> window_starts(2500, window_bp=1000, stride_bp=1000)
        [0, 1000, 1500]
        >>> window_starts(700, window_bp=1000, stride_bp=1000)
        [0]
    """
    count = num_windows(length_bp, window_bp, stride_bp)
    return [window_start(i, length_bp, window_bp, stride_bp) for i in range(count)]


def tile(
    pieces: Iterable[str], window_bp: int, stride_bp: int, first: int = 0
) -> Iterator[tuple[int, str]]:
    """Yield start and bases of the windows of a sequence, given in pieces, from number `first` on.

    Example:
        >>> list(tile(["ACG", "TAC"], window_bp=4, stride_bp=3))
        [(0, 'ACGT'), (2, 'GTAC')]
    """
    # A window is yielded as soon as its bases and one more are read: at most a window and a piece
    # are in memory.
    held, held_from = "", 0
    start = first * stride_bp
    for piece in pieces:
        held += piece
        length = held_from + len(held)
        while start + window_bp < length:
            yield start, held[start - held_from : start - held_from + window_bp]
            start += stride_bp
        keep_from = min(start, length - window_bp)
        if keep_from > held_from:
            held, held_from = held[keep_from - held_from :], keep_from
    length = held_from + len(held)
    if first < num_windows(length, window_bp, stride_bp):
        yield max(0, length - window_bp), held[-window_bp:]
