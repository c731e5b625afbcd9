"""Files given in place of another are named from their first bytes."""

import bz2
import gzip
import lzma

import pysam
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.file_formats import binary_format, text_format
from dna_bigbird.core.files import numbered_lines, open_text


@pytest.mark.parametrize("text", [">chr1\nAC\n", "chr1\t0\t1\n", "", "x", "Größe\n", "AB"])
def test_plain_text_is_no_binary_format(text):
    assert binary_format(text.encode()) is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_named(encoding):
    assert binary_format(">chr1 of something\nACGT".encode(encoding))[0] == "UTF-16 text"


def test_real_archives_are_named(tmp_path):
    text = b">a\nACGT\n"
    for data, what in ((bz2.compress(text), "bzip2"), (lzma.compress(text), "xz")):
        assert what in binary_format(data)[0]
    header = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "chr1", "LN": 10}]})
    for mode, what in (("wb", "a BAM file"), ("wc", "a CRAM file")):
        path = tmp_path / what
        with pysam.AlignmentFile(path, mode, header=header):
            pass
        with pytest.raises(InputError, match=f"this is {what}"), open_text(path):
            pass
    variants = pysam.VariantHeader()
    variants.contigs.add("chr1", length=10)
    with pysam.VariantFile(tmp_path / "x.bcf", "wb", header=variants):
        pass
    with pytest.raises(InputError, match="this is a BCF file"), open_text(tmp_path / "x.bcf"):
        pass


@pytest.mark.parametrize(
    ("line", "what"),
    [("@read/1", "FASTQ"), ("@HD\tVN:1.6", "SAM"), (">chr1", "FASTA"), ("chr1 1 2", "BED")],
)
def test_text_formats_are_named(line, what):
    assert what in text_format(line)


def test_a_line_without_a_form_has_none():
    assert text_format("ACGT") is None
    assert text_format("") is None


def test_bgzip_cut_between_two_blocks_is_refused(tmp_path):
    whole = tmp_path / "x.gz"
    with pysam.BGZFile(str(whole), "wb") as stream:
        for number in range(30_000):
            stream.write(b"line %d of some text\n" % number)
    with open_text(whole) as text:
        assert sum(1 for _ in text) == 30_000
    data = whole.read_bytes()
    size = int.from_bytes(data[16:18], "little") + 1  # of the first block, from its header
    assert gzip.decompress(data[:size]).startswith(b"line 0 ")
    cut = tmp_path / "cut.gz"
    cut.write_bytes(data[:size])
    with (
        pytest.raises(InputError, match=r"cut\.gz: the end marker of bgzip is missing"),
        open_text(cut),
    ):
        pass


def test_numbered_lines_refuse_what_is_no_table(tmp_path):
    path = tmp_path / "x.bed"
    path.write_bytes(b"a\r\nb\rc\n")
    assert list(numbered_lines(path)) == [(1, "a\n"), (2, "b\n"), (3, "c\n")]
    path.write_bytes(b"a\nb\0\n")
    with pytest.raises(InputError, match=r"x\.bed:2: this line has NUL bytes"):
        list(numbered_lines(path))
    path.write_bytes(b"abcde\r\nabcdef\n")
    with pytest.raises(InputError, match=r"x\.bed:2: this line is longer than 5 characters"):
        list(numbered_lines(path, longest=5))
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(InputError, match=r"x\.bed: this is not text in UTF-8 \(byte 0xff"):
        list(numbered_lines(path))
