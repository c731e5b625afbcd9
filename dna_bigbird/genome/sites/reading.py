"""Reading start sites from any of the files in which they come."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.genome.bed import iter_bed, start_site
from dna_bigbird.genome.chromosome_names import usual_name
from dna_bigbird.genome.interval import Interval, StartSite, position
from dna_bigbird.genome.sites.annotation import read_annotation

# EPD's formats FPS and SGA name chromosomes by RefSeq accession and count from 1. The columns are those that the
# ChIP-Seq tools (Debian package chip-seq, fps2sga.pl and sga2fps.pl) read and write. FPS: FP, three blanks, name (20),
# `:+S` and two flags, `EU:`, accession (18), topology, strand, position.
_FP = re.compile(r"FP   (.{20}):(.{4})(\S\S):(.{18})(.)(.)(.{10});")


def chromosome_of(accession: str) -> str:
    """Return the usual name of a human chromosome's RefSeq accession; other names stay.

    Example:
        >>> chromosome_of("NC_000023.11"), chromosome_of("chr7")
        ('chrX', 'chr7')
    """
    return f"chr{usual_name(accession)}" if accession.startswith("NC_0000") else accession


def read_fps(path: Path | str) -> Iterator[StartSite]:
    """Yield the sites of a Functional Position Set; lines other than `FP` are skipped."""
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
    """Yield the sites of a Simplified Genome Annotation file, named by column 6 if it is there."""
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


FORMATS = ("auto", "bed", "gtf", "gff", "fps", "sga")
MAX_SITES_A_GENE = 50
"""EPDnew has up to 29 promoters per gene; a name of more sites (`peak_1`, `peak_2`) is not a gene."""
_NUMBERED = re.compile(r"(.+)_\d+")


def read_sites(path: Path | str, format: str = "auto") -> list[StartSite]:
    """Read start sites, plain, gzip or bgzip, in the order of the file."""
    # The gene of a site called `GENE_1` is `GENE`, as EPDnew names them; GTF and GFF tell the gene.
    if format == "auto":
        format = format_of(path)
    if format == "bed":
        sites = [
            StartSite(start_site(row, path), row.name, "", row.line_number)
            for row in iter_bed(path)
        ]
    elif format in ("gtf", "gff"):
        sites = read_annotation(path, gtf=format == "gtf")
    elif format in ("fps", "sga"):
        sites = list((read_fps if format == "fps" else read_sga)(path))
    else:
        raise ValueError(f"unknown format {format!r}; there are: {', '.join(FORMATS)}")
    if not sites:
        raise InputError(f"{path}: no start site in it; it was read as {format.upper()}")
    return _with_genes(sites)


def format_of(path: Path | str) -> str:
    """Tell the format of a file of start sites from its first row."""
    for number, line in numbered_lines(path):
        if re.match(r"##gff-version\s+3", line):
            return "gff"
        if not line.strip() or line.startswith(("#", "track", "browser")):
            continue
        if re.match(r"[A-Z]{2}(   |$)", line):
            return "fps"
        site_format = _format_of_row(line.rstrip("\n"))
        if site_format:
            return site_format
        raise InputError(
            f"{path}:{number}: the row {line.strip()[:40]!r} is none of BED, GTF, GFF, FPS and "
            "SGA. If you know better, say --format bed (or gtf, gff, fps, sga)"
        )
    raise InputError(f"{path}: no row in it; expected start sites")


def _format_of_row(line: str) -> str:
    """Infer it from the column of the strand, so that a row with a wrong number is still reported."""
    tabbed = line.split("\t")
    if len(tabbed) >= 9 and tabbed[6] in ("+", "-", ".", "?"):
        is_gff = re.search(r"(^|;)\s*[^\s;\"]+=|^\.?$", tabbed[8])
        return "gff" if is_gff else "gtf"
    if len(tabbed) >= 5 and tabbed[3] in ("+", "-", "0"):
        return "sga"
    fields = tabbed if len(tabbed) > 1 else line.split()
    return "bed" if len(fields) >= 3 else ""


def _with_genes(sites: list[StartSite]) -> list[StartSite]:
    stems = [_NUMBERED.fullmatch(site.name) for site in sites]
    genes = [x.gene or (stem[1] if stem else "") for x, stem in zip(sites, stems, strict=True)]
    count = Counter(genes)
    return [
        replace(site, gene=gene if count[gene] <= MAX_SITES_A_GENE else "")
        for site, gene in zip(sites, genes, strict=True)
    ]
