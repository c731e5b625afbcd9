"""Every reader of text in files: cut off, growing, with endless lines, with numbers that are none."""

import gzip
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pysam
import pytest

from dna_bigbird.bench.suites.bend import window_of
from dna_bigbird.bench.suites.genomic_benchmarks import read_intervals
from dna_bigbird.bench.suites.nucleotide_transformer import read_labelled_fasta
from dna_bigbird.bench.suites.tables import class_row, position, read_table
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import LONGEST_ROW, numbered_lines
from dna_bigbird.core.unpacking import unpacked_limit
from dna_bigbird.corpus import document_file
from dna_bigbird.evaluation.rank_variants_run import read_score_table
from dna_bigbird.genome import Genome
from dna_bigbird.genome.bed import read_bed, read_columns, start_site
from dna_bigbird.genome.fasta_pieces import read_pieces
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.lift_over import read_chain
from dna_bigbird.genome.motif_files import read_motifs
from dna_bigbird.genome.sites.reading import read_sites
from dna_bigbird.genome.variants import read_vcf
from dna_bigbird.labelled.chromatin.peak_sheet import peak_rows, read_sheet
from dna_bigbird.labelled.promoter.promoter_sequences import read_promoter_sequences
from dna_bigbird.labelled.sequences.files import SequenceColumns, SequenceFile
from dna_bigbird.labelled.sequences.labels import encode_labels
from dna_bigbird.report.tracks import covered, read_scores
from dna_bigbird.text.data.reading import read_json_lines
from tests.bgzip_blocks import bgzip, cuts_of


class Reader(NamedTuple):
    """A function that reads a whole file, and a valid one; its numbers are in angle brackets."""

    text: str
    read: Callable[[Path], object]
    rows: bool = True
    """Its lines are rows of a table, not sequences or text."""
    name: str = "x"
    filler: str = "\n"
    """Line that may follow any number of times."""

    @property
    def content(self) -> str:
        return re.sub(r"<(\d+)>", r"\1", self.text)


def regression_labels(path):
    rows = list(SequenceFile(path).rows(SequenceColumns(), None))
    return encode_labels(rows, ["label"], label_type="regression")


def bend_windows(path):
    rows = read_table(path, ("chromosome", "start", "end"))
    return [window_of(cells, f"{path}:{line}") for line, cells in rows]


def class_rows(path):
    rows = read_table(path, ("sequence", "label"))
    return [class_row(path, line, "train", x["sequence"], x["label"], 9) for line, x in rows]


def variant_positions(path):
    rows = read_table(path, ("chrom", "pos"))
    return [position(cells["pos"], "pos", f"{path}:{line}", least=1) for line, cells in rows]


GTF = 'chr1\tx\ttranscript\t<5>\t<90>\t.\t+\t.\tgene_id "G"; transcript_id "T";\n'
CHAIN = "chain <100> chrA <100> + <0> <20> chrB <50> + <5> <23> 1\n<10> <2> <0>\n<8>\n"
READERS = {
    "BED": Reader("chr1\t<5>\t<9>\tname\t0\t+\n", read_bed),
    "BED columns": Reader("chr1\t<5>\t<9>\tname\t0\t+\n", read_columns),
    "EPD rows": Reader(
        "chr1\t30\t90\tname\t0\t+\t<60>\t<61>\n", lambda path: [start_site(x, path) for x in read_bed(path)]
    ),
    "BED12": Reader("chr1\t<5>\t<9>\td\t0\t+\t5\t9\t0\t2\t<1>,<3>\t<0>,<1>\n", lambda path: list(document_file.iter_document_file(path)), rows=False),
    "genome of documents": Reader(
        f"{document_file._MARK}chr1 length <9> sha256 {'0' * 64}\n", document_file._read, rows=False
    ),
    "GTF": Reader(GTF, lambda path: read_sites(path, "gtf")),
    "GFF3": Reader("chr1\tx\tmRNA\t<5>\t<90>\t.\t-\t.\tID=T\n", lambda path: read_sites(path, "gff")),
    "SGA": Reader("NC_000001.10\tTSS\t<700>\t+\t1\n", lambda path: read_sites(path, "sga")),
    "VCF": Reader(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nchr1\t<5>\t.\tA\tC\t.\t.\t.\n",
        lambda path: list(read_vcf(path)), rows=False,
    ),
    "JASPAR": Reader(
        ">M a\nA [ <1> <2> ]\nC [ <1> <2> ]\nG [ <1> <2> ]\nT [ <1> <2> ]\n", read_motifs
    ),
    "MEME": Reader(
        "MEME version 4\nMOTIF M\nletter-probability matrix: alength= <4> w= <1>\n<1> <0> <0> <0>\n", read_motifs
    ),
    "chain": Reader(CHAIN, read_chain),
    "peaks": Reader("chr1\t<5>\t<9>\n", lambda path: peak_rows([path, path.parent / "y.bed=x"][:1]), name="x.bed"),
    "targets": Reader("sequence,label\nACGT,<1>\nACGG,<2>\n", regression_labels, rows=False),
    "effects": Reader(
        "chrom\tpos\tid\tref\talt\ta_log_odds\nchr1\t5\t.\tA\tC\t<1>\n", read_score_table,
        filler="chr1\t5\t.\tA\tC\t1\n",
    ),
    "predictions": Reader("sequence\tstart\tend\ta\nchr1\t<5>\t<9>\t0.5\n", covered),
    "scores": Reader(
        "sequence\tstart\tend\ta\nchr1\t5\t9\t<1>\n",
        lambda path: read_scores(path, Interval("chr1", 0, 50), ["a"]),
    ),
    "suite intervals": Reader(
        "id,region,start,end,strand\n1,chr1,<5>,<9>,+\n", lambda path: list(read_intervals(path, None))
    ),
    "suite windows": Reader("chromosome,start,end\nchr1,<0>,<512>\n", bend_windows, rows=False),
    "suite classes": Reader("sequence,label\nACGT,<1>\n", class_rows, rows=False),
    "suite variants": Reader("chrom,pos\nchr1,<5>\n", variant_positions, rows=False),
    "suite FASTA": Reader(">a|1\nACGT\n", lambda path: list(read_labelled_fasta(path)), rows=False),
    "FASTA": Reader(">a\nACGT\n", lambda path: list(read_pieces(path)), rows=False),
    "promoters": Reader(
        "ACGTACGTACGTACGTACGT\n", lambda path: list(read_promoter_sequences(path, "p")), rows=False
    ),
    "lines": Reader("some words\n", lambda path: list(numbered_lines(path))),
    "JSON lines": Reader('{"text": "a"}\n', lambda path: list(read_json_lines(path)), rows=False),
}  # fmt: skip
NUMBERS = ["1_0", "\u0661", "\u00b2", "9" * 5000, "0x1", "1e", "1,5"]
"""What `int` or `float` take, or raise something of their own for."""
NAMES = pytest.mark.parametrize("name", READERS)


@NAMES
def test_valid(tmp_path, name):
    reader = READERS[name]
    path = tmp_path / reader.name
    for content in (reader.content.encode(), bgzip(reader.content.encode(), 16)[0]):
        path.write_bytes(content)
        assert reader.read(path)


@NAMES
def test_bgzip_cut_anywhere(tmp_path, name):
    reader = READERS[name]
    path = tmp_path / reader.name
    for content in cuts_of(reader.content.encode()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"{path.name}\b"):
            reader.read(path)


@NAMES
def test_text_that_grows(tmp_path, name):
    reader = READERS[name]
    path = tmp_path / reader.name
    filler = reader.filler * 300_000
    text = filler + reader.content if name == "peaks" else reader.content + filler
    path.write_bytes(gzip.compress(text.encode()))
    with unpacked_limit(2**-12), pytest.raises(InputError, match=rf"{path.name}: unpacked it is"):
        reader.read(path)


@pytest.mark.parametrize("name", [name for name, reader in READERS.items() if reader.rows])
def test_a_row_without_end(tmp_path, name):
    """The last line of the valid file goes on; a sheet, which may be anything, is asked for its rows."""
    reader = READERS[name]
    path = tmp_path / reader.name
    text = reader.content.rstrip("\n")
    if name == "peaks":
        text = "#" + text
    path.write_text(text + " x" * (LONGEST_ROW // 2) + "\n")
    with pytest.raises(InputError, match=rf"{path.name}:\d+: this line is longer than 1,048,576"):
        reader.read(path)


@pytest.mark.parametrize("number", NUMBERS, ids=ascii)
@NAMES
def test_what_is_no_number(tmp_path, name, number):
    reader = READERS[name]
    path = tmp_path / reader.name
    for match in re.finditer(r"<\d+>", reader.text):
        if name in ("effects", "scores") and set(number) == {"9"}:
            continue  # a decimal: infinite
        text = reader.text[: match.start()] + number + reader.text[match.end() :]
        path.write_text(re.sub(r"<(\d+)>", r"\1", text), encoding="utf-8")
        with pytest.raises(InputError, match=rf"{path.name}\b"):
            reader.read(path)


def test_counts_that_cannot_be_added(tmp_path):
    path = tmp_path / "x"
    path.write_text(READERS["JASPAR"].content.replace("G [ 1", "G [ 1e308"))
    with pytest.raises(InputError, match=r"x:4: '1e308 2'; expected numbers from 0 to 1e\+15"):
        read_motifs(path)


@pytest.mark.parametrize("name", ["FASTA", "VCF", "BED"])
def test_bgzip_cut_in_a_pipe(monkeypatch, name):
    """A pipe cannot be looked at from its end."""

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    reader = READERS[name]
    for content in cuts_of(reader.content.encode()):
        if content:
            stream = io.TextIOWrapper(io.BufferedReader(Pipe(content)))
            monkeypatch.setattr(sys, "stdin", stream)
            with pytest.raises(InputError, match="standard input"):
                reader.read("-")


@pytest.mark.parametrize("has_index", [False, True])
def test_bgzip_genome_cut_anywhere(tmp_path, has_index):
    """htslib reads it; the index of the whole file fits the part too."""
    content = b">chr1\n" + b"ACGTACGTAC\n" * 8 + b">chr2\n" + b"GGCCGGCCTT\n" * 8
    whole, _ = bgzip(content, 50)
    source = tmp_path / "g.fa.gz"
    source.write_bytes(whole)
    assert Genome(source).fetch(Interval("chr2", 70, 80)) == "GGCCGGCCTT"
    index = [(tmp_path / f"g.fa.gz{end}").read_bytes() for end in (".fai", ".gzi")]
    for part in cuts_of(content, 50):
        source.write_bytes(part)
        for end, kept in zip((".fai", ".gzi"), index, strict=True):
            (tmp_path / f"g.fa.gz{end}").unlink(missing_ok=True)
            if has_index:
                (tmp_path / f"g.fa.gz{end}").write_bytes(kept)
        with pytest.raises(InputError, match=r"g\.fa\.gz"):
            Genome(source)


def test_our_blocks_are_those_of_htslib(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(bgzip(b"abc" * 100, 50)[0])
    with pysam.BGZFile(str(path)) as stream:
        assert stream.read() == b"abc" * 100


def test_a_sheet_names_its_line(tmp_path):
    path = tmp_path / "sheet.tsv"
    path.write_text("label\tgroup\tcell\tpath\n" + "x" * (LONGEST_ROW + 1) + "\n")
    with pytest.raises(InputError, match=r"sheet\.tsv:2: this line is longer"):
        read_sheet(path)
