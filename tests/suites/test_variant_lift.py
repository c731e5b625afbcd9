"""Variants on another assembly than the FASTA: real ClinVar variants with both positions, and a turned piece."""

import csv
import gzip
import re

import pytest

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import find_suite
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, reverse_complement
from tests.suites.variant_files import CHROMOSOMES, made_variants, write_table

DATASET = "mendelian_traits_matched_9"
_BOTH = re.compile(r'"GRCh38": \{[^}]*?"start": (\d+),[^}]*\}, "GRCh37": \{[^}]*?"start": (\d+),')


def clinvar(folder):
    """Return substitutions of the ClinVar sample: position on GRCh37, on GRCh38, alleles, is pathogenic."""
    csv.field_size_limit(1 << 26)
    path = folder / "variants" / "clinvar_ada2_grch37_chr22.tsv.gz"
    variants = {}
    with gzip.open(path, "rt", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            details = row["details"].replace('"""', '"')
            # A record may be about several variants.
            new = {old: new for new, old in _BOTH.findall(details)}.get(row["start"])
            if len(row["reference"]) == len(row["alternative"]) == 1 and new:
                key = int(row["start"]), row["reference"], row["alternative"]
                label = "pathogenic" in row["summary_clinvar_pathogenicity_label"]
                variants[key] = (int(new), label)
    return [(pos, new, ref, alt, label) for (pos, ref, alt), (new, label) in variants.items()]


def read(folder, genomes):
    suite = find_suite("traitgym")
    return suite.read(folder, suite.tasks(folder)[0], genomes)


def test_real_variants_are_lifted_to_where_clinvar_has_them(tmp_path, real_data):
    listed = clinvar(real_data)
    assert len(listed) > 60
    assert any(label for *_, label in listed)
    rows = [
        {"chrom": "22", "pos": new, "ref": ref, "alt": alt, "label": label, "match_group": "a"}
        for _, new, ref, alt, label in listed
    ]
    write_table(tmp_path / DATASET / "test.tsv", rows)
    genomes = Genomes(
        {"GRCh37": real_data / "genome" / "hg19_chr22_1-21000000.fa.gz"},
        chain=real_data / "chain" / "hg38ToHg19.chr17_chr22_only.over.chain.gz",
    )
    data = read(tmp_path, genomes)
    assert data.assembly == "GRCh37"
    assert data.counts == {"rows_read": len(listed)}
    assert [(row.pos, row.ref, row.alt, row.label) for row in data.rows] == [
        (pos, ref, alt, label) for pos, _, ref, alt, label in listed
    ]
    # The same table without the chain is on the wrong assembly.
    with pytest.raises(InputError, match=r"test.tsv:\d+: ref is .*rows agree. Is hg19_chr22"):
        read(tmp_path, Genomes({"GRCh38": next(iter(genomes.fastas.values()))}))


def turned(tmp_path, rows, *, swapped=0):
    """Genomes with chr1 in the other direction, and a chain to them from the toy genome."""
    second = list(CHROMOSOMES["chr2"])
    for row in rows[:swapped]:  # the base of the new assembly is another
        assert row["chrom"] == "2"
        second[row["pos"] - 1] = row["alt"]
    bases = CHROMOSOMES["chr1"]
    text = f">chr1\n{reverse_complement(bases)}\n>chr2\n{''.join(second)}\n"
    (tmp_path / "new.fa").write_text(text)
    one, two = len(bases), len(CHROMOSOMES["chr2"])
    (tmp_path / "to.chain").write_text(
        f"chain 1000 chr1 {one} + 0 {one} chr1 {one} - 0 {one} 1\n{one}\n\n"
        f"chain 1000 chr2 {two} + 0 {two} chr2 {two} + 0 {two} 2\n{two}\n\n"
    )
    return Genomes({"GRCh37": tmp_path / "new.fa"}, chain=tmp_path / "to.chain")


def test_alleles_are_complemented_where_the_strand_changes(tmp_path):
    rows = made_variants(24)
    write_table(tmp_path / DATASET / "test.tsv", rows)
    data = read(tmp_path, turned(tmp_path, rows))
    genome = Genome(tmp_path / "new.fa")
    turned_back = {"A": "T", "C": "G", "G": "C", "T": "A"}
    for row, variant in zip(rows, data.rows, strict=True):
        on_one = row["chrom"] == "1"
        pos = len(CHROMOSOMES["chr1"]) - row["pos"] + 1 if on_one else row["pos"]
        ref, alt = ((turned_back[x] if on_one else x) for x in (row["ref"], row["alt"]))
        assert (variant.pos, variant.ref, variant.alt) == (pos, ref, alt)
        assert genome.fetch(Interval(variant.chrom, pos - 1, pos)) == ref


def test_a_few_other_bases_after_the_lift_are_left_out(tmp_path):
    rows = [row for row in made_variants(60) if row["chrom"] == "2"]
    assert len({row["pos"] for row in rows}) == len(rows)
    write_table(tmp_path / DATASET / "test.tsv", rows)
    data = read(tmp_path, turned(tmp_path, rows, swapped=2))
    assert data.counts == {"rows_read": len(rows), "left_out_other_ref_after_lift": 2}
    assert len(data.rows) == len(rows) - 2
    with pytest.raises(InputError, match=r"test.tsv:2: ref is '.' at pos of 2:\d+, but new.fa has"):
        read(tmp_path, turned(tmp_path, rows, swapped=len(rows) // 2))
