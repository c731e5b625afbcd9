"""Names of FASTA records: each may come once, and some say where on a genome the record lies."""

import hashlib
import re

import numpy as np

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.genome.interval import Interval

_RECENT = 1 << 16
_DIGEST_BYTES = 16

_PLACE = re.compile(
    r":(?P<start>\d[\d,]*)-(?P<end>\d[\d,]*)(?P<strand>\([+.-]\)|:[+.-]|/rc)?\Z", re.ASCII
)
_LONGEST_PLACE = 64
"""Characters after the chromosome; a name may be a million long."""


class SeenNames:
    """Refuses a second record of the same name, at 16 bytes per name."""

    # Names are kept as 128-bit digests; even among a thousand million names no two are equal. The
    # last 65,536 are looked up at once, older ones when that many are together or at `finish`.

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.recent: dict[bytes, tuple[int, str]] = {}
        self.older = np.empty(0, dtype=f"S{_DIGEST_BYTES}")

    def add(self, name: str, line: int) -> None:
        """Note the name of the record whose header is at `line`; InputError if seen before."""
        key = hashlib.blake2b(name.encode(), digest_size=_DIGEST_BYTES).digest()
        if key in self.recent:
            raise self._error(line, name)
        self.recent[key] = (line, name)
        if len(self.recent) == _RECENT:
            self.finish()

    def finish(self) -> None:
        """Look up the names that were not yet; InputError as `add`."""
        keys = sorted(self.recent)
        added = np.array(keys, dtype=self.older.dtype)
        positions = np.searchsorted(self.older, added)
        if len(self.older):
            again = self.older[np.minimum(positions, len(self.older) - 1)] == added
            if again.any():
                raise self._error(*min(self.recent[keys[i]] for i in np.flatnonzero(again)))
        self.older = np.insert(self.older, positions, added)
        self.recent.clear()

    def _error(self, line: int, name: str) -> InputError:
        return InputError(
            f"{self.shown}:{line}: a second record is called {shortened(name)!r}; names must differ"
        )


def is_place(name: str) -> bool:
    """Return True if a record is named by location, as `chr1:100-200`."""
    return _parts(name) is not None


def _parts(name: str) -> tuple[str, int, int, str] | None:
    """Return chromosome, the two numbers and the strand of a place, None for another name."""
    match = _PLACE.search(name[-_LONGEST_PLACE:])
    if match is None:
        return None
    before = name[: len(name) - len(match[0])]
    chrom = before.rpartition("::")[2]  # bedtools getfasta -name+ puts a name and '::' in front
    start, end = (int(match[x].replace(",", "")) for x in ("start", "end"))
    is_minus = (match["strand"] or "").strip(":()") in ("-", "/rc")
    return (chrom, start, end, "-" if is_minus else "+") if chrom else None


def place_of(name: str, length_bp: int) -> Interval:
    """Return where on its genome a record lies that is named after its place, as bedtools or samtools do.

    Example:
        >>> place_of("chr1:100-200", 100)
        Interval(chrom='chr1', start=100, end=200, strand='+')
        >>> place_of("peak7::chr1:100-200(-)", 101)
        Interval(chrom='chr1', start=99, end=200, strand='-')
    """
    parts = _parts(name)
    if parts is None:
        raise ValueError(
            f"{shortened(name)!r} is not a location; expected a form like chr1:100-200"
        )
    chrom, start, end, strand = parts
    if end - start == length_bp:
        return Interval(chrom, start, end, strand)
    if end - start + 1 == length_bp and start > 0:
        return Interval(chrom, start - 1, end, strand)
    raise ValueError(
        f"the name {shortened(name)!r} spans {end - start:,} bp counted from 0, {end - start + 1:,} bp counted "
        f"from 1, but the record has {length_bp:,}"
    )
