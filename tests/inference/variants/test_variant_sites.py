"""Which records fit the genome, which alleles are scored, and what is said about the others."""

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.prediction.variants.sites import VariantSites

CHR1 = "ACGTTGCAAC" * 4 + "NNNNNNNNNN" + "acgttgcaac"  # 60 bp
CHR2 = "GATTACAGAT"
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"


@pytest.fixture
def sites_of(tmp_path):
    """Function (records, header lines) -> VariantSites over a toy genome, window 20."""
    (tmp_path / "toy.fa").write_text(f">chr1\n{CHR1}\n>chr2\n{CHR2}\n")

    def _sites(records, *header, **settings):
        lines = [f"{c}\t{p}\t.\t{r}\t{a}\t.\t.\t." for c, p, r, a in records]
        path = tmp_path / "variants.vcf"
        path.write_text("\n".join(["##fileformat=VCFv4.2", *header, COLUMNS, *lines]) + "\n")
        return VariantSites(path, Genome(tmp_path / "toy.fa"), window_bp=20, **settings)

    return _sites


def read(sites):
    with sites.open() as (_, stream):
        return list(stream)


def test_alleles_are_told_apart(sites_of):
    sites = sites_of(
        [
            ("chr1", 1, "A", "C,<DEL>,*,T"),
            ("1", 2, "CG", "C,CGGG,N"),
            ("2", 4, "T", "T]chr1:5],.A,TAAAAAAAAA,TAAAAAAAAAA"),
            ("chr2", 5, "A", "."),
        ]
    )
    assert [site.scored for site in read(sites)] == [(0, 3), (0, 1), (2, 3), ()]
    assert (sites.records, sites.alleles, sites.at_breakpoints) == (4, 11, 1)
    assert sites.skipped == {
        "symbolic": 1,
        "overlapping deletion (*)": 1,
        "other letters than A C G T": 1,
        "breakend": 2,
        "no alternative allele (.)": 1,
    }


def test_a_long_reference_allele_has_breakpoints(sites_of):
    """Its bases that change count: one base around them more or less makes no difference."""
    starts = [("chr1", 1, CHR1[:size], "A") for size in (10, 11, 12)]
    sites = sites_of(starts)
    assert [site.scored for site in read(sites)] == [(0,), (0,), (0,)]
    assert sites.at_breakpoints == 1
    only_bases = sites_of(starts, only_substitutions=True)
    assert [site.scored for site in read(only_bases)] == [(), (), ()]


def test_lower_case_and_unknown_bases_agree(sites_of):
    sites = sites_of([("chr1", 51, "ACG", "A"), ("chr1", 1, "acg", "a"), ("chr1", 40, "CNN", "C")])
    sites.check()
    assert (sites.records, sites.skipped) == (3, {})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (("chr1", 1, "T", "A"), r"vcf:3: REF is 'T' at chr1:1, but toy.fa has 'A' there\. Is the "),
        (("chr1", 41, "A", "T"), r"vcf:3: REF is 'A' at chr1:41, but toy.fa has 'N' there\."),
        (("chr1", 1, "N", "T"), r"vcf:3: REF is 'N' at chr1:1, but toy.fa has 'A' there\."),
        (("2", 11, "A", "T"), r"vcf:3: POS is 11, but chr2 has 10 bases in toy.fa\. Is the VCF on"),
        (
            ("2", 9, "ATA", "T"),
            r"vcf:3: REF has 3 bases from chr2:9 on, but chr2 ends after 2 more",
        ),
        (("chr3", 9, "A", "T"), r"vcf:3: chromosome 'chr3' is not in toy.fa \(it has chr1, chr2\)"),
    ],
)
def test_one_line_for_a_record_that_does_not_fit(sites_of, record, message):
    with pytest.raises(InputError, match=message) as caught:
        sites_of([record]).check()
    assert "\n" not in str(caught.value)


def test_such_records_can_be_left_out(sites_of):
    sites = sites_of(
        [("chr1", 1, "T", "A,C"), ("chr1", 2, "C", "A"), ("chr9", 2, "C", "A")],
        skip_mismatches=True,
    )
    assert [(site.scored, site.fits) for site in read(sites)] == [
        ((), False),
        ((0,), True),
        ((), False),
    ]
    assert sites.skipped == {"record that does not fit the genome": 3}
    assert sites.mismatches == 2


def test_many_records_left_out_ask_for_the_assembly(sites_of):
    right = [("chr1", pos, base, "GG") for pos, base in enumerate(CHR1[:18], start=1)]
    wrong = ("chr1", 1, "T", "A")
    few = sites_of([*right, wrong, wrong], skip_mismatches=True)
    few.check()
    assert few.assembly_note() is None  # a tenth is no more than a tenth
    many = sites_of([*right, wrong, wrong, ("chr7", 1, "A", "T")], skip_mismatches=True)
    many.check()
    assert many.assembly_note().endswith(
        "variants.vcf: 3 of 21 records (14%) do not fit toy.fa and are left out, 1 of them on "
        "chromosomes that it lacks. Is the VCF on another assembly?"
    )
    absent = sites_of([*right, *[("chr7", 1, "A", "T")] * 3], skip_mismatches=True)
    absent.check()
    assert absent.assembly_note().endswith("Is it the whole genome?")


def test_nothing_left_to_score(sites_of):
    wrong, symbolic = ("chr1", 1, "T", "A"), ("chr1", 1, "A", "<DEL>")
    message = (
        r"variants\.vcf: nothing is left to score: 2 of 3 records do not fit toy\.fa, the first one in "
        r"line 4: REF is 'T' at chr1:1, but toy\.fa has 'A' there\. Is the VCF on another assembly\?"
    )
    with pytest.raises(InputError, match=message):
        sites_of([symbolic, wrong, wrong], skip_mismatches=True).check()
    sites_of([symbolic], skip_mismatches=True).check()  # all records fit


def test_one_wrong_record_among_many_is_no_other_assembly(sites_of):
    right = [("chr1", pos, base, "N") for pos, base in enumerate(CHR1[:40], start=1)]
    with pytest.raises(InputError, match=r"Only 1 of 41 records .*--ref_mismatch skip"):
        sites_of([("chr1", 1, "T", "A"), *right]).check()


def test_many_wrong_records_are(sites_of):
    wrong = [
        ("chr1", pos, "T" if base == "A" else "A", "C") for pos, base in enumerate(CHR1[:40], 1)
    ]
    with pytest.raises(InputError, match=r"40 of 40 records .* Is the VCF on another assembly\?"):
        sites_of(wrong).check()


def test_lengths_in_the_header_tell_another_assembly(sites_of):
    message = r"REF is 'T'.* The header says that 2 has 9 bases, toy.fa has 10: .* another assembly"
    with pytest.raises(InputError, match=message):
        sites_of([("chr1", 1, "T", "A")], "##contig=<ID=2,length=9>").check()
    # A genome may be the first piece of the chromosome that the header means.
    with pytest.raises(InputError, match=r"Is the VCF on another assembly\?"):
        sites_of([("chr1", 1, "T", "A")], "##contig=<ID=2,length=11>").check()


def test_order_matters_to_an_index_only(sites_of):
    back = [("chr1", 5, "T", "A"), ("chr1", 5, "T", "C"), ("chr1", 4, "T", "A")]
    sites_of(back).check()
    with pytest.raises(InputError, match=r"vcf:5: chr1:4 comes after chr1:5; .* \(bcftools sort\)"):
        sites_of(back, must_be_sorted=True).check()
    torn = [("chr1", 1, "A", "C"), ("chr2", 1, "G", "A"), ("chr1", 2, "C", "A")]
    with pytest.raises(InputError, match=r"vcf:5: chr1:2 comes after other chromosomes than chr1"):
        sites_of(torn, must_be_sorted=True).check()
