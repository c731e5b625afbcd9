"""What the bases say: real lifted sites stand where transcription starts, to the base.

Measured on the 105 EPDnew sites of the two hg19 pieces: YR (pyrimidine, purine) at -1, +1 at 0.62
of the sites; 0.12 and 0.06 one base beside; 0.24 on average, at most 0.33, 5 to 50 bases away; 0.25
from the share of pyrimidines alone. One site has TATAWA, so the TATA box is looked for with a matrix.
"""

import gzip

import numpy as np
import pytest

from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.bed import place_on_genome
from dna_bigbird.genome.lift_over import lift_sites, read_chain
from dna_bigbird.genome.motifs import load_motifs
from dna_bigbird.genome.sites.reading import read_sites
from dna_bigbird.labelled.promoter.promoter_set_run import start_signal

AWAY_BP = [*range(-50, -4), *range(5, 51)]


@pytest.fixture(scope="module")
def pieces(real_data, tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "pieces.fa"
    with open(path, "w") as joined:
        for part in sorted((real_data / "genome").glob("*.fa.gz")):
            with gzip.open(part, "rt") as stream:
                joined.write(stream.read())
    return Genome(path)


@pytest.fixture(scope="module")
def lifted(real_data, pieces):
    """Sites lifted here from hg38, those inside the pieces."""
    path = real_data / "promoters" / "epdnew_human_hg38_without_chr1_chr2.bed.gz"
    chain = read_chain(real_data / "chain" / "hg38ToHg19.chr17_chr22_only.over.chain.gz")
    sites = [s for s in read_sites(path) if s.interval.chrom in ("chr17", "chr22")]
    found = [
        x.site for x in lift_sites(sites, chain)[0] if x.site.end <= pieces.lengths[x.site.chrom]
    ]
    assert len(found) == 105
    return found


def around(genome, site, first, last):
    """Bases from `first` to before `last`, 0 being the first transcribed one, as the strand reads."""
    if site.strand == "+":
        return genome.fetch(Interval(site.chrom, site.start + first, site.start + last, "+"))
    return genome.fetch(Interval(site.chrom, site.end - last, site.end - first, "-"))


def share_of_yr(genome, sites, shift=0):
    pairs = [around(genome, site, shift - 1, shift + 1) for site in sites]
    return sum(p[0] in "CT" and p[1] in "AG" for p in pairs) / len(pairs)


def test_sites_of_another_assembly_are_told(real_data, pieces, lifted):
    """The same sites with their hg38 positions, which chromosome lengths do not refuse."""
    right = start_signal(pieces, lifted)
    assert (right.n, right.hits, right.warning()) == (105, 65, None)
    path = real_data / "promoters" / "epdnew_human_hg38_without_chr1_chr2.bed.gz"
    hg38 = [s.interval for s in read_sites(path) if s.interval.chrom in ("chr17", "chr22")]
    wrong = start_signal(pieces, hg38)
    assert wrong.n == 110
    assert 0.15 < wrong.hits / wrong.n < 0.27
    assert "only 21% of 110 start sites" in wrong.warning()


def test_gene_starts_of_an_annotation_are_less_exact(real_data, pieces):
    with gzip.open(real_data / "promoters" / "genes_hg19_chr17_chr22.bed.gz", "rt") as text:
        rows = [line.rstrip("\n").split("\t") for line in text]
    starts = [
        Interval(r[0], start, start + 1, r[5])
        for r in rows
        for start in [int(r[1]) if r[5] == "+" else int(r[2]) - 1]
    ]
    found = start_signal(pieces, starts)
    assert (found.n, found.hits) == (138, 44)
    assert "Starts of genes in annotations are less exact" in found.warning()


def test_initiator_stands_at_the_lifted_sites(pieces, lifted):
    assert share_of_yr(pieces, lifted) > 0.55
    away = [share_of_yr(pieces, lifted, shift) for shift in AWAY_BP]
    assert max(away) < 0.4
    assert np.mean(away) < 0.3
    bases = "".join(around(pieces, site, -50, 51) for site in lifted)
    pyrimidines = sum(map(bases.count, "CT")) / len(bases)
    assert share_of_yr(pieces, lifted) > 2 * pyrimidines * (1 - pyrimidines)


@pytest.mark.parametrize("strand", "+-")
def test_one_base_beside_there_is_no_initiator(pieces, lifted, strand):
    """What the test above would see if sites were off by one: less than by chance."""
    sites = [site for site in lifted if site.strand == strand]
    assert len(sites) >= 50
    assert share_of_yr(pieces, sites) > 0.5
    assert max(share_of_yr(pieces, sites, shift) for shift in (-1, 1)) < 0.2


def test_tata_box_stands_around_minus_30(pieces, lifted):
    """Mean best score of the TBP matrix; measured -8.4 bits there, -10.2 with deviation 0.7 elsewhere."""
    tbp = load_motifs()["TBP"]

    def mean_score(shift):
        best = []
        for site in lifted:
            bases = around(pieces, site, shift - 34, shift - 28 + tbp.width - 1)
            if "N" not in bases:
                best.append(max(tbp.score(bases[i : i + tbp.width]) for i in range(6)))
        return np.mean(best)

    elsewhere = [mean_score(shift) for shift in (*range(-100, -9, 3), *range(10, 101, 3))]
    assert mean_score(0) > max(elsewhere)
    assert mean_score(0) > np.mean(elsewhere) + 2 * np.std(elsewhere)


def test_signal_of_the_tata_promoters(real_data):
    """TATAWA starts at -33 to -27 in 704 of 2,000; YR at 0.77, one base beside at most 0.04."""
    with gzip.open(real_data / "promoters" / "human_tata_promoters_300bp.txt.gz", "rt") as stream:
        sequences = [line.strip() for line in stream]
    tss = 249

    def boxes(first, last):
        return sum(
            any(s.startswith(("TATAAA", "TATATA"), tss + i) for i in range(first, last))
            for s in sequences
        )

    def yr(shift):
        pairs = [s[tss - 1 + shift : tss + 1 + shift] for s in sequences]
        return sum(p[0] in "CT" and p[1] in "AG" for p in pairs) / len(pairs)

    assert boxes(-33, -26) > 600
    assert max(boxes(first, first + 7) for first in range(-240, -45, 7)) < 30
    assert yr(0) > 0.75
    assert max(yr(-1), yr(1)) < 0.05


def test_sites_that_change_strand_read_the_same_bases(pieces, lifted, tmp_path):
    """Lift to an assembly that holds both pieces the other way round: the bases stay the same.

    None of the 40 real ones that turn lies in the pieces.
    """
    turned_fasta, chain = tmp_path / "turned.fa", tmp_path / "turned.chain"
    with open(turned_fasta, "w") as fasta, open(chain, "w") as links:
        for number, (chrom, length) in enumerate(pieces.lengths.items(), start=1):
            print(f">{chrom}", pieces.fetch(Interval(chrom, 0, length, "-")), sep="\n", file=fasta)
            ends = f"{chrom} {length} + 0 {length} {chrom} {length} - 0 {length}"
            print(f"chain 1 {ends} {number}\n{length}\n", file=links)
    sites = tmp_path / "sites.bed"
    rows = (f"{s.chrom}\t{s.start}\t{s.end}\ts{i}\t0\t{s.strand}\n" for i, s in enumerate(lifted))
    sites.write_text("".join(rows))
    turned = Genome(turned_fasta)
    found, lost = lift_sites(read_sites(sites), read_chain(chain))
    assert not lost
    assert all(x.strand_changed for x in found)
    assert share_of_yr(turned, [x.site for x in found]) == share_of_yr(pieces, lifted)
    for x in found:
        assert around(turned, x.site, -40, 10) == around(pieces, x.origin, -40, 10)
    assert len(place_on_genome(read_sites(sites), turned, sites).rows) == 105
