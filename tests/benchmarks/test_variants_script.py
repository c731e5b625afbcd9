"""The variants that `benchmarks/variants.py` simulates."""

from dna_bigbird.genome import Genome
from dna_bigbird.genome.variants import read_vcf
from dna_bigbird.prediction.variants.sites import VariantSites


def test_simulated_variants_fit_their_genome(script, tmp_path):
    genome = Genome(script("corpus").simulate(tmp_path / "simulated.fa", mbp=0.05))
    vcf = script("variants").simulate_variants(tmp_path / "variants.vcf", genome, 200)
    sites = VariantSites(vcf, genome, window_bp=100, must_be_sorted=True)
    sites.check()
    assert (sites.records, sites.alleles, sites.skipped) == (200, 200, {})
    lengths = {len(v.alts[0]) - len(v.ref) for v in read_vcf(vcf)}
    assert lengths == {0, 4, -3}
    assert all(v.ref != v.alts[0] for v in read_vcf(vcf))
