"""Sources give the same windows however the input comes, and refuse it before anything is scored."""

import gzip
import io
import itertools
import os
import threading

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, fasta_pieces, reverse_complement
from dna_bigbird.prediction.windows.inputs import BedSource, FastaSource, SequenceSource
from dna_bigbird.prediction.windows.tiling import Window, window_starts

SIZE = {"window_bp": 20, "stride_bp": 15}


def by_hand(name, bases, window_bp, stride_bp):
    return [
        Window(name, start, min(start + window_bp, len(bases)), bases[start : start + window_bp])
        for start in window_starts(len(bases), window_bp, stride_bp)
    ]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(alphabet="ACGTN", min_size=1, max_size=90), min_size=1, max_size=4),
    st.integers(1, 40), st.integers(1, 50), st.integers(8, 60), st.integers(1, 70), st.integers(0, 30),
)  # fmt: skip
def test_windows_are_those_of_whole_sequences(texts, window, stride, block, width, first):
    sequences = {f"s{i}": text for i, text in enumerate(texts)}
    fasta = "".join(
        f">{name}\n" + "".join(f"{text[i : i + width]}\n" for i in range(0, len(text), width))
        for name, text in sequences.items()
    )
    size = {"window_bp": window, "stride_bp": stride}
    expected = [w for name, text in sequences.items() for w in by_hand(name, text, window, stride)]
    in_memory = SequenceSource(sequences, **size)
    assert list(in_memory.windows()) == expected
    assert list(in_memory.windows(first)) == expected[first:]
    assert in_memory.count == len(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fasta_pieces, "BLOCK", block)
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(fasta.encode())))
        streamed = FastaSource("-", **size)
        streamed.check()
        assert streamed.count is None
        assert streamed.files == {}
        assert list(streamed.windows(first)) == expected[first:]
    assert streamed.lengths == {name: len(text) for name, text in sequences.items()}


@pytest.fixture
def toy(tmp_path, random_dna):
    """Two chromosomes of 400 and 90 bases in lines of 31."""
    path = tmp_path / "toy.fa"
    texts = {"chr1": random_dna(400, 1), "2": random_dna(90, 2)}
    path.write_text(
        "".join(
            f">{name}\n" + "".join(f"{text[i : i + 31]}\n" for i in range(0, len(text), 31))
            for name, text in texts.items()
        )
    )
    return path


@pytest.mark.parametrize("pack", ["plain", "gzip", "bgzip", "fifo"])
def test_a_file_can_be_counted_and_read_from_any_window(tmp_path, toy, pack):
    genome = Genome(toy)
    expected = [
        window
        for name, length in genome.lengths.items()
        for window in by_hand(name, genome.fetch(Interval(name, 0, length)), **SIZE)
    ]
    path = tmp_path / "in"
    if pack == "fifo":
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(toy.read_bytes(),))
        writer.start()
    elif pack == "bgzip":
        pysam.tabix_compress(str(toy), str(path))
    else:
        path.write_bytes(gzip.compress(toy.read_bytes()) if pack == "gzip" else toy.read_bytes())
    source = FastaSource(path, **SIZE)
    source.check()
    if pack == "fifo":
        assert (source.count, source.files) == (None, {})
        assert list(source.windows()) == expected
        writer.join()
    else:
        assert source.count == len(expected)
        assert source.files == {"fasta": path}
        for first in range(len(expected) + 2):
            assert list(source.windows(first)) == expected[first:]
    assert source.lengths == {"chr1": 400, "2": 90}


ROWS = [("chr1", 3, 150, "-"), ("2", 10, 18, "+"), ("chr1", 100, 400, "+"), ("2", 0, 90, "-"), ("chr1", 50, 70, "-")]  # fmt: skip


def cut(toy, counting_from):
    genome = Genome(toy)
    return "".join(
        f">{chrom}:{start + counting_from}-{end}({strand})\n"
        f"{genome.fetch(Interval(chrom, start, end, strand))}\n"
        for chrom, start, end, strand in ROWS
    )


@pytest.mark.parametrize("block", [48, 1 << 20])
@pytest.mark.parametrize("counting_from", [0, 1])
@pytest.mark.parametrize("streamed", [False, True])
def test_records_named_after_places_go_back_to_them(
    tmp_path, toy, monkeypatch, block, counting_from, streamed
):
    """Every window's bases are those that the genome has at its coordinates, on the row's strand."""
    text = cut(toy, counting_from)
    monkeypatch.setattr(fasta_pieces, "BLOCK", block)
    path = tmp_path / "cut.fa"
    path.write_text(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    source = FastaSource("-" if streamed else path, coordinates="genome", **SIZE)
    source.check()
    windows = iter(list(source.windows()))
    genome = Genome(toy)
    for chrom, start, end, strand in ROWS:
        starts = window_starts(end - start, **SIZE)
        for offset, window in zip(starts, itertools.islice(windows, len(starts)), strict=True):
            assert window.name == chrom
            assert start <= window.start < window.end <= end
            here = Interval(chrom, window.start, window.end, strand)
            assert genome.fetch(here) == window.bases
            assert offset == (end - window.end if strand == "-" else window.start - start)
    assert next(windows, None) is None
    assert source.lengths == {"chr1": 400, "2": 90}
    record = FastaSource(path, coordinates="record", **SIZE)
    assert [w.start for w in itertools.islice(record.windows(), 3)] == [0, 15, 30]
    assert next(record.windows()).name == f"chr1:{3 + counting_from}-150(-)"


def test_a_place_that_does_not_fit_its_record_is_refused_unless_nobody_asks(tmp_path):
    path = tmp_path / "x.fa"
    path.write_text(">chr1\nACGT\n>chr1:100-120\nACGT\n")
    message = (
        r"x\.fa:3: the name 'chr1:100-120' spans 20 bp counted from 0, 21 bp counted from 1, but "
        r"the record has 4\. To count .* --coordinates record"
    )
    with pytest.raises(InputError, match=message):
        FastaSource(path, coordinates="genome", **SIZE).check()
    with pytest.raises(InputError, match=message):
        list(FastaSource(path, coordinates="genome", **SIZE).windows())
    FastaSource(path, **SIZE).check()


def write_bed(path, rows=ROWS):
    path.write_text("".join(f"{c}\t{s}\t{e}\tx\t0\t{strand}\n" for c, s, e, strand in rows))
    return path


def test_intervals_on_their_own_strand_are_records_cut_with_their_strand(tmp_path, toy):
    """What `bedtools getfasta -s` and `--coordinates genome` give, without the file in between."""
    (tmp_path / "cut.fa").write_text(cut(toy, 0))
    expected = list(FastaSource(tmp_path / "cut.fa", coordinates="genome", **SIZE).windows())
    source = BedSource(write_bed(tmp_path / "r.bed"), toy, strand="interval", **SIZE)
    source.check()
    assert source.count == len(expected)
    for first in range(len(expected) + 2):
        assert list(source.windows(first)) == expected[first:]
    assert source.lengths == {"chr1": 400, "2": 90}
    assert source.files == {"fasta": toy, "bed": tmp_path / "r.bed"}


@pytest.mark.parametrize("strand", ["both", "forward"])
def test_intervals_are_read_forward_otherwise(tmp_path, toy, strand):
    genome = Genome(toy)
    windows = list(BedSource(write_bed(tmp_path / "r.bed"), toy, strand=strand, **SIZE).windows())
    expected = [
        Window(chrom, start + w.start, start + w.end, w.bases)
        for chrom, start, end, _ in ROWS
        for w in by_hand(chrom, genome.fetch(Interval(chrom, start, end)), **SIZE)
    ]
    assert windows == expected


def test_bed_from_standard_input_with_the_other_chromosome_names(tmp_path, toy, monkeypatch):
    rows = b"track name=x\r\n1\t0\t20\r\n# remark\r\nchr2\t5\t9\tpeak\r\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(rows))))
    source = BedSource("-", toy, **SIZE)
    source.check()
    assert source.count is None
    assert source.files == {"fasta": toy}
    assert [(w.name, w.start, w.end) for w in source.windows()] == [("chr1", 0, 20), ("2", 5, 9)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"chr1\t390\t401", r"r\.bed:2: end 401 is beyond the end of chr1 \(400 bp in toy\.fa\)"),
        (b"chr1\t-1\t5", r"r\.bed:2: start -1 is negative"),
        (b"chr1\t5\t5", r"r\.bed:2: start and end are both 5, an empty row"),
        (b"chr9\t0\t5", r"r\.bed:2: chromosome 'chr9' is not in toy\.fa \(it has chr1, 2\)"),
        (b"chr1\t1\t1_0", r"r\.bed:2: end is '1_0', expected a whole number"),
        (b"chr1\t1\t" + b"9" * 400, r"r\.bed:2: end is '9{57}\.\.\.', expected a whole number"),
        (b"chr1\t1\t\0", r"r\.bed:2: this line has NUL bytes"),
    ],
)
def test_a_bad_row_is_refused_before_any_window(tmp_path, toy, row, message):
    path = tmp_path / "r.bed"
    path.write_bytes(b"chr1\t0\t20\n" + row + b"\n")
    with pytest.raises(InputError, match=message):
        BedSource(path, toy, **SIZE).check()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"r\.bed: no row in it"),
        (b"# nothing\n", r"r\.bed: no row in it"),
        (b">chr1\nACGT\n", r"r\.bed:1: this looks like a FASTA file; expected a BED file"),
        (b"##fileformat=VCFv4.2\n", r"r\.bed:1: this looks like a VCF file; expected a BED"),
        ("chr1\t0\t20\n".encode("utf-16"), r"r\.bed: this is UTF-16 text"),
        (
            gzip.compress(b"chr1\t0\t20\n" * 99, mtime=0)[:-8],
            r"r\.bed: the gzip stream ends in the middle",
        ),
    ],
)
def test_what_is_no_bed_is_named(tmp_path, toy, content, message):
    path = tmp_path / "r.bed"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        BedSource(path, toy, **SIZE).check()


def test_bases_of_an_interval_that_are_no_dna_are_refused_before_any_window(tmp_path, toy):
    bad = tmp_path / "bad.fa"
    bad.write_text(toy.read_text() + ">odd\nACGTLL\n")
    path = write_bed(tmp_path / "r.bed", [("chr1", 0, 20, "+"), ("odd", 0, 6, "+")])
    with pytest.raises(
        InputError, match=r"bad\.fa: odd:1-6: 'L' at position 5 is not a DNA letter"
    ):
        BedSource(path, bad, **SIZE).check()
    BedSource(write_bed(path, [("odd", 0, 4, "+")]), bad, **SIZE).check()


def test_a_bad_record_at_the_end_is_refused_before_any_window(tmp_path, toy):
    path = tmp_path / "late.fa"
    path.write_text(toy.read_text() + ">chr1\nACGT\n")
    line = path.read_text().count("\n") - 1
    with pytest.raises(InputError, match=rf"late\.fa:{line}: a second record is called 'chr1'"):
        FastaSource(path, **SIZE).check()


def test_what_is_missing_shows_when_the_source_is_checked(tmp_path, toy):
    with pytest.raises(InputError, match=r"absent\.fa: no such file"):
        FastaSource(tmp_path / "absent.fa", **SIZE).check()
    with pytest.raises(InputError, match="this is a folder; expected a file"):
        FastaSource(tmp_path, **SIZE).check()
    with pytest.raises(InputError, match=r"absent\.bed: no such file"):
        BedSource(tmp_path / "absent.bed", toy, **SIZE).check()
    with pytest.raises(InputError, match="-: a genome is read at random and must be a file"):
        BedSource(write_bed(tmp_path / "r.bed"), "-", **SIZE)


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ({}, "no sequence given"),
        ({"a": ""}, "sequence 'a' has no base"),
        ({"a b": "ACGT"}, "sequence 'a b': a name has no blanks"),
        ({"": "ACGT"}, "sequence '': a name has no blanks"),
        ({"a": "AC", "b": "ACE"}, "record 'b': 'E' at position 3 is not a DNA letter"),
    ],
)
def test_sequences_in_memory_are_checked_when_given(sequences, message):
    with pytest.raises(InputError, match=message):
        SequenceSource(sequences, **SIZE)


def test_lower_case_and_codes_are_sequence():
    (window,) = SequenceSource({"a": "acgRu"}, **SIZE).windows()
    assert window.bases == "ACGNT"
    assert reverse_complement(window.bases) == "ANCGT"
