"""Genomes of a suite: the right FASTA, lift-over, and intervals that are not there."""

import pytest

from dna_bigbird.bench.suite_run import genomes
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval

CHAIN = "chain 100 chr1 5000 + 1000 5000 chr1 4000 + 0 4000 1\n4000\n\n"


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "a.chain"
    path.write_text(CHAIN)
    return path


def test_names_of_assemblies_are_the_usual_ones(toy_genome):
    path, _ = toy_genome
    named = genomes({"hg38": path, "ce11": path}, None, pieces=False)
    assert named.open("GRCh38").assembly == "GRCh38"
    assert named.open("GRCh38").genome.path == path


def test_two_fasta_of_one_assembly_are_refused(tmp_path, toy_genome):
    path, _ = toy_genome
    with pytest.raises(InputError, match=r"^--genome GRCh38=.*b\.fa: GRCh38 is .*toy\.fa already$"):
        genomes({"hg38": path, "GRCh38": tmp_path / "b.fa"}, None, pieces=False)


def test_a_fasta_of_the_assembly_itself_is_not_lifted(chain, toy_genome):
    path, _ = toy_genome
    both = Genomes({"GRCh38": path, "GRCh37": path}, chain)
    interval = Interval("chr1", 1500, 1600)
    assert both.open("GRCh38").locate(interval, "x") == interval
    lifted = Genomes({"GRCh37": path}, chain).open("GRCh38")
    assert lifted.assembly == "GRCh37"
    assert lifted.locate(interval, "x") == Interval("chr1", 500, 600)
    assert lifted.locate(Interval("1", 1500, 1600), "x") == Interval("chr1", 500, 600)
    assert lifted.locate(Interval("chr1", 990, 1010), "x") == "not_lifted"


def test_another_species_is_not_lifted(chain, toy_genome):
    with pytest.raises(InputError, match=r"no FASTA for GRCm38; add GRCm38=FILE \(given: GRCh37\)"):
        Genomes({"GRCh37": toy_genome[0]}, chain).open("GRCm38")


def test_an_interval_ends_with_the_chromosome_or_is_beyond(toy_genome):
    path, _ = toy_genome
    last, beyond = Interval("1", 3990, 4000), Interval("chr1", 3990, 4001)
    whole = Genomes({"GRCh38": path}).open("GRCh38")
    assert whole.locate(last, "x") == Interval("chr1", 3990, 4000)
    with pytest.raises(InputError, match=r"^f:2: chr1:3,991-4,001 is not in toy\.fa, which ends"):
        whole.locate(beyond, "f:2")
    part = Genomes({"GRCh38": path}, pieces=True).open("GRCh38")
    assert part.locate(beyond, "x") == "beyond_the_end"
    assert part.locate(Interval("chrZ", 0, 1), "x") == "not_in_genome"


def test_a_chain_that_is_missing(toy_genome, tmp_path):
    with pytest.raises(InputError, match=r"no\.chain: no such file"):
        Genomes({"GRCh37": toy_genome[0]}, tmp_path / "no.chain").open("GRCh38")


def test_a_chain_file_of_the_other_direction(toy_genome, tmp_path):
    """chr22 has 51,304,566 bp in GRCh37 and 50,818,468 in GRCh38."""
    path = tmp_path / "back.chain"
    path.write_text("chain 1 chr22 51304566 + 0 9 chr22 50818468 + 0 9 1\n9\n\n")
    with pytest.raises(
        InputError, match=r"lifts from GRCh37, and the intervals are on GRCh38; expected"
    ):
        Genomes({"GRCh37": toy_genome[0]}, path).open("GRCh38")


@pytest.mark.parametrize(
    ("names", "needed"),
    [
        (["GRCh38"], {"GRCh38"}),
        (["GRCh38", "WBcel235"], {"GRCh38"}),
        (["GRCh38", "WBcel235"], {"GRCh38", "WBcel235"}),
    ],
)
def test_a_chain_that_nothing_would_be_lifted_with(toy_genome, tmp_path, names, needed):
    genomes = Genomes(dict.fromkeys(names, toy_genome[0]), tmp_path / "x.chain")
    listed = ", ".join(sorted(needed))
    with pytest.raises(
        InputError, match=rf"x\.chain: --genome has a FASTA for {listed}, as the intervals are, so"
    ):
        genomes.check_chain(needed)


@pytest.mark.parametrize(
    ("names", "needed"), [(["GRCh37"], {"GRCh38"}), (["GRCh38", "ce10"], {"GRCh38", "WBcel235"})]
)
def test_a_chain_for_one_of_the_assemblies(toy_genome, tmp_path, names, needed):
    Genomes(dict.fromkeys(names, toy_genome[0]), tmp_path / "x.chain").check_chain(needed)


def test_a_genome_and_its_chain_are_read_once(chain, toy_genome):
    genomes = Genomes({"GRCh37": toy_genome[0]}, chain)
    first = genomes.open("GRCh38")
    lifted = first.locate(Interval("chr1", 1500, 1600), "x")
    chain.unlink()
    assert genomes.open("GRCh38").locate(Interval("chr1", 1500, 1600), "x") == lifted
