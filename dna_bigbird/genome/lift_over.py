"""`dna-bigbird lift-over`: start sites and intervals on another assembly, with a UCSC chain file."""

import io
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.core.paths import BedOutput, InputPath, TsvOutput
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import SiteFormat
from dna_bigbird.genome.chromosome_names import ChromosomeNames, counted_names, usual_name
from dna_bigbird.genome.interval import Interval, StartSite

if TYPE_CHECKING:
    import pyliftover

NO_CHROMOSOME = "chromosome not in the chain"
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


class Chain:
    """The chains of a file, for chromosomes under any usual name (see `chromosome_names`)."""

    def __init__(self, chains: "pyliftover.LiftOver") -> None:
        self.chains = chains
        self.lengths = {x.source_name: x.source_size for x in chains.chain_file.chains}
        """Length in bp of the chromosomes of the old assembly, as the file names them."""
        self._names = ChromosomeNames(self.lengths)

    def target(self, site: Interval) -> Interval | str:
        """Return where the first base of an interval is on the new assembly, or why it is on no one place of it."""
        chrom = self._names.find(site.chrom)
        if chrom is None:
            return NO_CHROMOSOME
        if site.start >= self.lengths[chrom]:
            return f"beyond the end of {chrom} ({self.lengths[chrom]} bp in the chain)"
        targets = self.chains.convert_coordinate(chrom, site.start, site.strand)
        if not targets:
            return "deleted"
        if len(targets) > 1:
            positions = ", ".join(f"{name}:{position}" for name, position, *_ in targets)
            return f"several targets ({positions})"
        name, position, strand, _ = targets[0]
        if usual_name(name) != usual_name(chrom):
            return f"to another chromosome ({name})"
        return Interval(name, position, position + 1, strand)


def read_chain(path: Path) -> Chain:
    """Read a chain file, plain or gzip."""
    import pyliftover  # which is of an extra

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
        return Chain(pyliftover.LiftOver(io.BytesIO("".join(lines).encode())))
    except Exception as error:  # pyliftover raises bare Exception for any fault of the file
        raise InputError(f"{path}: cannot read this chain file: {error}") from error


def lift_sites(sites: list[StartSite], chain: Chain) -> tuple[list[LiftedSite], list[UnliftedSite]]:
    """Lift every start site by itself: sites sorted by place, and lost ones in the file's order."""
    # A site is lost if its base was deleted, its chromosome is not in the chain or ends before it,
    # it has several targets, or its target lies on another chromosome.
    lifted: list[LiftedSite] = []
    lost: list[UnliftedSite] = []
    for site in sites:
        origin = site.interval
        target = chain.target(origin)
        if isinstance(target, str):
            lost.append(UnliftedSite(site.name, origin, target))
        else:
            lifted.append(LiftedSite(target, site.name, origin))
    if sites and all(x.reason == NO_CHROMOSOME for x in lost) and not lifted:
        names, chains = (
            ", ".join(list(dict.fromkeys(some))[:5])
            for some in ((site.interval.chrom for site in sites), chain.lengths)
        )
        raise InputError(
            f"--chain: none of the chromosomes of the sites ({names}) is in it (it has {chains}). "
            "Is it from their assembly?"
        )
    lifted.sort(key=lambda x: (x.site, x.name))
    return lifted, lost


def lift_interval(interval: Interval, chain: Chain) -> Interval | None:
    """Lift an interval by its first and last base; None if either is lost or the length changes."""
    # Bases between them are not checked: of 485 windows of 500 bp on chr22, three had some that map
    # elsewhere.
    ends = []
    for position in (interval.start, interval.end - 1):
        base = Interval(interval.chrom, position, position + 1, interval.strand)
        target = chain.target(base)
        if isinstance(target, str):
            return None
        ends.append(target)
    first, last = sorted(ends)
    if first.strand != last.strand or last.end - first.start != interval.length:
        return None
    return Interval(first.chrom, first.start, last.end, first.strand)


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


@dataclass(frozen=True)
class LiftedSites(Result):
    """Start sites on the new assembly, and the sites without a single target."""

    output: Path
    unlifted: Path
    num_lifted: int
    num_lost: int
    num_changed_strand: int


@renamed(format="site_format")
@checked()
def lift_over(
    input: InputPath,
    chain: InputPath,
    output: BedOutput,
    unlifted: TsvOutput,
    site_format: SiteFormat = "auto",
) -> LiftedSites:
    """Move start sites to another assembly.

    Each site is lifted on its own; sites without a single target are listed with the reason.

    Examples:
        dna-bigbird lift-over --input promoters_hg38.bed --chain hg38_to_hg19.chain.gz --output promoters.bed \\
            --unlifted lost.tsv

    Args:
        input: File to read: start sites as BED, GTF, GFF3, FPS or SGA, plain or gzip.
        chain: UCSC chain file from the assembly of the input to that of the output.
        output: Result to write: BED6 file on the new assembly, sorted; column 5 keeps the old
            position.
        unlifted: Table of the lost sites, their old coordinates and the reasons.
    """
    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.genome.sites.reading import read_sites

    lifted, lost = lift_sites(read_sites(input, site_format), read_chain(chain))
    with atomic_path(output) as partial_output, atomic_path(unlifted) as partial_unlifted:
        write_lifted(partial_output, lifted)
        write_unlifted(partial_unlifted, lifted, lost)
    changed = sum(x.strand_changed for x in lifted)
    absent = Counter(x.origin.chrom for x in lost if x.reason == NO_CHROMOSOME)
    if absent:
        note(f"{chain}: it lacks the chromosome of {counted_names(absent, 'sites')}")
    note(f"{len(lifted)} lifted, {len(lost)} lost, {changed} changed strand")
    return LiftedSites(output, unlifted, len(lifted), len(lost), changed)
