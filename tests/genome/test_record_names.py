"""Records named after places, as the tools that cut them really name them; names that repeat."""

import numpy as np
import pysam
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, record_names
from dna_bigbird.genome.fasta_stream import dna_of, read_fasta
from dna_bigbird.genome.record_names import SeenNames, is_place, place_of
from tests.bedtools_program import needs_bedtools


@pytest.fixture
def genome(tmp_path):
    path = tmp_path / "toy.fa"
    text = "".join(np.random.default_rng(5).choice(list("ACGT"), 400))
    path.write_text(f">chr1\n{text}\n>HLA:01:02\n{text[::-1]}\n")
    return Genome(path)


INTERVALS = [
    Interval("chr1", 0, 10, "+"), Interval("chr1", 33, 90, "-"), Interval("chr1", 1, 400, "-"),
    Interval("HLA:01:02", 7, 8, "+"), Interval("HLA:01:02", 5, 300, "-"),
]  # fmt: skip


@needs_bedtools
@pytest.mark.parametrize("options", [{"s": True}, {"s": True, "nameOnly": False, "name": True}])
def test_what_bedtools_cut_maps_back(genome, options):
    import pybedtools

    rows = "".join(f"{x.chrom}\t{x.start}\t{x.end}\tpeak::1\t0\t{x.strand}\n" for x in INTERVALS)
    cut = pybedtools.BedTool(rows, from_string=True).sequence(fi=str(genome.path), **options)
    records = list(read_fasta(cut.seqfn))
    assert len(records) == len(INTERVALS)
    for record, expected in zip(records, INTERVALS, strict=True):
        bases = dna_of(record, "cut.fa")
        found = place_of(record.name, len(bases))
        assert found == expected
        assert genome.fetch(found) == bases


@pytest.mark.parametrize("mark", ["sign", "rc"])
def test_what_samtools_cut_maps_back(genome, tmp_path, mark):
    for expected in INTERVALS:
        region = f"{{{expected.chrom}}}:{expected.start + 1}-{expected.end}"  # {} as names have ':'
        turned = ["--reverse-complement"] if expected.strand == "-" else []
        cut = tmp_path / "cut.fa"
        pysam.faidx(str(genome.path), *turned, "--mark-strand", mark, "-o", str(cut), region)
        header, letters = cut.read_text().split("\n", 1)
        bases = letters.replace("\n", "")
        found = place_of(header[1:].replace("{", "").replace("}", ""), len(bases))
        assert found == expected
        assert genome.fetch(found) == bases


@pytest.mark.parametrize(
    ("name", "length", "expected"),
    [
        ("chr1:100-200", 100, Interval("chr1", 100, 200)),
        ("chr1:100-200", 101, Interval("chr1", 99, 200)),
        ("chr1:0-5", 5, Interval("chr1", 0, 5)),
        ("chr1:1,001-2,000", 1000, Interval("chr1", 1000, 2000)),
        ("chr1:100-200:-", 100, Interval("chr1", 100, 200, "-")),
        ("chr1:100-200:+", 100, Interval("chr1", 100, 200)),
        ("chr1:100-200(.)", 100, Interval("chr1", 100, 200)),
        ("a::b::chr1:100-200(-)", 100, Interval("chr1", 100, 200, "-")),
        ("chr1:100-100", 1, Interval("chr1", 99, 100)),
    ],
)
def test_both_ways_of_counting(name, length, expected):
    assert place_of(name, length) == expected


@pytest.mark.parametrize(
    ("name", "length"),
    [("chr1:100-200", 99), ("chr1:100-200", 102), ("chr1:0-5", 6), ("chr1:200-100", 100)],
)
def test_lengths_that_fit_neither_way_are_refused(name, length):
    assert is_place(name)
    with pytest.raises(ValueError, match=f"the name '{name}' spans .* but the record has {length}"):
        place_of(name, length)


@pytest.mark.parametrize(
    "name", ["chr1", "chr1:100", "HLA-A*01:01:01:01", ":1-2", "x::", "chr1:1-2x", "chr1:-1-2", ""]
)
def test_other_names_are_no_places(name):
    assert not is_place(name)
    with pytest.raises(ValueError, match="is not a location"):
        place_of(name, 1)


def test_a_million_colons_are_looked_at_once():
    assert not is_place(":" * 1_000_000)
    assert is_place(":" * 1_000_000 + "c:1-2")


@pytest.mark.parametrize(("first", "second"), [(0, 1), (2, 99), (5, 50), (98, 99)])
def test_a_second_record_of_a_name_is_found_however_far_away(monkeypatch, first, second):
    monkeypatch.setattr(record_names, "_RECENT", 7)
    seen = SeenNames("x.fa")
    names = [f"n{i}" for i in range(100)]
    names[second] = names[first]
    message = rf"x\.fa:{second + 1}: a second record is called 'n{first}'; names must differ"
    with pytest.raises(InputError, match=message):
        for number, name in enumerate(names, start=1):
            seen.add(name, number)
        seen.finish()


def test_a_name_that_is_not_seen_again_is_not_refused(monkeypatch):
    monkeypatch.setattr(record_names, "_RECENT", 7)
    seen = SeenNames("x.fa")
    for number in range(1000):
        seen.add(f"n{number}", number)
    seen.finish()
    assert len(seen.older) == 1000
    assert seen.older.nbytes == 16_000
