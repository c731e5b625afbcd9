"""pyfaidx reads what `Genome` reads, and writes nothing."""

import gzip
import pickle

import numpy as np
import pysam
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome import fasta as fasta_module
from dna_bigbird.labelled.bedtools_check import PyfaidxGenome, second_reader

LETTERS = "ACGTacgtNnRYU"


@pytest.fixture
def fasta(tmp_path):
    path = tmp_path / "drawn.fa"
    rng = np.random.default_rng(4)
    lines = []
    for name, length in (("chr1", 1003), ("chrM extra words", 60), ("2", 61), ("one", 1)):
        text = "".join(rng.choice(list(LETTERS), length))
        lines += [f">{name}", *(text[i : i + 60] for i in range(0, length, 60))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_any_interval_is_that_of_the_first_reader(fasta, line_end):
    fasta.write_bytes(fasta.read_bytes().replace(b"\n", line_end.encode()))
    first = Genome(fasta)
    second = second_reader(first)
    assert isinstance(second, PyfaidxGenome)
    assert second.lengths == first.lengths == {"chr1": 1003, "chrM": 60, "2": 61, "one": 1}
    rng = np.random.default_rng(1)
    for chrom, length in first.lengths.items():
        for _ in range(100):
            start, end = sorted(rng.integers(-20, length + 20, 2).tolist())
            interval = Interval(chrom, start, end, "+-"[int(rng.integers(2))])
            assert second.fetch(interval) == first.fetch(interval)
        whole = Interval(chrom, 0, length)
        assert second.letters(whole) == first.letters(whole)
    assert second.fetch(Interval("chr2", 0, 61)) == first.fetch(Interval("2", 0, 61))


def test_it_leaves_the_folder_and_the_index_as_they_are(fasta):
    first = Genome(fasta)  # puts an index next to the file
    before = {path.name: (path.read_bytes(), path.stat()) for path in fasta.parent.iterdir()}
    assert set(before) == {"drawn.fa", "drawn.fa.fai"}
    second_reader(first).fetch(Interval("chr1", 0, 100))
    after = {path.name: (path.read_bytes(), path.stat()) for path in fasta.parent.iterdir()}
    assert {k: (v[0], v[1].st_mtime_ns) for k, v in after.items()} == {
        k: (v[0], v[1].st_mtime_ns) for k, v in before.items()
    }


def test_another_process_opens_it_again(fasta):
    second = pickle.loads(pickle.dumps(second_reader(Genome(fasta))))
    assert isinstance(second, PyfaidxGenome)
    interval = Interval("chr1", 5, 500)
    assert second.fetch(interval) == Genome(fasta).fetch(interval)


@pytest.mark.parametrize("suffix", [".gz", ".bgz"])
def test_a_packed_genome_keeps_its_reader_and_a_note_says_so(fasta, capsys, suffix):
    packed = fasta.with_suffix(f".fa{suffix}")
    pysam.tabix_compress(str(fasta), str(packed))
    genome = Genome(packed)
    before = sorted(path.name for path in fasta.parent.iterdir())
    assert second_reader(genome) is genome
    assert capsys.readouterr().err == (
        f"dna-bigbird: note: {packed}: not compared with pyfaidx, the second reader, which is for "
        "plain FASTA\n"
    )
    assert sorted(path.name for path in fasta.parent.iterdir()) == before


def test_a_packed_genome_of_another_name_too(fasta):
    packed = fasta.with_name("packed.fa")
    pysam.tabix_compress(str(fasta), str(packed))
    assert gzip.decompress(packed.read_bytes()) == fasta.read_bytes()
    genome = Genome(packed)
    assert second_reader(genome) is genome


def test_an_index_that_says_otherwise_is_named(fasta, monkeypatch):
    index = Genome(fasta)._index
    wrong = {name: entry for name, entry in index.items() if name != "one"}
    wrong["chrM"] = wrong["chrM"]._replace(length=59)
    monkeypatch.setattr(fasta_module, "index_of", lambda path, is_packed: (wrong, None))
    message = r"drawn.fa: record 'chrM' has 59 bases by its index and 60 bases as pyfaidx counts"
    with pytest.raises(InputError, match=message):
        second_reader(Genome(fasta))


def test_a_file_that_shrinks_meanwhile_is_one_line(fasta):
    second = second_reader(Genome(fasta))
    fasta.write_bytes(fasta.read_bytes()[:300])
    with pytest.raises(InputError, match=r"drawn.fa: chr1:901-1000 .*as pyfaidx reads it"):
        second.fetch(Interval("chr1", 900, 1000))
