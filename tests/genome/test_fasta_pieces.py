"""FASTA in blocks gives what reading line by line gives, in bounded memory."""

import errno
import gzip
import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import fasta_pieces
from dna_bigbird.genome.fasta_pieces import read_pieces
from dna_bigbird.genome.fasta_stream import read_dna, read_fasta


def line_by_line(text: str):
    """The reader as one would write it for small files; None for malformed ones."""
    records = []
    for number, raw in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = raw.strip()
        if line.startswith(">"):
            if not line[1:].strip():
                return None
            records.append([line[1:].split()[0], "", number])
        elif line and not records:
            return None
        elif line:
            records[-1][1] += line
    names = [name for name, _, _ in records]
    if not records or len(set(names)) < len(names) or not all(x[1] for x in records):
        return None
    return [tuple(x) for x in records]


rest = st.lists(
    st.one_of(
        st.sampled_from([">a", ">b x", " >c", ">d\t", "", "  ", "\t", ">", "A>C", "ACGT "]),
        st.text(alphabet="ACGTNacgtn", max_size=30),
    ),
    max_size=12,
)
lines = st.builds(list.__add__, st.sampled_from([[], [">z"], [">z", "AC"]]), rest)


@settings(max_examples=400, deadline=None)
@given(lines, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(8, 40), st.booleans())
def test_blocks_of_any_size_give_the_same_records(lines, line_end, block, ends):
    text = line_end.join(lines) + line_end * ends
    expected = line_by_line(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fasta_pieces, "BLOCK", block)
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        if expected is None:
            with pytest.raises(InputError, match="standard input"):
                list(read_fasta("-"))
        else:
            assert [(r.name, r.letters, r.line) for r in read_fasta("-")] == expected


def test_pieces_follow_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(fasta_pieces, "BLOCK", 10)
    path = tmp_path / "x.fa"
    path.write_text(">a\n" + "ACGTACG\n" * 6 + ">b\n" + "T" * 45 + "\n")
    pieces = list(read_pieces(path))
    assert [p.is_last for p in pieces].count(True) == 2
    for name, letters in (("a", "ACGTACG" * 6), ("b", "T" * 45)):
        of_record = [p for p in pieces if p.name == name]
        assert len(of_record) > 2
        assert [p.is_last for p in of_record] == [False] * (len(of_record) - 1) + [True]
        place = 0
        for piece in of_record:
            assert piece.start == place
            assert len(piece.letters) <= 20
            place += len(piece.letters)
        assert b"".join(p.letters for p in of_record).decode() == letters


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress])
@pytest.mark.parametrize("width", [60, 20_000_000])
def test_a_record_of_20_megabases_needs_a_few_blocks_of_memory(tmp_path, pack, width):
    line = b"ACGTTGCAGT" * (width // 10) + b"\n"
    path = tmp_path / "long.fa"
    path.write_bytes(pack(b">a\n" + line * (20_000_000 // width)))
    total = 0
    tracemalloc.start()
    try:
        for _, bases in read_dna(path):
            total += len(bases)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == 20_000_000 // width * width
    assert peak < 14 * fasta_pieces.BLOCK


def test_positions_and_lines_in_messages_count_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(fasta_pieces, "BLOCK", 16)
    path = tmp_path / "x.fa"
    path.write_text(">a\n" + "ACGT\n" * 10 + "\n>b\nACGT\nACLT\n")
    with pytest.raises(InputError, match=r"x\.fa:15: record 'b': 'L' at position 7 is not a DNA"):
        list(read_dna(path))
    path.write_text(">a\n" + "ACGT\n" * 10 + "ACG-\n")
    with pytest.raises(InputError, match=r"x\.fa:12: record 'a': '-' at position 44 .* alignment"):
        list(read_dna(path))
    path.write_text(">p\n" + "RYKMSW\n" * 10 + "A\n")
    with pytest.raises(InputError, match=r"x\.fa:1: record 'p': 60 of 61 letters are ambiguity"):
        list(read_dna(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"@r1\nACGT\n+\nIIII\n", r"x\.fa:1: found '@r1' .* looks like a FASTQ file"),
        (b"\n\nLOCUS       NC_1\n", r"x\.fa:3: found 'LOCUS .* looks like a GenBank file"),
        (b"<!DOCTYPE html>\n<html>\n", r"x\.fa:1: found .* an HTML or XML page"),
        (b"chr1\t10\t20\n", r"x\.fa:1: found .* looks like a BED file"),
        (b"##fileformat=VCFv4.2\n", r"x\.fa:1: found .* looks like a VCF file"),
        (b"ACGT\n>a\nAC\n", r"x\.fa:1: found 'ACGT' before any header.*another format"),
        (b">a\nAC\0GT\n", r"x\.fa:2: record 'a': '\\x00' at position 3 .* NUL bytes"),
        (b">a\0b\nAC\n", r"x\.fa:1: the name in this FASTA header holds '\\x00'"),
        (b">\xff\nAC\n", r"x\.fa:1: the name in this FASTA header is not text in UTF-8"),
        (">a\nAC\n".encode("utf-16"), r"x\.fa: this is UTF-16 text; .* iconv"),
        (">a\nAC\n".encode("utf-16-le"), r"x\.fa: this is UTF-16 text"),
        (">a\nAC\n".encode("utf-16-be"), r"x\.fa: this is UTF-16 text"),
        (b"PK\x03\x04rest", r"x\.fa: this is a zip archive; .* unzip"),
        (gzip.compress(b"BAM\x01rest", mtime=0), r"x\.fa: this is a BAM file; .* samtools fasta"),
        (gzip.compress(b"\x89HDF\r\n", mtime=0), r"x\.fa: this is an HDF5 file"),
        (gzip.compress(gzip.compress(b">a\nAC\n", mtime=0), mtime=0), r"x\.fa: this is gzip data packed twice"),
        (gzip.compress(b">a\n" + b"ACGT" * 9999, mtime=0)[:-9], r"x\.fa: the gzip stream ends in the mid"),
        (gzip.compress(b">a\nAC\n", mtime=0) + b"junk", r"x\.fa: damaged gzip data"),
        (b">a\n", r"x\.fa:1: record 'a' has no sequence"),
        (b">a\nA>C\n", r"x\.fa:2: record 'a': '>' at position 2 .* line of its own"),
        (b"\xef\xbb\xbf", r"x\.fa: no sequence in it"),
        (b">" + b"x" * 2_200_000 + b"\nAC\n", r"x\.fa:1: this FASTA header is longer than"),
        (b">a\nAC\n>" + b"x" * 1_100_000 + b"\nAC\n", r"x\.fa:3: this FASTA header is longer"),
    ],
)  # fmt: skip
def test_what_is_no_fasta_is_named(tmp_path, content, message):
    path = tmp_path / "x.fa"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        list(read_dna(path))
    assert "\n" not in str(error.value)


def test_a_folder_and_a_file_one_may_not_read(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="this is a folder; expected a file"):
        list(read_dna(tmp_path))

    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"x\.fa: no permission to read it"):
        list(read_dna(tmp_path / "x.fa"))


def test_marks_of_other_systems_are_no_letters(tmp_path):
    path = tmp_path / "x.fa"
    path.write_bytes(b"\xef\xbb\xbf>a\rACGT\rAC\r>b\rGG")
    assert [(r.name, r.letters) for r in read_fasta(path)] == [("a", "ACGTAC"), ("b", "GG")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"AC" + b" " * 3_000_000 + b"\n", None),
        (b"AC" + b" \n" * 1_000_000, None),
        (b"AC\n" + b">" * 3_000_000, "header is longer"),
        (b"A>" * 1_500_000, "'>' at position 2"),
        (b"AC" + b"\r" * 3_000_000, None),
    ],
)
def test_long_runs_of_odd_characters_end_in_time(tmp_path, content, message):
    """Reading stays linear: each of these is quadratic in a careless reader."""
    path = tmp_path / "x.fa"
    path.write_bytes(b">a\n" + content)
    if message is None:
        assert "".join(bases for _, bases in read_dna(path)) == "AC"
    else:
        with pytest.raises(InputError, match=message):
            list(read_dna(path))
