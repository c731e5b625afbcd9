"""Small files of a genome browser, and a reader of the page that shows them."""

import gzip
import json
import random
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pyBigWig

CHROM_BP = 3000
BREAKOUT = "</script><b onmouseover=alert(1)>N</b>"
RUNS = [(100, 400, 0.25), (1000, 1150, 0.7), (1150, 1900, 0.1), (2500, 2600, 1.0)]
"""A bigWig file of runs: start, end, value."""
BED_ROWS = [
    ("chr1", 10, 60, "far", 5, "+"), ("chr1", 940, 951, "edge", 5, "+"), ("chr1", 900, 950, "next to it", 7, "-"),
    ("chr1", 1010, 1020, "é & <i>", 9, "-"), ("2", 30, 90, "other style", 1, "+"), ("chr7", 1, 5, "absent", 1, "+"),
]  # fmt: skip
VCF_ROWS = [("chr1", 951, "A"), ("chr1", 950, "B"), ("chr1", 1100, "C"), ("chr1", 1301, "D"), ("chr2", 40, "E")]  # fmt: skip
"""Chromosome, position from 1, identifier."""
GENES = [("transcript", 901, 1400), ("exon", 901, 950), ("exon", 1001, 1100), ("exon", 1300, 1400)]
"""Feature, start and end as in a GTF file: from 1, both ends included."""


@dataclass(frozen=True)
class Files:
    """Two chromosomes, and a file of each format."""

    fasta: Path
    runs: Path
    bases: Path
    """A bigWig file with a value per base in 1000-1099 of chr1."""
    bed: Path
    vcf: Path
    gtf: Path
    sequences: dict[str, str]
    base_values: list[float]


def write_files(folder: Path) -> Files:
    draw = random.Random(0)
    sequences = {name: "".join(draw.choices("ACGT", k=CHROM_BP)) for name in ("chr1", "chr2")}
    fasta, bed, vcf = folder / "toy.fa", folder / "peaks.bed.gz", folder / "variants.vcf"
    gtf = folder / "genes.gtf"
    attributes = 'gene_id "G"; transcript_id "T"; gene_name "NAME";'
    rows = [("1", "x", what, start, end, ".", "-", ".", attributes) for what, start, end in GENES]
    gtf.write_text("#!text\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    fasta.write_text("".join(f">{name} text\n{bases}\n" for name, bases in sequences.items()))
    values = [round(draw.uniform(-1, 1), 3) for _ in range(100)]
    write_bigwig(folder / "runs.bw", RUNS)
    write_bigwig(folder / "bases.bigWig", [(1000 + i, 1001 + i, x) for i, x in enumerate(values)])
    with gzip.open(bed, "wt", encoding="utf-8") as stream:
        stream.writelines("\t".join(map(str, row)) + "\n" for row in BED_ROWS)
    header = "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=3000>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS\n"
    lines = [
        f"{chrom}\t{pos}\t{name}\t{sequences[chrom][pos - 1]}\t<DEL>\t.\t.\t{BREAKOUT}\tGT\t0/1\n"
        for chrom, pos, name in VCF_ROWS
    ]
    vcf.write_text(header + "".join(lines))
    return Files(
        fasta, folder / "runs.bw", folder / "bases.bigWig", bed, vcf, gtf, sequences, values
    )


def write_overlapping(path: Path, count: int) -> Path:
    """Write a BED file of intervals over one base, and one apart from them."""
    rows = [(1000 + i, 1100 + i) for i in range(count)] + [(1200, 1210)]
    path.write_text("".join(f"chr1\t{start}\t{end}\tp\n" for start, end in rows))
    return path


def write_bigwig(path: Path, rows: list[tuple[int, int, float]], lengths=None) -> None:
    file = pyBigWig.open(str(path), "w")
    file.addHeader(lengths or [("chr1", CHROM_BP), ("chr2", CHROM_BP)])
    chrom = (lengths or [("chr1", 0)])[0][0]
    starts, ends, values = (list(x) for x in zip(*rows, strict=True))
    file.addEntries([chrom] * len(rows), starts, ends=ends, values=values)
    file.close()


@dataclass
class Page(HTMLParser):
    """The elements of a page, read as a browser does."""

    text: str
    elements: list[tuple[str, dict]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    _inside: str = ""

    def __post_init__(self):
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        if self._inside in ("h1", "th"):
            self.headings.append(data)

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[1])
