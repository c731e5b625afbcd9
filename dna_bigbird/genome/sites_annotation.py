"""Start sites from gene annotation: GTF and GFF3.

Both count from 1 and include the end; rows are converted here, once. pybedtools reads the formats
too, but its errors name neither file nor line.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from dna_bigbird.errors import InputError
from dna_bigbird.files import numbered_lines
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.start_site import StartSite, position

TRANSCRIPTS = ("transcript", "mRNA")
_COLUMNS = 9
_GTF_ATTRIBUTE = re.compile(r'\s*([^\s;"]+)\s+(?:"([^"]*)"|([^;"\s]+))\s*(?:;|$)')


def read_annotation(path: Path | str, *, gtf: bool) -> list[StartSite]:
    """Read the start site of every transcript, in the order of the file.

    Rows whose feature is `transcript` or `mRNA` count; if there are none, rows of `gene`. The site
    is the first base on '+', the last on '-'. Transcripts that start at one base and strand give
    one site. Sites are named as in EPDnew, `GENE_1`, `GENE_2`; the gene is gene_id, gene_name,
    gene (NCBI), Parent, Name or ID, whichever comes first, and the name is made of gene_name, gene
    or Name where there is one.

    Raises:
        InputError: Naming file and line, for a malformed row, or a start site without a strand.
    """
    transcripts: dict[Interval, tuple[dict[str, str], int]] = {}
    genes: dict[Interval, tuple[dict[str, str], int]] = {}
    parse = _gtf_attributes if gtf else _gff_attributes
    for fields, number in annotation_rows(path):
        if fields[2] in TRANSCRIPTS or (fields[2] == "gene" and not transcripts):
            target = genes if fields[2] == "gene" else transcripts
            where = f"{path}:{number}"
            target.setdefault(_start(fields, where), (_attributes(fields[8], parse, where), number))
    return _named(transcripts or genes)


def annotation_rows(path: Path | str) -> Iterator[tuple[list[str], int]]:
    """Yield the nine columns of each row as text, and its line number; comments and sequences are skipped.

    Raises:
        InputError: Naming file and line, for another number of columns, or a start or end that is not a position.
    """
    for number, line in numbered_lines(path):
        if line.startswith("##FASTA"):
            return
        if line.startswith("#") or not line.strip():
            continue
        fields = line.rstrip("\n").split("\t")
        where = f"{path}:{number}"
        if len(fields) != _COLUMNS:
            raise InputError(
                f"{where}: {len(fields)} column{'s' * (len(fields) != 1)} between tabs, "
                f"expected {_COLUMNS}. Is this a GTF or GFF file?"
            )
        start, end = (position(fields[i], n, where) for i, n in ((3, "start"), (4, "end")))
        if start > end:
            raise InputError(f"{where}: start {start} is beyond end {end}")
        yield fields, number


def _start(fields: list[str], where: str) -> Interval:
    strand = fields[6]
    if strand not in ("+", "-"):
        raise InputError(
            f"{where}: strand (column 7) is {strand!r}; a start site needs '+' or '-'. "
            "Remove the row if its strand is not known"
        )
    last = int(fields[3]) if strand == "+" else int(fields[4])
    return Interval(fields[0], last - 1, last, strand)


def _attributes(
    text: str, parse: Callable[[str], dict[str, str] | None], where: str
) -> dict[str, str]:
    attributes = parse(text.strip())
    if attributes is None:
        raise InputError(
            f"{where}: cannot read the attributes (column 9) {text[:40]!r}; expected "
            + ('key "value"; (GTF)' if parse is _gtf_attributes else "key=value; (GFF3)")
        )
    return attributes


def _gtf_attributes(text: str) -> dict[str, str] | None:
    attributes, position = {}, 0
    while position < len(text):
        match = _GTF_ATTRIBUTE.match(text, position)
        if not match:
            return None
        attributes.setdefault(match[1], match[2] if match[2] is not None else match[3])
        position = match.end()
    return attributes


def _gff_attributes(text: str) -> dict[str, str] | None:
    parts = [part for part in text.split(";") if part.strip() and part != "."]
    if any("=" not in part for part in parts):
        return None
    return {key.strip(): value.strip() for key, _, value in (p.partition("=") for p in parts)}


def _named(transcripts: dict[Interval, tuple[dict[str, str], int]]) -> list[StartSite]:
    seen: dict[str, int] = {}
    sites = []
    for interval, (attributes, number) in transcripts.items():
        gene = _first(attributes, "gene_id", "gene_name", "gene", "Parent", "Name", "ID")
        name = _first(attributes, "gene_name", "gene", "Name") or gene
        if name:
            seen[name] = seen.get(name, 0) + 1
            name = f"{name}_{seen[name]}"
        sites.append(StartSite(interval, name or ".", gene, number))
    return sites


def _first(attributes: dict[str, str], *keys: str) -> str:
    return next((attributes[key] for key in keys if attributes.get(key)), "")
