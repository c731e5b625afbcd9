"""Moving start sites and intervals to another assembly with a UCSC chain file."""

import io
import re
from dataclasses import dataclass
from pathlib import Path

import pyliftover

from dna_bigbird.errors import InputError, shortened
from dna_bigbird.files import numbered_lines
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.start_site import StartSite

_COUNT = "[0-9]{1,18}"
_CHAIN_LINE = re.compile(
    rf"chain\s+-?{_COUNT}(\s+\S+\s+{_COUNT}\s+[+-]\s+{_COUNT}\s+{_COUNT}){{2}}(\s+\S+)?"
    rf"|{_COUNT}(\s+{_COUNT}\s+{_COUNT})?",
    re.ASCII,
)


@dataclass(frozen=True)
class LiftedSite:
    """A start site on the new assembly, and where it was."""

    site: Interval
    name: str
    origin: Interval

    @property
    def strand_changed(self) -> bool:
        """Whether the new assembly holds this piece the other way round."""
        return self.site.strand != self.origin.strand


@dataclass(frozen=True)
class UnliftedSite:
    """A start site with no single place on the new assembly, and the reason."""

    name: str
    origin: Interval
    reason: str


def read_chain(path: Path) -> pyliftover.LiftOver:
    """Read a chain file, plain or gzip.

    Raises:
        InputError: If it is missing, damaged, or no chain file.
    """
    lines = []
    for number, line in numbered_lines(path):
        is_empty = not line.strip() or line.startswith("#")
        if not lines and not is_empty and not line.startswith("chain "):
            raise InputError(
                f"{path}: the first line is {line.strip()[:30]!r}, expected a UCSC chain file, "
                "whose first line starts with 'chain'"
            )
        if not is_empty and not _CHAIN_LINE.fullmatch(line.strip()):
            raise InputError(
                f"{path}:{number}: {shortened(line.strip())!r}: not a line of a chain file; expected "
                "'chain' with 11 or 12 columns, or 1 or 3 whole numbers"
            )
        lines.append("\n" if is_empty else line)
    if not any(line.startswith("chain") for line in lines):
        raise InputError(f"{path}: no chain in it; expected a UCSC chain file")
    try:
        return pyliftover.LiftOver(io.BytesIO("".join(lines).encode()))
    except Exception as error:  # pyliftover raises bare Exception for any fault of the file
        raise InputError(f"{path}: cannot read this chain file: {error}") from error


def lift_sites(
    sites: list[StartSite], chain: pyliftover.LiftOver
) -> tuple[list[LiftedSite], list[UnliftedSite]]:
    """Lift every start site by itself, one base at a time.

    Lifted sites come sorted by chromosome name, position, strand and name; lost ones in the
    order of the file. A site is lost if its base was deleted, its chromosome is not in the
    chain, it has several targets, or its target lies on another chromosome.
    """
    lifted: list[LiftedSite] = []
    lost: list[UnliftedSite] = []
    for site in sites:
        origin = site.interval
        targets = chain.convert_coordinate(origin.chrom, origin.start, origin.strand)
        reason = _reason_for_loss(origin.chrom, targets)
        if reason:
            lost.append(UnliftedSite(site.name, origin, reason))
        else:
            chrom, position, strand, _ = targets[0]
            interval = Interval(chrom, position, position + 1, strand)
            lifted.append(LiftedSite(interval, site.name, origin))
    lifted.sort(key=lambda x: (x.site, x.name))
    return lifted, lost


def lift_interval(interval: Interval, chain: pyliftover.LiftOver) -> Interval | None:
    """Lift a whole interval by its first and last base; None if it is lost.

    It is lost if either base is (see `lift_sites`), or if it would have another length. Bases between them are
    not checked: of 485 windows of 500 bp on chr22, three had some that map elsewhere.
    """
    ends = []
    for position in (interval.start, interval.end - 1):
        targets = chain.convert_coordinate(interval.chrom, position, interval.strand)
        if _reason_for_loss(interval.chrom, targets):
            return None
        ends.append(targets[0])
    (chrom, first, strand, _), (_, last, other_strand, _) = ends
    start, end = min(first, last), max(first, last) + 1
    if strand != other_strand or end - start != interval.length:
        return None
    return Interval(chrom, start, end, strand)


def _reason_for_loss(chrom: str, targets: list[tuple] | None) -> str:
    if targets is None:
        return "chromosome not in the chain"
    if not targets:
        return "deleted"
    if len(targets) > 1:
        positions = ", ".join(f"{name}:{position}" for name, position, *_ in targets)
        return f"several targets ({positions})"
    if targets[0][0] != chrom:
        return f"to another chromosome ({targets[0][0]})"
    return ""


def write_lifted(path: Path, lifted: list[LiftedSite]) -> None:
    """Write BED6: column 5 holds the old `chromosome:start:strand`, its start counted from 0."""
    with open(path, "w", encoding="utf-8") as stream:
        for x in lifted:
            old = f"{x.origin.chrom}:{x.origin.start}:{x.origin.strand}"
            row = (x.site.chrom, x.site.start, x.site.end, x.name, old, x.site.strand)
            print(*row, sep="\t", file=stream)


def write_unlifted(path: Path, lifted: list[LiftedSite], lost: list[UnliftedSite]) -> None:
    """Write the lost sites with their old coordinates (from 0), below three lines of counts."""
    with open(path, "w", encoding="utf-8") as stream:
        print(f"# lifted: {len(lifted)}", file=stream)
        print(f"# lost: {len(lost)}", file=stream)
        print(f"# strand changed: {sum(x.strand_changed for x in lifted)}", file=stream)
        print("name", "chrom", "start", "end", "strand", "reason", sep="\t", file=stream)
        for x in lost:
            old = (x.origin.chrom, x.origin.start, x.origin.end, x.origin.strand)
            print(x.name, *old, x.reason, sep="\t", file=stream)
