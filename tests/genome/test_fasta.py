"""Random access to a genome: coordinates, strands, edges, names."""

import pickle

import numpy as np
import pyfaidx
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.genome.interval import parse_region

CHR1 = "acgtACGTNNNNRYGATTACA"


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.fa"
    path.write_text(f">chr1 a toy\n{CHR1[:10]}\n{CHR1[10:20]}\n{CHR1[20:]}\n>chrM\nGG\n")
    return Genome(path)


def test_fetch_is_zero_based_half_open_and_normalised(toy):
    assert toy.lengths == {"chr1": 21, "chrM": 2}
    assert toy.fetch(Interval("chr1", 0, 8)) == "ACGTACGT"
    assert toy.fetch(Interval("chr1", 12, 21)) == "NNGATTACA"


def test_minus_strand_is_the_reverse_complement(toy):
    plus = toy.fetch(Interval("chr1", 3, 20, "+"))
    assert toy.fetch(Interval("chr1", 3, 20, "-")) == reverse_complement(plus)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(-3, 2, "NNNAC"), (19, 24, "CANNN"), (-2, 23, "NN" + "ACGTACGTNNNNNNGATTACA" + "NN"),
     (-9, -4, "NNNNN"), (30, 34, "NNNN")],
)  # fmt: skip
def test_bases_outside_the_chromosome_are_n(toy, start, end, expected):
    assert toy.fetch(Interval("chr1", start, end)) == expected


def test_chr_prefix_is_optional(toy):
    assert toy.fetch(Interval("1", 0, 4)) == "ACGT"
    with pytest.raises(InputError, match=r"'chr7' is not in toy\.fa \(it has chr1, chrM\)"):
        toy.fetch(Interval("chr7", 0, 4))


@pytest.mark.parametrize("width", [1, 7, 60, 1000])
def test_any_interval_is_that_of_pyfaidx(tmp_path, width):
    rng = np.random.default_rng(width)
    with open(tmp_path / "drawn.fa", "w") as stream:
        for name, length in (("one", 517), ("two", 60), ("three", 1)):
            bases = "".join(rng.choice(list("ACGTNacgt"), length))
            lines = [bases[i : i + width] for i in range(0, length, width)]
            stream.write(f">{name} words\n" + "\n".join(lines) + "\n")
    genome, other = Genome(tmp_path / "drawn.fa"), pyfaidx.Fasta(tmp_path / "drawn.fa")
    assert genome.lengths == {record.name: len(record) for record in other}
    for _ in range(200):
        name = rng.choice(["one", "two", "three"])
        start, end = np.sort(rng.integers(0, genome.lengths[name] + 1, 2)).tolist()
        if start < end:
            expected = other[name][start:end]
            assert genome.letters(Interval(name, start, end)) == expected.seq.encode()
            reverse = expected.reverse.complement.seq.upper()
            assert genome.fetch(Interval(name, start, end, "-")) == reverse


def test_letters_come_as_they_stand(toy):
    assert toy.letters(Interval("1", 0, 21)) == CHR1.encode()
    for start in range(21):
        for end in range(start, 22):
            assert toy.letters(Interval("chr1", start, end, "-")) == CHR1[start:end].encode()
    with pytest.raises(InputError, match="chr1:3-22 is not within chr1, which has 21 bases"):
        toy.letters(Interval("chr1", 3, 22))


def test_unknown_bases_are_those_that_fetch_gives_as_n(toy, tmp_path):
    assert toy.unknown_bases(Interval("chr1", 6, 17)) == bytes([0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0])
    (tmp_path / "p.fa").write_text(">chr1\nACGTLLE\n")
    with pytest.raises(InputError, match=r"p\.fa: chr1:1-7: 'L' at position 5 is not a DNA letter"):
        Genome(tmp_path / "p.fa").unknown_bases(Interval("chr1", 0, 7))


def test_windows_line_ends(tmp_path):
    (tmp_path / "w.fa").write_bytes(b">a\r\nACGTA\r\nCGTNN\r\nGG\r\n>b\r\nTTT\r\n")
    genome = Genome(tmp_path / "w.fa")
    assert genome.lengths == {"a": 12, "b": 3}
    for start in range(12):
        for end in range(start, 13):
            assert genome.fetch(Interval("a", start, end)) == "ACGTACGTNNGG"[start:end]
    assert genome.fetch(Interval("b", 0, 3, "-")) == "AAA"


def test_a_file_that_was_cut_off_after_it_was_opened(toy):
    toy.path.write_text(">chr1 a toy\nacg")
    with pytest.raises(InputError, match=r"does not fit its index\. Delete toy\.fa\.fai"):
        toy.fetch(Interval("chr1", 0, 21))


def test_a_pickled_genome_opens_its_file_again(toy):
    assert pickle.loads(pickle.dumps(toy)).fetch(Interval("chr1", 14, 21)) == "GATTACA"


def test_unusable_files_are_named(tmp_path):
    empty = tmp_path / "empty.fa"
    empty.write_text("")
    with pytest.raises(InputError, match=r"empty\.fa: the FASTA file is empty"):
        Genome(empty)
    with pytest.raises(InputError, match="no such FASTA file"):
        Genome(tmp_path / "absent.fa")
    packed = tmp_path / "packed.fa.gz"
    packed.write_bytes(b"\x1f\x8b rest")
    with pytest.raises(InputError, match="gunzip"):
        Genome(packed)


def test_protein_letters_in_a_genome_are_refused(tmp_path):
    path = tmp_path / "p.fa"
    path.write_text(">chr1\nACGTLLE\n")
    with pytest.raises(InputError, match=r"'L' at position 5 is not a DNA letter"):
        Genome(path).fetch(Interval("chr1", 0, 7))


def test_real_piece_has_its_real_coordinates(real_data, tmp_path):
    """hg19 chr22:17,000,001-17,000,060 against the compressed original read front to back."""
    import gzip

    source = real_data / "genome" / "hg19_chr17_1-1000000.fa.gz"
    with gzip.open(source, "rt") as text:
        sequence = "".join(line.strip() for line in text if not line.startswith(">"))
    plain = tmp_path / "chr17.fa"
    with gzip.open(source, "rb") as packed:
        plain.write_bytes(packed.read())
    genome = Genome(plain)
    assert genome.fetch(Interval("chr17", 500_000, 500_100)) == sequence[500_000:500_100].upper()
    assert genome.lengths == {"chr17": 1_000_000}


@pytest.mark.parametrize("text", ["chr1", "chr1:5-4", "chr1:0-4", "chr1:a-b", ":1-2"])
def test_wrong_regions_are_refused(text):
    with pytest.raises(ValueError, match="region"):
        parse_region(text)
