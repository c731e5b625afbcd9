"""Start sites from gene annotation: GTF and GFF3."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.genome.interval import Interval, StartSite, position

# pybedtools reads the formats too, but its errors name neither file nor line.
_COLUMNS = 9
_GTF_ATTRIBUTE = re.compile(
    r"""\s*([^\s;"]+)                       # the key, alone for a flag
        (?:\s+(?:"((?:[^"\\]|\\.)*)"        # a quoted value with escapes, or else with
               |"([^"]*)"                   # backslashes that mean themselves
               |([^;"\s]+)))?
        \s*(?:;|\#.*|$)""",
    re.VERBOSE,
)
_GTF_END = re.compile(r"\s*(#|$)")
_FLAG = re.compile(r"[^\s\"]+")


def annotation_rows(path: Path | str) -> Iterator[tuple[list[str], int]]:
    """Yield the nine columns of each row as text, and its line number, without comments."""
    for number, line in numbered_lines(path):
        if line.startswith(("##FASTA", ">")):
            return
        if line.startswith("#") or not line.strip():
            continue
        fields = line.rstrip("\n").split("\t")
        while len(fields) > _COLUMNS and not fields[-1].strip():
            fields.pop()
        where = f"{path}:{number}"
        if len(fields) != _COLUMNS:
            raise InputError(
                f"{where}: {len(fields)} column{'s' * (len(fields) != 1)} between tabs, "
                f"expected {_COLUMNS}. Is this a GTF or GFF file?"
            )
        start, end = (position(fields[i], n, where) for i, n in ((3, "start"), (4, "end")))
        if start > end:
            raise InputError(f"{where}: start {start} is beyond end {end}")
        # Without what is white space for `strip` and no digit for `int`.
        fields[3:5] = str(start), str(end)
        yield fields, number


def gtf_attributes(text: str, where: str) -> dict[str, str]:
    r"""Return the attributes of a GTF row; of a key that is repeated the first value.

    Example:
        >>> gtf_attributes(r'gene_id "G"; note "a; \"b\""; level 2; partial # made', "a.gtf:1")
        {'gene_id': 'G', 'note': 'a; "b"', 'level': '2', 'partial': ''}
    """
    attributes: dict[str, str] = {}
    at = 0
    while not _GTF_END.match(text, at):
        match = _GTF_ATTRIBUTE.match(text, at)
        if not match:
            raise _unreadable(text, where, 'key "value"; (GTF)')
        key, escaped, literal, bare = match.groups()
        value = re.sub(r"\\(.)", r"\1", escaped) if escaped is not None else literal or bare or ""
        attributes.setdefault(key, value)
        at = match.end()
    return attributes


def gff_attributes(text: str, where: str) -> dict[str, str]:
    """Return the attributes of a GFF3 row, decoded; Parent, a list of IDs, is for `parent_ids`.

    Example:
        >>> gff_attributes("ID=gene:A;Name=a%3Bb;partial", "a.gff3:1")
        {'ID': 'gene:A', 'Name': 'a;b', 'partial': ''}
    """
    attributes: dict[str, str] = {}
    for part in map(str.strip, text.split(";")):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals and not _FLAG.fullmatch(key or "."):
            raise _unreadable(text, where, "key=value; (GFF3)")
        if part not in ("", "."):
            attributes[unquote(key)] = value if key == "Parent" else unquote(value)
    return attributes


def parent_ids(attributes: dict[str, str]) -> list[str]:
    """Return the IDs of the features that a GFF3 feature is part of.

    Example:
        >>> parent_ids(gff_attributes("ID=c;Parent=a%2C1,b", "a.gff3:1"))
        ['a,1', 'b']
    """
    return [unquote(each) for each in attributes.get("Parent", "").split(",") if each]


def _unreadable(text: str, where: str, expected: str) -> InputError:
    return InputError(
        f"{where}: cannot read the attributes (column 9) {text.strip()[:40]!r}; expected {expected}"
    )


_GENE = re.compile(r"(\w+_)?(pseudo)?gene")
_TRANSCRIPT = re.compile(r"\w*transcript(_variant)?|\w*RNA|\w+_gene_segment")
_PARTS = frozenset(
    {
        "exon", "CDS", "UTR", "five_prime_UTR", "three_prime_UTR", "five_prime_utr", "three_prime_utr",
        "5UTR", "3UTR", "intron", "start_codon", "stop_codon", "Selenocysteine",
        "stop_codon_redefined_as_selenocysteine", "pseudogenic_exon", "pseudogenic_CDS",
    }
)  # fmt: skip
"""What transcripts consist of; not worth a note."""
_ACCESSIONS = {
    "SO:0000704": "gene", "SO:0000336": "pseudogene", "SO:0001263": "ncRNA_gene", "SO:0000673": "transcript",
    "SO:0000185": "primary_transcript", "SO:0000516": "pseudogenic_transcript", "SO:0000234": "mRNA",
    "SO:0001877": "lnc_RNA", "SO:0000655": "ncRNA", "SO:0000276": "miRNA", "SO:0000274": "snRNA",
    "SO:0000275": "snoRNA", "SO:0000253": "tRNA", "SO:0000252": "rRNA", "SO:0000147": "exon", "SO:0000316": "CDS",
}  # fmt: skip
"""GFF3 allows accessions of the Sequence Ontology as types."""
_BIOTYPES = ("gene_biotype", "biotype", "gene_type")
_KEPT = (
    "ID",
    "Parent",
    "Derives_from",
    "Name",
    "gene_id",
    "gene_name",
    "gene",
    "pseudo",
    *_BIOTYPES,
)
"""Attributes that are read below; a genome has millions of others."""
_PREFIX = re.compile(r"gene[:-]", re.IGNORECASE)
"""Of the IDs of genes: `gene:ENSG00000223972` (Ensembl), `gene-DDX11L1` (NCBI)."""
_SHOWN_TYPES = 6


@dataclass
class _Feature:
    """A gene or transcript."""

    type: str
    start: Interval | None
    """Its first base in the direction of transcription; None without a strand."""
    attributes: dict[str, str]
    line_number: int
    gene: tuple[str, str] | None
    """Chromosome and ID of the gene: of itself, or the one that a transcript is of; None if not given."""


@dataclass
class _Annotation:
    genes: dict[tuple[str, str], _Feature] = field(default_factory=dict)
    """By chromosome and ID: the two pseudoautosomal copies of a gene may share their ID."""
    transcripts: dict[tuple[str, str], _Feature] = field(default_factory=dict)
    circular: dict[str, int] = field(default_factory=dict)
    """Lengths of circular chromosomes, beyond whose last base a feature may end."""
    unused: Counter[str] = field(default_factory=Counter)
    """Features that give no site, by type and reason."""


def read_annotation(path: Path | str, *, gtf: bool) -> list[StartSite]:
    """Read the start site of every transcript, in the order of the file."""
    # Transcripts within another one, such as a miRNA of a primary_transcript, do not count. A gene
    # without a transcript gives its own start, unless it is a pseudogene in a file that has
    # transcripts. Sites are named as in EPDnew, `GENE_1`, `GENE_2`.
    annotation = (_read_gtf if gtf else _read_gff)(path)
    starts: dict[Interval, _Feature] = {}
    for feature in sorted(_starting(annotation), key=lambda feature: feature.line_number):
        if feature.start is None:
            annotation.unused[f"{feature.type} without a strand"] += 1
        else:
            starts.setdefault(_on_circle(feature.start, annotation.circular), feature)
    if +annotation.unused:
        note(f"{path}: not used for start sites: {_counts(+annotation.unused)}")
    return _named(starts, annotation.genes)


def _read_gtf(path: Path | str) -> _Annotation:
    """Read genes and transcripts of a GTF file, which have a gene_id in common."""
    annotation = _Annotation()
    for fields, number in annotation_rows(path):
        is_gene = bool(_GENE.fullmatch(fields[2]))
        if not is_gene and not _TRANSCRIPT.fullmatch(fields[2]):
            annotation.unused[fields[2]] += fields[2] not in _PARTS
            continue
        where = f"{path}:{number}"
        attributes = _kept(gtf_attributes(fields[8], where))
        gene = _first(attributes, "gene_id", "gene_name")
        key = (fields[0], gene) if gene else None
        feature = _Feature(fields[2], _start(fields, where), attributes, number, key)
        target = annotation.genes if is_gene else annotation.transcripts
        target.setdefault(key if key and is_gene else (fields[0], f"line {number}"), feature)
    return annotation


def _read_gff(path: Path | str) -> _Annotation:
    """Read genes and transcripts of a GFF3 file: transcripts name their gene as Parent."""
    annotation = _Annotation()
    for fields, number in annotation_rows(path):
        chrom, type = unquote(fields[0]), unquote(fields[2])
        type = _ACCESSIONS.get(type, type)
        where = f"{path}:{number}"
        if "Is_circular=true" in fields[8]:
            annotation.circular[chrom] = int(fields[4])
        is_gene = bool(_GENE.fullmatch(type))
        if not is_gene and not _TRANSCRIPT.fullmatch(type):
            annotation.unused[type] += type not in _PARTS
            continue
        attributes = _kept(gff_attributes(fields[8], where))
        own = attributes.get("ID", "")
        feature = _Feature(type, _start([chrom, *fields[1:]], where), attributes, number, None)
        if is_gene:
            feature.gene = (chrom, own) if own else None
        target = annotation.genes if is_gene else annotation.transcripts
        _add(target, (chrom, own or f"line {number}"), feature)
    return _linked(annotation)


def _kept(attributes: dict[str, str]) -> dict[str, str]:
    return {key: attributes[key] for key in _KEPT if key in attributes}


def _add(
    features: dict[tuple[str, str], _Feature], key: tuple[str, str], feature: _Feature
) -> None:
    """Add a feature; one of several rows with one ID starts where the first of them starts."""
    first = features.setdefault(key, feature)
    if first.start and feature.start and first.start.strand == feature.start.strand:
        starts = (first.start, feature.start)
        choose = min if first.start.strand == "+" else max
        first.start = choose(starts, key=lambda start: start.start)


def _linked(annotation: _Annotation) -> _Annotation:
    """Name the genes of GFF3 transcripts; leave out those that are part of another transcript."""
    whole = {}
    for key, feature in annotation.transcripts.items():
        above = [(key[0], parent) for parent in parent_ids(feature.attributes)]
        genes = [parent for parent in above if parent in annotation.genes]
        is_part = any(parent in annotation.transcripts for parent in above)
        if not genes and (is_part or (not above and "Derives_from" in feature.attributes)):
            annotation.unused[f"{feature.type} within a transcript"] += 1
        else:
            feature.gene = next(iter(genes or above), None)
            whole[key] = feature
    annotation.transcripts = whole
    return annotation


def _starting(annotation: _Annotation) -> Iterator[_Feature]:
    """Yield the transcripts, and the genes that have none."""
    transcripts = annotation.transcripts.values()
    yield from transcripts
    with_transcripts = {feature.gene for feature in transcripts} - {None}
    for feature in annotation.genes.values():
        if feature.gene in with_transcripts:
            continue
        if transcripts and feature.gene is None:
            annotation.unused[f"{feature.type} without an ID"] += 1
        elif transcripts and _is_pseudogene(feature):
            annotation.unused["pseudogene without a transcript"] += 1
        else:
            yield feature


def _is_pseudogene(gene: _Feature) -> bool:
    types = [gene.type, *(gene.attributes.get(key, "") for key in _BIOTYPES)]
    return gene.attributes.get("pseudo") == "true" or any("pseudogene" in each for each in types)


def _start(fields: list[str], where: str) -> Interval | None:
    strand = fields[6]
    if strand in (".", "?"):
        return None
    if strand not in ("+", "-"):
        raise InputError(f"{where}: strand (column 7) is {strand!r}, expected one of '+', '-', '.'")
    last = int(fields[3]) if strand == "+" else int(fields[4])
    return Interval(fields[0], last - 1, last, strand)


def _on_circle(start: Interval, circular: dict[str, int]) -> Interval:
    length = circular.get(start.chrom)
    if length is None or start.end <= length:
        return start
    return Interval(start.chrom, start.start % length, start.start % length + 1, start.strand)


def _named(
    starts: dict[Interval, _Feature], genes: dict[tuple[str, str], _Feature]
) -> list[StartSite]:
    seen: Counter[str] = Counter()
    sites = []
    for interval, feature in starts.items():
        gene, name = _gene_and_name(feature, genes)
        if name:
            seen[name] += 1
            name = f"{name}_{seen[name]}"
        sites.append(StartSite(interval, name or ".", gene, feature.line_number))
    return sites


def _gene_and_name(feature: _Feature, genes: dict[tuple[str, str], _Feature]) -> tuple[str, str]:
    """Return ID and name of the gene of a feature: as it gives them itself, or its gene does."""
    own = feature.attributes
    above = genes[feature.gene].attributes if feature.gene in genes else {}
    keys = ("gene_id", "gene_name", "gene")
    gene = _first(own, *keys) or _first(above, *keys)
    gene = gene or (feature.gene[1] if feature.gene else "") or _first(own, "Name", "ID")
    name = _first(own, "gene_name", "gene") or _first(above, "gene_name", "gene", "Name")
    gene = _PREFIX.sub("", gene, count=1)
    return gene, name or ("" if above else _first(own, "Name")) or gene


def _first(attributes: dict[str, str], *keys: str) -> str:
    return next((attributes[key] for key in keys if attributes.get(key)), "")


def _counts(features: Counter[str]) -> str:
    most = features.most_common()
    shown = [f"{count:,} {type}" for type, count in most[:_SHOWN_TYPES]]
    others = sum(count for _, count in most[_SHOWN_TYPES:])
    return ", ".join(shown + [f"{others:,} of other types"] * bool(others))
