"""What was planted, and the sequence it is planted into."""

from dataclasses import dataclass, field

from dna_bigbird.genome.alphabet import reverse_complement


@dataclass(frozen=True)
class Site:
    """One planted motif; 0-based, half-open, on the demo genome."""

    factor: str
    start: int
    end: int
    strand: str
    element: str
    score: float
    """Log-odds score in bits, of the site as it is in the sequence."""
    intact: str = ""
    """For a decoy, the bases before one was changed, as the site's strand reads them; else ''."""

    @property
    def is_decoy(self) -> bool:
        """Whether the site was damaged on purpose and counts for no label."""
        return bool(self.intact)

    @property
    def centre(self) -> int:
        """Middle of the site; distances between sites are taken between these."""
        return (self.start + self.end) // 2


@dataclass
class Element:
    """A promoter (`tss` set) or a distal element, with its sites."""

    name: str
    category: str
    """`promoter`, `cluster`, `short`, `mid` or `decoy`."""
    strand: str = "+"
    tss: int | None = None
    """0-based position of the first transcribed base."""
    promoter_class: str = ""
    """`CpG` or `TATA`."""
    flank: tuple[int, int] | None = None
    """Interval whose bases were partly redrawn as a CpG island."""
    sites: list[Site] = field(default_factory=list)

    @property
    def start(self) -> int:
        """First base of the leftmost site."""
        return min(site.start for site in self.sites)

    @property
    def end(self) -> int:
        """End of the rightmost site."""
        return max(site.end for site in self.sites)

    def at(self, offset: int) -> int:
        """Return the position of an offset from the start site, in the direction of transcription."""
        return self.tss + offset if self.strand == "+" else self.tss - offset

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the interval of the offsets first to last - 1.

        Example:
            >>> Element("P", "promoter", "-", tss=100).span(-2, 3)
            (98, 103)
        """
        if self.strand == "+":
            return self.tss + first, self.tss + last
        return self.tss - last + 1, self.tss - first + 1

    def copies(self, factor: str) -> int:
        """Return how many intact sites of a factor the element has."""
        return sum(site.factor == factor and not site.is_decoy for site in self.sites)


class Canvas:
    """A sequence that can be overwritten in place, each planted site only once."""

    def __init__(self, sequence: str) -> None:
        self._bases = bytearray(sequence, "ascii")
        self._taken = bytearray(len(sequence))

    def __str__(self) -> str:
        return self._bases.decode("ascii")

    def __len__(self) -> int:
        return len(self._bases)

    def base(self, position: int) -> str:
        """Return the base that is at a position now."""
        return chr(self._bases[position])

    def repaint(self, position: int, base: str) -> None:
        """Replace one background base."""
        self._check(position, position + 1)
        self._bases[position] = ord(base)

    def plant(self, start: int, sequence: str, strand: str) -> None:
        """Overwrite the bases from `start` so that `strand` reads `sequence` there."""
        end = start + len(sequence)
        self._check(start, end)
        written = reverse_complement(sequence) if strand == "-" else sequence
        self._bases[start:end] = written.encode("ascii")
        self._taken[start:end] = b"\1" * len(sequence)

    def _check(self, start: int, end: int) -> None:
        if start < 0 or end > len(self) or b"N" in self._bases[start:end]:
            raise RuntimeError(f"{start}-{end} lies in a gap or outside the sequence")
        if any(self._taken[start:end]):
            raise RuntimeError(f"{start}-{end} overlaps a planted site")
