"""Haplotypes against bcftools, with its chain of coordinates."""

import numpy as np
import pysam
import pysam.bcftools
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.genome.haplotypes import Call, Change, Haplotype, calls_of, sample_columns
from dna_bigbird.genome.variants import Variant, VcfHeader, open_vcf

HEADER = (
    '##fileformat=VCFv4.2\n##contig=<ID=chr1,length={}>\n##FORMAT=<ID=GT,Number=1,Type=String,Description="x">\n'
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{}\n"
)


def draw_records(bases, rng, samples):
    """Substitutions, insertions and deletions, apart by at least one base, with phased genotypes."""
    pos, lines = 2, []
    while (pos := pos + int(rng.integers(2, 40))) < len(bases) - 30:
        size = int(rng.integers(1, 9))
        ref = bases[pos - 1 : pos - 1 + size]
        alt = "".join(rng.choice(list("ACGT"), int(rng.integers(1, 9))))
        if len(ref) != len(alt):
            alt = ref[0] + alt[1:]
        if alt == ref:
            continue
        calls = "\t".join("|".join(map(str, rng.integers(0, 2, 2))) for _ in range(samples))
        lines.append(f"chr1\t{pos}\t.\t{ref}\t{alt}\t.\t.\t.\tGT\t{calls}\n")
        pos += size
    return lines


def consensus(fasta, vcf, sample, number, chain):
    """The whole haplotype, and pairs (base of the reference, base of the haplotype) of unchanged blocks."""
    text = pysam.bcftools.consensus(
        "-f", str(fasta), "-s", sample, "-H", str(number), "-c", str(chain), str(vcf)
    )
    bases = "".join(text.splitlines()[1:])
    pairs, here, there = [], 0, 0
    for line in chain.read_text().splitlines()[1:]:
        numbers = [int(x) for x in line.split()]
        if numbers:
            pairs += [(here + i, there + i) for i in range(numbers[0])]
            here, there = (
                x + numbers[0] + step
                for x, step in zip((here, there), numbers[1:] or (0, 0), strict=True)
            )
    return bases, pairs


def test_200_haplotypes_are_those_of_bcftools(tmp_path, random_dna):
    """Bases and, through indels, coordinates: of 100 samples of four genomes."""
    compared = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        bases = random_dna(1500, seed)
        fasta, vcf = tmp_path / f"{seed}.fa", tmp_path / f"{seed}.vcf"
        fasta.write_text(f">chr1\n{bases}\n")
        names = [f"S{i}" for i in range(25)]
        vcf.write_text(
            HEADER.format(len(bases), "\t".join(names)) + "".join(draw_records(bases, rng, 25))
        )
        packed = tmp_path / f"{seed}.vcf.gz"
        pysam.tabix_compress(str(vcf), str(packed))
        pysam.tabix_index(str(packed), preset="vcf")
        genome = Genome(fasta)
        with open_vcf(vcf) as (header, variants):
            columns = sample_columns(header, "x.vcf")
            records = [(x, [*calls_of(x, columns, "error", "x.vcf")]) for x in variants]
        for column, name in enumerate(names):
            for number in (1, 2):
                changes = [
                    Change(v.interval.start, v.interval.end, v.alts[0])
                    for v, calls in records
                    if calls[column][number - 1]
                ]
                found = Haplotype(genome, "chr1", changes)
                expected, pairs = consensus(fasta, packed, name, number, tmp_path / "x.chain")
                assert found.fetch(0, len(expected)) == expected
                assert found.fetch(-2, len(expected) + 3) == f"NN{expected}NNN"
                for _ in range(20):
                    start, end = sorted(rng.integers(0, len(expected), 2).tolist())
                    assert found.fetch(start, end) == expected[start:end]
                changed = {i for x in changes for i in range(x.start, x.end)}
                pairs = [x for x in pairs if x[0] not in changed]
                assert len(pairs) > 500
                assert [found.position(x) for x, _ in pairs] == [x for _, x in pairs]
                assert [found.reference(x) for _, x in pairs] == [x for x, _ in pairs]
                compared += 1
    assert compared == 200


def record(calls, keys="GT:PS"):
    line = "\t".join(["chr1", "5", ".", "A", "C,G", ".", ".", ".", keys, *calls])
    return Variant("chr1", 5, ".", "A", ("C", "G"), 7, line)


def test_genotypes():
    names = {name: 9 + i for i, name in enumerate("abcdefgh")}
    variant = record(["0|1", "1|1:9", "2|1:8", ".|2", "./.", "1", "2/2", "."])
    assert [*calls_of(variant, names, "error", "x.vcf")] == [
        Call(0, 1, "phased"), Call(1, 1, ""), Call(2, 1, "8"), Call(0, 2, "phased"),
        Call(0, 0, ""), Call(1, 1, ""), Call(2, 2, ""), Call(0, 0, ""),
    ]  # fmt: skip
    assert [*calls_of(record(["9"], "DP"), {"a": 9}, "error", "x.vcf")] == [Call(0, 0, "")]


def test_genotypes_without_phase():
    variant, names = record(["0/1", "1/2"]), {"a": 9, "b": 10}
    assert [*calls_of(variant, names, "reference", "x.vcf")] == [Call(0, 0, "")] * 2
    assert [*calls_of(variant, names, "both", "x.vcf")] == [Call(1, 1, ""), Call(1, 2, "")]
    with pytest.raises(InputError, match=r"x.vcf:7: GT of a is 0/1, heterozygous without phase"):
        list(calls_of(variant, names, "error", "x.vcf"))


@pytest.mark.parametrize("call", ["0|3", "0|1|1", "x|1", "", "-1|0"])
def test_wrong_genotypes(call):
    with pytest.raises(InputError, match=r"x.vcf:7: GT of a is"):
        list(calls_of(record([call]), {"a": 9}, "both", "x.vcf"))


def test_samples_by_name():
    header = VcfHeader(("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tNA1\tNA2",))
    assert sample_columns(header, "x.vcf") == {"NA1": 9, "NA2": 10}
    assert sample_columns(header, "x.vcf", "NA2") == {"NA2": 10}
    with pytest.raises(InputError, match=r"sample NA3: x.vcf has no such sample; it has NA1, NA2"):
        sample_columns(header, "x.vcf", "NA3")
    with pytest.raises(InputError, match=r"x.vcf: no column of a sample"):
        sample_columns(VcfHeader(("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO",)), "x.vcf")


def test_changes_that_overlap(tmp_path):
    (tmp_path / "toy.fa").write_text(">chr1\nAACCGGTTAC\n")
    changes = [Change(2, 5, ""), Change(4, 6, "T"), Change(5, 5, "A"), Change(5, 5, "C")]
    haplotype = Haplotype(Genome(tmp_path / "toy.fa"), "chr1", changes)
    assert haplotype.changes == [changes[0], changes[2]]
    assert haplotype.fetch(0, 8) == "AAAGTTAC"
