"""FASTA as users really have it."""

import gzip
import io

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.fasta_stream import dna_of, read_dna, read_fasta

TEXT = ">one first record\r\nACgt\r\n\r\nnnRY\r\n>two\nGG\n\n"


def records(path):
    return [(r.name, dna_of(r, path)) for r in read_fasta(path)]


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress])
def test_crlf_blank_lines_lower_case_iupac(tmp_path, pack):
    path = tmp_path / "x.fa"
    path.write_bytes(pack(TEXT.encode()))
    assert records(path) == [("one", "ACGTNNNN"), ("two", "GG")]


def test_standard_input(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(TEXT.encode()))
    monkeypatch.setattr("sys.stdin", stream)
    assert [name for name, _ in records("-")] == ["one", "two"]


def test_bgzip_blocks_are_read_to_the_end(tmp_path):
    """bgzip is many gzip members one after the other."""
    path = tmp_path / "x.fa.gz"
    path.write_bytes(
        gzip.compress(b">a\nACG\n") + gzip.compress(b"TTT\n>b\n") + gzip.compress(b"C\n")
    )
    assert records(path) == [("a", "ACGTTT"), ("b", "C")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no sequence in it"),
        ("\n\n", "no sequence in it"),
        ("ACGT\n", r"x\.fa:1: found 'ACGT' before any header"),
        (">a\n>b\nAC\n", r"x\.fa:1: record 'a' has no sequence"),
        (">a\nAC\n>\nAC\n", r"x\.fa:3: this FASTA header has no name"),
        (">a\nAC\n>a\nAC\n", r"x\.fa:3: a second record is called 'a'"),
        (">p\nMKVLAAGIE\n", r"x\.fa:2: record 'p': 'L' at position 4 .* protein"),
        (">p\nMKRWSHDVMKRW\n", r"12 of 12 letters are ambiguity codes.* protein"),
        (">a\nAC-GT\n", "'-' at position 3 is not a DNA letter"),
    ],
)
def test_wrong_input_is_one_clear_line(tmp_path, text, message):
    path = tmp_path / "x.fa"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        records(path)


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [16, 1 << 20])
def test_the_line_of_a_wrong_letter_is_named(tmp_path, monkeypatch, pack, end, block):
    """In any block of the reader, after blank lines and blanks; the position is that in the record."""
    monkeypatch.setattr("dna_bigbird.genome.fasta_pieces.BLOCK", block)
    lines = [
        ">a",
        "ACGT",
        "ACGT",
        "",
        ">b",
        "  ACGTACGTACGTACGTACGTAC ",
        "",
        "ACG",
        "AC-T",
        "ACGT",
        "",
    ]
    path = tmp_path / "x.fa"
    path.write_bytes(pack(end.join(lines).encode()))
    position = len((lines[5] + lines[7]).replace(" ", "")) + 3
    message = rf"x\.fa:9: record 'b': '-' at position {position} .*alignment"
    with pytest.raises(InputError, match=message):
        records(path)
    with pytest.raises(InputError, match=message):
        list(read_dna(path))


def test_the_line_is_named_on_standard_input_too(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b">a\nACGT\nAC\nACXT\n")))
    with pytest.raises(InputError, match=r"standard input:4: record 'a': 'X' at position 9"):
        list(read_dna("-"))
