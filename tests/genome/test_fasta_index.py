"""Genomes of every kind that can be read at random, with an index that is missing, stale or barred."""

import contextlib
import gzip
import os
import pickle
import shutil
import struct
import tracemalloc

import numpy as np
import pysam
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, fasta_index


@pytest.fixture
def plain(tmp_path):
    draw = np.random.default_rng(3)
    path = tmp_path / "toy.fa"
    with open(path, "w") as stream:
        for name, length in (("chr1", 200_003), ("chr2", 59), ("chr3", 60)):
            letters = "".join(draw.choice(list("ACGTacgtNR"), length))
            stream.write(f">{name} of a toy\n")
            stream.writelines(f"{letters[i : i + 60]}\n" for i in range(0, length, 60))
    return path


@pytest.fixture
def packed(plain):
    path = plain.with_name("packed.fa.gz")
    pysam.tabix_compress(str(plain), str(path))
    return path


def places(genome):
    draw = np.random.default_rng(4)
    for name, length in genome.lengths.items():
        for _ in range(30):
            start, end = sorted(draw.integers(-5, length + 5, 2).tolist())
            yield Interval(name, start, end + 1, "+-"[start % 2])


def test_the_index_is_that_of_samtools(plain, tmp_path):
    Genome(plain)
    pysam.faidx(str(plain), "--fai-idx", str(tmp_path / "other"))
    assert (tmp_path / "toy.fa.fai").read_bytes() == (tmp_path / "other").read_bytes()


def test_bgzip_reads_as_plain(plain, packed):
    one, other = Genome(plain), Genome(packed)
    assert other.lengths == one.lengths
    again = pickle.loads(pickle.dumps(other))
    for here in places(one):
        assert other.fetch(here) == again.fetch(here) == one.fetch(here)
    assert other.letters(Interval("chr2", 3, 50)) == one.letters(Interval("chr2", 3, 50))
    assert sorted(p.name for p in plain.parent.iterdir()) == [
        "packed.fa.gz", "packed.fa.gz.fai", "packed.fa.gz.gzi", "toy.fa", "toy.fa.fai",
    ]  # fmt: skip


def test_forked_processes_read_at_the_same_time(plain, packed):
    """They share the open file; with a position in common each would move that of the others."""
    for genome in (Genome(plain), Genome(packed)):
        whole = genome.letters(Interval("chr1", 0, 200_003))
        draw = np.random.default_rng(5)
        children = []
        for starts in draw.integers(0, 199_000, (4, 500)).tolist():
            if (child := os.fork()) == 0:
                right = False
                with contextlib.suppress(BaseException):
                    here = [Interval("chr1", start, start + 300) for start in starts]
                    right = all(genome.letters(x) == whole[x.start : x.end] for x in here)
                os._exit(not right)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda gzi: gzi.write_bytes(b""),
        lambda gzi: gzi.write_bytes(gzi.read_bytes()[:-1]),
        lambda gzi: gzi.write_bytes(b"\xff" * 40),
        lambda gzi: gzi.write_bytes(struct.pack("<5Q", 2, 1 << 60, 70_000, 9, 80_000)),
        lambda gzi: gzi.write_bytes(struct.pack("<3Q", 1, 500, 65_280)),
    ],
)
def test_blocks_that_do_not_fit_are_indexed_again(packed, spoil):
    gzi = packed.with_name("packed.fa.gz.gzi")
    expected = Genome(packed).letters(Interval("chr1", 0, 200_003))
    right = gzi.read_bytes()
    spoil(gzi)
    assert Genome(packed).letters(Interval("chr1", 0, 200_003)) == expected
    assert gzi.read_bytes() == right


def test_a_folder_that_cannot_be_written_to(plain, packed, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError

    expected = [Genome(plain).fetch(x) for x in places(Genome(plain))]
    plain.with_name("toy.fa.fai").unlink()
    monkeypatch.setattr(fasta_index.shutil, "copyfile", refuse)
    for path in (plain, packed):
        genome = pickle.loads(pickle.dumps(Genome(path)))
        assert [genome.fetch(x) for x in places(genome)] == expected
    assert sorted(p.name for p in plain.parent.iterdir()) == ["packed.fa.gz", "toy.fa"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda fai: fai.write_text("chr1\t12\n"),
        lambda fai: fai.write_text(""),
        lambda fai: fai.write_text(fai.read_text().replace("chr1", "chr9")),
        lambda fai: fai.write_text(fai.read_text().splitlines(keepends=True)[0]),
        lambda fai: fai.write_bytes(b"\xff\xfe\0"),
        lambda fai: fai.write_text("chr1\t4\t6\t0\t0\n"),
    ],
)
def test_an_index_that_does_not_fit_is_made_anew(plain, spoil):
    fai = plain.with_name("toy.fa.fai")
    expected = Genome(plain).lengths
    right = fai.read_text()
    spoil(fai)
    assert Genome(plain).lengths == expected
    assert fai.read_text() == right


def test_an_index_older_than_its_file_is_made_anew(plain, packed):
    for path in (plain, packed):
        before = Genome(path).lengths
        indices = [p for p in path.parent.iterdir() if p.name.startswith(path.name + ".")]
        changed = path.parent / "changed.fa"
        changed.write_text(">chr1\n" + "ACGTA\n" * 2 + ">chr2\nGG\n")
        if path == packed:
            pysam.tabix_compress(str(changed), str(path), force=True)
        else:
            shutil.copy(changed, path)
        for index in indices:
            os.utime(index, ns=(0, path.stat().st_mtime_ns - 1))
        assert before["chr1"] == 200_003
        assert Genome(path).lengths == {"chr1": 10, "chr2": 2}


def records(order, width=10):
    """Four records over A C G T; b and c have as many bytes as each other, header and all."""
    letters = {"a": "ACGTA" * 5, "b": "CCCCC" * 6, "c": "GGGGG" * 6, "d": "T" * 7}
    lines = []
    for name in order:
        text = letters[name.strip("'").lower()]
        lines += [f">{name}", *(text[i : i + width] for i in range(0, len(text), width))]
    return "\n".join(lines) + "\n"


def put(path, text):
    if path.suffix == ".gz":
        path.with_name("plain.fa").write_text(text)
        pysam.tabix_compress(str(path.with_name("plain.fa")), str(path), force=True)
    else:
        path.write_text(text)


@pytest.mark.parametrize("name", ["g.fa", "g.fa.gz"])
@pytest.mark.parametrize(
    "changed",
    [
        records("acbd"),  # the same bytes in another order: first and last record and size agree
        records("aBcd"),  # another name
        records("abcd").replace(
            "GGGGGGGGGG\n" * 3, "GGGGGGGGGGG\n" * 2 + "GGGGGGGG\n"
        ),  # rewrapped
        records("abcd").replace("CCCCC\n>c", "C\n>c").replace("TTTTTTT", "TTTTTTT" + "TTT\nT"),
    ],
    ids=["reordered", "renamed", "rewrapped", "moved"],
)
def test_an_index_of_other_content_is_made_again_whatever_its_time(tmp_path, name, changed):
    path = tmp_path / name
    put(path, records("abcd"))
    Genome(path)
    put(path, changed)
    for index in tmp_path.glob("g.fa*.*i"):
        os.utime(index, ns=(0, path.stat().st_mtime_ns + 10**9))  # the FASTA came with an old time
    other = tmp_path / "other.fa"
    other.write_text(changed)
    expected, genome = Genome(other), Genome(path)
    assert genome.lengths == expected.lengths
    for chrom, length in expected.lengths.items():
        whole = Interval(chrom, 0, length)
        assert genome.fetch(whole) == expected.fetch(whole)


@pytest.mark.parametrize("name", ["g.fa", "g.fa.gz"])
@pytest.mark.parametrize("is_older", [False, True])
def test_an_index_that_the_user_made_stays(tmp_path, name, is_older):
    path = tmp_path / name
    put(path, records("abcd"))
    pysam.faidx(str(path))
    indices = sorted(tmp_path.glob("g.fa*.*i"))
    if is_older:
        for index in indices:
            os.utime(index, ns=(0, path.stat().st_mtime_ns - 10**9))
    before = [(index.stat().st_ino, index.read_bytes()) for index in indices]
    assert Genome(path).lengths == {"a": 25, "b": 30, "c": 30, "d": 7}
    assert [(index.stat().st_ino, index.read_bytes()) for index in indices] == before


@pytest.mark.parametrize(
    "text",
    [
        records("abcd", width=60),
        records("abcd").replace("\n", "\r\n"),
        "\n\n" + records("abcd").replace("\n>", "\n\n>"),
        records("abcd").replace("\n", " \n").replace(">b", ">b described > more"),
        records("abcd").rstrip("\n"),
    ],
)
def test_an_index_of_unusual_content_is_not_made_twice(tmp_path, monkeypatch, text):
    path = tmp_path / "g.fa"
    path.write_bytes(text.encode())
    lengths = Genome(path).lengths
    assert list(lengths) == ["a", "b", "c", "d"]
    monkeypatch.setattr(fasta_index, "_make", None)
    assert Genome(path).lengths == lengths


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b">a\nAC\n>a\nGG\n", r"g\.fa:3: a second record is called 'a'"),
        (b">a\n>b\nGG\n", r"g\.fa:1: record 'a' has no sequence"),
        (b"ACGT\n", r"g\.fa:1: found 'ACGT' before any header"),
        (b"@r\nACGT\n+\nIIII\n", r"g\.fa:1: found '@r' .* FASTQ"),
        (b">a\nACG\nACGT\n", r"g\.fa:3: this line has 4 letters, .* have 3"),
        (b">a\nACGT\nAC\nAC\n", r"g\.fa:4: this line has 2 letters, .*dna-bigbird genome"),
        (b">a\nACGT\n\nAC\n", r"g\.fa:4: this line has 2 letters"),
        (b">a\rACGT\r", r"g\.fa: its lines end in more than one way, or in CR alone"),
        (b">a\r*CnACY\n\r\n", r"g\.fa: its lines end in more than one way, or in CR alone"),
        (b">a\nAC\n>b\rGG\nAC\n", r"g\.fa: its lines end in more than one way, or in CR alone"),
        (b">a\nACGT\r\nACGT\nA\n", r"g\.fa: its lines end in more than one way"),
        (b">a\nAC\0T\nACG\n", r"g\.fa:1: record 'a' has NUL bytes"),
        (b">a\nACGT\n>b\n\xcd\xcd\n", r"g\.fa:3: record 'b' has bytes such as 0xcd"),
        (b">a\nAC GT\n", r"g\.fa:1: record 'a' has bytes such as 0x20"),
        (">a\nACGT\n".encode("utf-16"), r"g\.fa: this is UTF-16 text"),
        (b"PK\x03\x04", r"g\.fa: this is a zip archive"),
        (b"\n\n", r"g\.fa: no sequence in it"),
    ],
)
def test_what_cannot_be_read_at_random_is_named(tmp_path, capfd, content, message):
    path = tmp_path / "g.fa"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        Genome(path)
    assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", "")
    assert [p.name for p in tmp_path.iterdir()] == ["g.fa"]


def test_another_format_in_gzip_is_named_and_not_to_be_unpacked(tmp_path):
    path = tmp_path / "v.vcf.gz"
    path.write_bytes(gzip.compress(b"##fileformat=VCFv4.2\n"))
    with pytest.raises(InputError, match=r"v\.vcf\.gz: expected a genome as FASTA, .* a VCF file$"):
        Genome(path)
    path.write_bytes(gzip.compress(b">a\nACGT\n"))
    with pytest.raises(InputError, match=r"must be plain or bgzip FASTA; unpack it first: gunzip"):
        Genome(path)


def test_bgzip_cut_off_is_named(packed):
    Genome(packed)
    packed.write_bytes(packed.read_bytes()[:-28])
    with pytest.raises(InputError, match=r"packed\.fa\.gz: the end marker of bgzip is missing"):
        Genome(packed)


def test_a_damaged_block_is_named_when_it_is_read(packed):
    Genome(packed)
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 0xFF
    packed.write_bytes(data)
    for index in packed.parent.glob("packed.fa.gz.*"):
        os.utime(index)
    genome = Genome(packed)
    with pytest.raises(
        InputError, match=r"packed\.fa\.gz: chr1:1-200003 cannot be read .* damaged"
    ):
        genome.fetch(Interval("chr1", 0, 200_003))


def test_blanks_and_empty_lines_at_the_end_are_no_bases(tmp_path):
    path = tmp_path / "g.fa"
    path.write_bytes(b">a\nACGT \nGGTA \nC \n\n\n>b\nTT\n\n")
    genome = Genome(path)
    assert genome.lengths == {"a": 9, "b": 2}
    assert genome.fetch(Interval("a", 0, 9)) == "ACGTGGTAC"
    assert genome.fetch(Interval("a", 3, 8)) == "TGGTA"


def test_a_chromosome_on_one_line_is_indexed_in_bounded_memory(tmp_path):
    path = tmp_path / "g.fa"
    path.write_bytes(b">a\n" + b"ACGTTGCAGT" * 2_000_000 + b"\n")
    tracemalloc.start()
    try:
        genome = Genome(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert genome.lengths == {"a": 20_000_000}
    assert genome.fetch(Interval("a", 19_999_990, 20_000_000)) == "ACGTTGCAGT"
    assert peak < 14_000_000
