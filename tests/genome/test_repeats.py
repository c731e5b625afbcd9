"""Repeat classes against drawings, and sums that keep their total."""

import gzip

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, repeats
from dna_bigbird.genome.repeats import RepeatClasses, share_by_class

CHR1 = "ACGTacgtNNacGTnnrRGT"
PICTURE = "uuuussssuussuusssuuu"


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.fa"
    lines = "\n".join(CHR1[i : i + 7] for i in range(0, 20, 7))
    path.write_text(f">chr1\n{lines}\n>chr2\n{'ACGT' * 30}\n>chr3\nNNacgt\n>chr4\nNNNN\n")
    return Genome(path)


def draw(found: RepeatClasses, interval: Interval) -> str:
    """One letter a base: the first of its class."""
    return "".join(found.names[c][0] for c in found.classes(interval).tolist())


def test_lower_case_is_soft_masked(toy):
    found = RepeatClasses.from_soft_mask(toy)
    assert found.names == ("unmasked", "soft_masked", "unknown")
    classes = found.classes(Interval("1", 0, 20))
    assert classes.dtype == np.uint8
    assert draw(found, Interval("1", 0, 20)) == PICTURE
    assert draw(found, Interval("chr1", 6, 15, "-")) == PICTURE[6:15]  # forward on either strand


def test_a_chromosome_in_one_case_is_unknown(toy, monkeypatch):
    monkeypatch.setattr(repeats, "SCAN_BP", 7)
    found = RepeatClasses.from_soft_mask(toy)
    for chrom, length in (("chr2", 120), ("chr3", 6), ("chr4", 4)):
        whole = Interval(chrom, 0, length)
        assert set(found.classes(whole).tolist()) == {found.names.index("unknown")}, chrom
    assert draw(found, Interval("chr1", 0, 20)) == PICTURE


def test_a_soft_mask_that_begins_late_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(repeats, "SCAN_BP", 10)
    (tmp_path / "g.fa").write_text(">c\n" + "ACGT" * 20 + "a\n")
    found = RepeatClasses.from_soft_mask(Genome(tmp_path / "g.fa"))
    assert draw(found, Interval("c", 78, 81)) == "uus"


BED = """\
# RepeatMasker
1\t2\t9\tLINE/L1
chr1\t5\t7\tAlu/x
chr1\t9\t12\tSINE
chr1\t0\t1\tAlu
chr9\t0\t5\tLINE
chr1\t18\t20\tSINE/MIR
chr1\t18\t19\tLINE
"""


def test_classes_of_a_bed_file(toy, tmp_path):
    """The later start counts, then the later line; the family is dropped."""
    (tmp_path / "r.bed").write_text(BED)
    found = RepeatClasses.from_bed(tmp_path / "r.bed", toy)
    assert found.names == ("none", "LINE", "Alu", "SINE")
    assert draw(found, Interval("chr1", 0, 20)) == "AnLLLAALLSSSnnnnnnLS"
    for start in range(20):
        for end in range(start, 21):
            piece = Interval("chr1", start, end)
            assert draw(found, piece) == "AnLLLAALLSSSnnnnnnLS"[start:end]
    assert draw(found, Interval("chr2", 5, 9)) == "nnnn"


def test_bed_against_painting_every_base(toy, tmp_path):
    rng = np.random.default_rng(0)
    painted = np.full(120, "none", dtype=object)
    rows = [(int(s), int(s + n), str(c)) for s, n, c in zip(
        rng.integers(0, 100, 60), rng.integers(1, 20, 60), rng.choice(list("XYZ"), 60), strict=True
    )]  # fmt: skip
    for start, end, name in sorted(rows, key=lambda row: row[0]):
        painted[start:end] = name
    text = "".join(f"chr2\t{s}\t{e}\t{c}\n" for s, e, c in rows)
    (tmp_path / "r.bed").write_text(text)
    found = RepeatClasses.from_bed(tmp_path / "r.bed", toy)
    for start, end in ((0, 120), (37, 80), (99, 100)):
        names = [found.names[c] for c in found.classes(Interval("chr2", start, end))]
        assert names == painted[start:end].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1\t2\t21\tLINE\n", r"r\.bed:1: end 21 is beyond the end of chr1"),
        ("chr1\t2\t5\tLINE\nchr1\t6\t7\n", r"r\.bed:2: no class in column 4"),
        ("chr7\t2\t5\tLINE\n", r"none of its rows is on toy\.fa"),
        ("".join(f"chr1\t1\t2\tc{i}\n" for i in range(256)), r"r\.bed:256: 'c255' is class"),
    ],
)
def test_bad_rows_are_named(toy, tmp_path, text, message):
    (tmp_path / "r.bed").write_text(text)
    with pytest.raises(InputError, match=message):
        RepeatClasses.from_bed(tmp_path / "r.bed", toy)


def test_pieces_cut_rows_that_run_beyond(toy, tmp_path):
    (tmp_path / "r.bed").write_text("chr1\t18\t25\tLINE\nchr1\t30\t35\tLINE\n")
    found = RepeatClasses.from_bed(tmp_path / "r.bed", toy, pieces=True)
    assert draw(found, Interval("chr1", 16, 20)) == "nnLL"


@pytest.mark.parametrize("interval", [Interval("chr1", 10, 21), Interval("chr1", -1, 4)])
def test_no_class_outside_the_genome(toy, tmp_path, interval):
    (tmp_path / "r.bed").write_text(BED)
    for found in (
        RepeatClasses.from_soft_mask(toy),
        RepeatClasses.from_bed(tmp_path / "r.bed", toy),
    ):
        with pytest.raises(InputError, match="is not within chr1"):
            found.classes(interval)


def test_shares_by_hand():
    """Tokens of 4, 1 and 2 bases over   u u s s s k k."""
    classes = np.array([0, 0, 1, 1, 1, 2, 2], dtype=np.uint8)
    bounds = np.array([[0, 4], [4, 5], [3, 5]])
    values = np.array([[4.0, 40.0], [1.0, 10.0], [6.0, 60.0]])
    expected = np.array([[2.0, 20.0], [9.0, 90.0], [0.0, 0.0]])
    assert np.allclose(share_by_class(values, bounds, classes, num_classes=3), expected)
    assert np.allclose(share_by_class(values[:, 0], bounds, classes, num_classes=3), expected[:, 0])
    none = share_by_class(np.zeros(0), np.zeros((0, 2), int), classes, num_classes=3)
    assert none.tolist() == [0, 0, 0]


def test_shares_against_a_loop_and_their_total():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, 300).astype(np.uint8)
    starts = rng.integers(0, 280, 100)
    bounds = np.stack([starts, starts + rng.integers(1, 20, 100)], axis=1)
    values = rng.random(100)
    slow = np.zeros(4)
    for value, (start, end) in zip(values, bounds, strict=True):
        for base in range(start, end):
            slow[classes[base]] += value / (end - start)
    found = share_by_class(values, bounds, classes, num_classes=4)
    assert np.allclose(found, slow)
    assert found.sum() == pytest.approx(values.sum())


@pytest.mark.parametrize("bounds", [[[2, 2]], [[-1, 2]], [[5, 8]]])
def test_tokens_without_bases_are_refused(bounds):
    with pytest.raises(ValueError, match="every token must have a base within 0-7"):
        share_by_class(np.ones(1), np.array(bounds), np.zeros(7, np.uint8), num_classes=1)


def test_sums_of_tokens_anywhere_on_a_chromosome(toy, monkeypatch):
    monkeypatch.setattr(repeats, "JOIN_BP", 3)
    found = RepeatClasses.from_soft_mask(toy)
    bounds = np.array([[16, 20], [0, 1], [3, 5], [11, 13]])  # suuu u us su
    sums = found.sums("1", bounds, np.array([4.0, 10.0, 2.0, 6.0]))
    assert np.allclose(sums, [3 + 10 + 1 + 3, 1 + 0 + 1 + 3, 0])


def test_real_pieces(real_data, tmp_path):
    """chr22 as UCSC has it, soft-masked; the piece of chr17 is in upper case throughout."""
    for chrom, name, share in (
        ("chr22", "chr22_1-21000000", 0.35),
        ("chr17", "chr17_1-1000000", 0),
    ):
        with gzip.open(real_data / "genome" / f"hg19_{name}.fa.gz", "rt") as stream:
            text = stream.read()
        (tmp_path / f"{chrom}.fa").write_text(text)
        bases = "".join(text.splitlines()[1:])
        found = RepeatClasses.from_soft_mask(Genome(tmp_path / f"{chrom}.fa"))
        start, end = len(bases) - 900_000, len(bases)
        counts = np.bincount(found.classes(Interval(chrom, start, end)), minlength=3)
        lower = sum(map(str.islower, bases[start:end]))
        assert lower == pytest.approx(share * 900_000, rel=0.1)
        assert counts.tolist() == ([900_000 - lower, lower, 0] if share else [0, 0, 900_000])
