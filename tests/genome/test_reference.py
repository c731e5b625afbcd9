"""Joining FASTA files, and holding them against an assembly."""

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.genome.genome import check_assembly, join_fasta

HG19 = {"chr1": 249_250_621, "chr22": 51_304_566}


def test_join_keeps_letters_and_order(tmp_path):
    (tmp_path / "a.fa").write_text(">chr2\n" + "acgt" * 40 + "\n")
    (tmp_path / "b.fa").write_text(">chr1\nNNA\n")
    output = tmp_path / "genome.fa"
    lengths = join_fasta([tmp_path / "a.fa", tmp_path / "b.fa"], output, check=lambda lengths: None)
    assert lengths == {"chr2": 160, "chr1": 3}
    assert output.read_text().startswith(">chr2\n" + "acgt" * 15 + "\n")
    assert Genome(output).lengths == lengths


def test_a_refused_reference_leaves_nothing(tmp_path):
    (tmp_path / "a.fa").write_text(">chr1\nAC\n")
    with pytest.raises(InputError, match=r"a\.fa:1: 'chr1' is also in"):
        join_fasta([tmp_path / "a.fa"] * 2, tmp_path / "genome.fa", check=lambda lengths: None)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.fa"]


def check(lengths, *, pieces=False, guess=None):
    check_assembly(lengths, assembly="GRCh37", expected=HG19, guess=guess, pieces=pieces)


def test_lengths_of_the_assembly_are_accepted_with_either_naming():
    check({"chr1": 249_250_621, "22": 51_304_566, "chrUn_decoy": 17})


def test_another_assembly_is_named():
    with pytest.raises(InputError, match=r"50,818,468 bp long, in GRCh37 .* is the FASTA GRCh38\?"):
        check({"chr22": 50_818_468}, guess="GRCh38", pieces=True)


def test_pieces_must_be_asked_for_and_cannot_be_longer():
    with pytest.raises(InputError, match="--pieces true"):
        check({"chr22": 21_000_000})
    check({"chr22": 21_000_000}, pieces=True)
    with pytest.raises(InputError, match="chr22 is 60,000,000 bp long"):
        check({"chr22": 60_000_000}, pieces=True)


@pytest.mark.parametrize("name", ["GRCh37", "hg19", "b37", "hs37d5", "GRCh37.p13"])
def test_the_command_checks_lengths_under_every_common_name(tmp_path, capsys, name):
    (tmp_path / "a.fa").write_text(">chr22\nACGT\n")
    inputs, output = f"--inputs=[{tmp_path / 'a.fa'}]", tmp_path / "g.fa"
    with pytest.raises(SystemExit, match="2"):
        main(["genome", inputs, f"--output={output}", f"--assembly={name}"])
    message = "chr22 is 4 bp long, in GRCh37 it has 51,304,566 bp"
    assert message in capsys.readouterr().err
    assert not output.exists()
