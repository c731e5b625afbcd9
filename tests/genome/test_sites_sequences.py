"""Promoters without coordinates as small chromosomes."""

import gzip

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.genome import Genome
from dna_bigbird.genome.sites.reading import read_sites


def convert(tmp_path, text, *extra, name="in.txt", offset=3):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    main(
        [
            "promoter-sequences",
            f"--input={path}",
            f"--tss_offset={offset}",
            f"--output={tmp_path / 'out.fa'}",
            f"--output_sites={tmp_path / 'out.bed'}",
            *extra,
        ]
    )
    genome = Genome(tmp_path / "out.fa")
    at_sites = [
        (s.interval.chrom, genome.fetch(s.interval)) for s in read_sites(tmp_path / "out.bed")
    ]
    return genome, at_sites


@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz"])
def test_lines(tmp_path, name):
    genome, sites = convert(tmp_path, "acgtA\n\nTTTGTT\r\n", "--name=tata", name=name)
    assert genome.lengths == {"tata1": 5, "tata2": 6}
    assert sites == [("tata1", "T"), ("tata2", "G")]


def test_fasta(tmp_path):
    genome, sites = convert(tmp_path, ">A_1 x\nAC\nGTA\n>B_1\nTTTG\n")
    assert genome.lengths == {"A_1": 5, "B_1": 4}
    assert sites == [("A_1", "T"), ("B_1", "G")]


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("ACGT\nACG\n", 3, "promoter2 (sequence 2) has 3 bp; --tss_offset 3, counted from 0"),
        ("ACGT\nAC!T\n", 3, "in.txt:2: record 'promoter2'"),
        ("\n", 3, "in.txt: no sequence in it"),
        ("ACGT\n", -1, "--tss_offset -1"),
    ],
)
def test_refusals_leave_nothing(tmp_path, capsys, text, offset, message):
    with pytest.raises(SystemExit, match="2"):
        convert(tmp_path, text, offset=offset)
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]
