"""Start sites in EPD's own formats in addition to BED: FPS and SGA.

Both name chromosomes by RefSeq accession and count from 1. The columns are those that the ChIP-Seq
tools (Debian package chip-seq, fps2sga.pl and sga2fps.pl) read and write.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.genome.chromosome_names import usual_name
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.sites.start_site import StartSite, position

# FP, three blanks, name (20), `:+S` and two flags, `EU:`, accession (18), topology, strand,
# position.
_FP = re.compile(r"FP   (.{20}):(.{4})(\S\S):(.{18})(.)(.)(.{10});")


def chromosome_of(accession: str) -> str:
    """Return the usual name of a human chromosome's RefSeq accession; other names stay.

    Example:
        >>> chromosome_of("NC_000023.11"), chromosome_of("chr7")
        ('chrX', 'chr7')
    """
    return f"chr{usual_name(accession)}" if accession.startswith("NC_0000") else accession


def read_fps(path: Path | str) -> Iterator[StartSite]:
    """Yield the sites of a Functional Position Set; lines other than `FP` are skipped.

    Raises:
        InputError: Naming file and line, for an `FP` line of another form.
    """
    for number, line in numbered_lines(path):
        if not line.startswith("FP"):
            continue
        where = f"{path}:{number}"
        match = _FP.match(line)
        if not match:
            raise InputError(
                f"{where}: cannot read this FP line; expected the fixed columns of EPD: name "
                "in 6-25, accession in 34-51, strand in 53, position in 54-63, then ';'"
            )
        yield _site(match[1].strip(), match[4].strip(), match[7], match[6], number, where)


def read_sga(path: Path | str) -> Iterator[StartSite]:
    """Yield the sites of a Simplified Genome Annotation file, named by column 6 if it is there.

    Raises:
        InputError: Naming file and line, for fewer than 5 columns or a wrong position or strand.
    """
    for number, line in numbered_lines(path):
        fields = line.rstrip("\n").split("\t")
        if line.startswith("#") or not line.strip():
            continue
        where = f"{path}:{number}"
        if len(fields) < 5:
            raise InputError(
                f"{where}: {len(fields)} column{'s' * (len(fields) != 1)} between tabs, "
                "expected at least 5 (sequence, feature, position, strand, count)"
            )
        name = fields[5].strip() if len(fields) > 5 else ""
        yield _site(name, fields[0].strip(), fields[2], fields[3].strip(), number, where)


def _site(name: str, accession: str, text: str, strand: str, number: int, where: str) -> StartSite:
    last = position(text, "position", where)
    if strand not in ("+", "-"):
        raise InputError(f"{where}: strand is {strand!r}; a start site needs '+' or '-'")
    interval = Interval(chromosome_of(accession), last - 1, last, strand)
    return StartSite(interval, name or ".", "", number)
