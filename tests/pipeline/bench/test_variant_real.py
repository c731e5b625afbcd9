"""ClinVar and 1000 Genomes variants of real chr22, in the format of BEND and on another assembly than the FASTA."""

import gzip

import numpy as np
import pytest

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.variant_task import run_variants
from dna_bigbird.genome.lift_over import read_chain
from tests.pipeline.bench.variant_runs import prepared
from tests.pretrained_bundle import write_pretrained_bundle
from tests.suites.test_variant_lift import clinvar
from tests.suites.variant_files import write_bed

SITES = "1000genomes_phase3_sites_grch37_chr22_17442913-17680545.vcf.gz"


def common_variants(folder):
    """Return position and alleles of the substitutions with a frequency above 5 %, on GRCh37."""
    with gzip.open(folder / "variants" / SITES, "rt") as stream:
        records = [line.split("\t") for line in stream if not line.startswith("#")]
    for _, pos, _, ref, alt, _, _, info, *_ in records:
        fields = dict(x.split("=", 1) for x in info.strip().split(";") if "=" in x)
        if len(ref) == len(alt) == 1 and float(fields["AF"].split(",")[0]) > 0.05:
            yield int(pos), ref, alt


@pytest.fixture
def real_run(tmp_path, real_data):
    forward = read_chain(real_data / "chain" / "hg19ToHg38.over.chain.gz")
    rows = [
        {"chrom": "22", "pos": new, "ref": ref, "alt": alt, "label": True}
        for _, new, ref, alt, is_pathogenic in clinvar(real_data)
        if is_pathogenic
    ]
    for pos, ref, alt in common_variants(real_data):
        ((_, new, strand, _),) = forward.chains.convert_coordinate("chr22", pos - 1, "+")
        assert strand == "+"
        rows.append({"chrom": "22", "pos": new + 1, "ref": ref, "alt": alt, "label": False})
    write_bed(tmp_path / "variant_effects_disease.bed", rows)
    genomes = Genomes(
        {"GRCh37": real_data / "genome" / "hg19_chr22_1-21000000.fa.gz"},
        chain=real_data / "chain" / "hg38ToHg19.chr17_chr22_only.over.chain.gz",
        pieces=True,
    )
    model = write_pretrained_bundle(tmp_path / "model")
    return rows, prepared("bend-variants", tmp_path, genomes, model, tmp_path / "parts")


def test_real_variants_are_scored(real_run, monkeypatch):
    rows, (run, data) = real_run
    monkeypatch.setattr("dna_bigbird.bench.variant_sources.COUNTED_BP", 200_000)
    assert len(rows) > 200
    assert data.counts["rows_read"] == len(rows)
    assert len(data.rows) >= 0.97 * len(rows)
    assert sum(row.label for row in data.rows) == sum(row["label"] for row in rows)
    result = run_variants(run, data)
    assert result.n["published"] == len(data.rows)
    assert result.assembly == "GRCh37"
    assert any("quarters of the only chromosome" in note for note in result.notes)
    for source in result.sources:
        score = source.scores["published"]["auroc"]
        assert 0 <= score.low <= score.value <= score.high <= 1
    assert np.isfinite(result.settings["chance"]["auprc"])
