"""One chromosome under every usual name, in each reader; two mitochondria that are not the same."""

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.bed import place_on_genome, read_bed
from dna_bigbird.genome.chromosome_names import HG19_CHRM_BP, ChromosomeNames, usual_name
from dna_bigbird.genome.lift_over import lift_interval, lift_sites, read_chain
from dna_bigbird.genome.sites.reading import read_sites

WAYS = {
    "1": ("chr1", "1", "CHR1", "Chr1", "chr01", "01", "NC_000001.10", "NC_000001.11", "CM000663.1"),
    "X": ("chrX", "X", "chrx", "NC_000023.10", "CM000685.2"),
    "MT": ("chrM", "M", "MT", "chrMT", "NC_012920.1", "NC_012920"),
    "2L": ("chr2L", "2L"),
    "scaffold_01": ("scaffold_01",),
}
PAIRS = [(here, there) for names in WAYS.values() for here in names for there in names]


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_every_usual_name_finds_every_other(here, there):
    lengths = {here: 16_569, "chr22": 50, "scaffold_1": 5}
    assert ChromosomeNames(lengths).find(there) == here


def test_what_is_not_the_same_chromosome():
    names = ChromosomeNames({"chr1": 9, "scaffold_01": 9, "chr10": 9, "a": 9, "A": 9, "chr": 9})
    for other in ("11", "scaffold_1", "NC_000010.3x", "NC_000002.12", "chra", "0", ""):
        assert names.find(other) is None, other
    assert (names.find("a"), names.find("A"), names.find("010")) == ("a", "A", "chr10")
    assert len(set(map(usual_name, WAYS))) == len(WAYS)


@pytest.fixture
def genome_of(tmp_path):
    def written(**lengths):
        path = tmp_path / "toy.fa"
        records = (
            f">{name}\n{'ACGT' * (size // 4 + 1)}"[: len(name) + 2 + size]
            for name, size in lengths.items()
        )
        path.write_text("\n".join(records) + "\n")
        return Genome(path)

    return written


def test_the_mitochondrion_of_hg19_is_another_sequence(genome_of):
    genome = genome_of(chrM=HG19_CHRM_BP, chr1=40)
    assert genome.resolve("chrM") == "chrM"
    for name in ("MT", "M", "NC_012920.1"):
        with pytest.raises(InputError, match=f"'{name}' .*chrM has 16,571 .*16,569"):
            genome.resolve(name)
    assert genome_of(MT=16_569).resolve("chrM") == "MT"


def test_rows_on_other_chromosomes_are_counted_by_name_once(genome_of, tmp_path, capsys):
    genome = genome_of(chr1=40, MT=16_569)
    path = tmp_path / "rows.bed"
    rows = ["1\t1\t5", "chrM\t1\t5", *["chrUn\t1\t5"] * 3, "7\t1\t5"]
    path.write_text("\n".join(rows) + "\n")
    placed = place_on_genome(read_bed(path), genome, path)
    assert [row.interval.chrom for row in placed.rows] == ["chr1", "MT"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("3 rows on chrUn, 1 on 7")
    path.write_text("chrUn\t1\t5\n")
    with pytest.raises(InputError, match=r"rows.bed: none of its chromosomes \(chrUn\)"):
        place_on_genome(read_bed(path), genome, path)


CHAIN = "chain 1 {0} 100 + 0 40 {1} 60 + 10 50 1\n40\n"


@pytest.mark.parametrize("site", ["1", "chr1", "chr01", "NC_000001.10"])
@pytest.mark.parametrize(("old", "new"), [("chr1", "chr1"), ("1", "chr1"), ("chr1", "1")])
def test_sites_and_chains_name_chromosomes_apart(tmp_path, site, old, new):
    path = tmp_path / "a.chain"
    path.write_text(CHAIN.format(old, new))
    (tmp_path / "sites.bed").write_text(f"{site}\t5\t6\ta\t0\t+\n{site}\t100\t101\tb\t0\t+\n")
    lifted, lost = lift_sites(read_sites(tmp_path / "sites.bed"), read_chain(path))
    assert [x.site for x in lifted] == [Interval(new, 15, 16, "+")]
    assert [x.reason for x in lost] == [f"beyond the end of {old} (100 bp in the chain)"]
    assert lift_interval(Interval(site, 5, 9), read_chain(path)) == Interval(new, 15, 19)


def test_a_chain_without_the_chromosomes_of_any_site(tmp_path):
    path = tmp_path / "a.chain"
    path.write_text(CHAIN.format("chr1", "chr1"))
    (tmp_path / "sites.bed").write_text("chr9\t5\t6\ta\t0\t+\n")
    with pytest.raises(InputError, match=r"--chain: .*\(chr9\)"):
        lift_sites(read_sites(tmp_path / "sites.bed"), read_chain(path))


def test_peaks_of_the_mitochondrion_become_labels(genome_of, tmp_path, capsys):
    from dna_bigbird.labelled.chromatin.peak_sheet import SheetRow, read_peaks

    genome = genome_of(MT=16_569, chr1=400)
    (tmp_path / "peaks.bed").write_text("chrM\t200\t400\n01\t0\t200\nchrQ\t5\t9\n")
    row = SheetRow("CTCF", "", "", tmp_path / "peaks.bed", "", 1)
    (label,), _, counts = read_peaks([row], genome, bin_bp=200)
    assert {chrom: bins.tolist() for chrom, bins in label.bins.items()} == {"MT": [1], "chr1": [0]}
    assert counts["left_out_chromosome_absent"] == 1
    assert "1 peaks on chrQ" in capsys.readouterr().err
