"""Reading VCF: what is understood, and one line for what is not."""

import gzip
import io

import pysam
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import variants
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.variants import open_vcf, read_vcf

NAMES = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
HEADER = f"##fileformat=VCFv4.2\n{NAMES}\n"
RECORD = "chr1\t100\trs1\tA\tG\t.\tPASS\tDP=3"


@pytest.fixture
def write(tmp_path):
    def _write(text, name="variants.vcf"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return _write


def test_a_record_in_both_coordinate_systems(write):
    (variant,) = read_vcf(write(HEADER + "22\t100\trs1\tacn\tA,<DEL>\t.\t.\t.\n"))
    assert (variant.chrom, variant.pos, variant.id) == ("22", 100, "rs1")
    assert (variant.ref, variant.alts) == ("ACN", ("A", "<DEL>"))
    assert variant.interval == Interval("22", 99, 102)
    assert (variant.line, variant.text) == (3, "22\t100\trs1\tacn\tA,<DEL>\t.\t.\t.")


def test_no_alternative_allele(write):
    (variant,) = read_vcf(write(HEADER + "1\t5\t.\tA\t.\t.\t.\t.\n"))
    assert variant.alts == ()


def test_any_compression_and_line_end(write, tmp_path):
    text = HEADER + RECORD + "\n\n" + RECORD.replace("100", "101") + "\n"
    plain = list(read_vcf(write(text)))
    assert [v.pos for v in plain] == [100, 101]
    assert [v.line for v in plain] == [3, 5]
    assert list(read_vcf(write(gzip.compress(text.encode()), "a.vcf.gz"))) == plain
    assert list(read_vcf(write(text.replace("\n", "\r\n"), "crlf.vcf"))) == plain
    with pysam.BGZFile(str(tmp_path / "b.vcf.gz"), "w") as stream:
        stream.write(text.encode())
    assert list(read_vcf(tmp_path / "b.vcf.gz")) == plain


def test_standard_input(write, monkeypatch):
    class Stdin:
        buffer = io.BytesIO((HEADER + RECORD + "\n").encode())

    monkeypatch.setattr("sys.stdin", Stdin())
    assert [v.pos for v in read_vcf("-")] == [100]


def test_a_byte_order_mark_is_no_text(write):
    assert len(list(read_vcf(write("\ufeff" + HEADER + RECORD + "\n")))) == 1


def test_what_the_header_declares(write):
    header = (
        '##contig=<ID=1,length=249250621,assembly="b37">\n##contig=<ID=GL000.1>\n'
        '##INFO=<ID=DP,Number=1,Type=Integer,Description="ID=no, length=5">\n'
    )
    with open_vcf(write("##fileformat=VCFv4.2\n" + header + NAMES + "\n")) as (found, records):
        assert found.contig_lengths == {"1": 249250621}
        assert found.info_ids == {"DP"}
        assert found.num_columns == 8
        assert list(records) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"variants.vcf: the file is empty; expected a VCF file"),
        (RECORD + "\n", r"variants.vcf:1: there is no header; expected #CHROM POS .* found 'chr1"),
        ("##fileformat=VCFv4.2\n" + RECORD, r"vcf:2: the header has no line of column names; exp"),
        ("##fileformat=VCFv4.2\n", r"variants.vcf: the file ends in its header"),
        (HEADER.replace("\t", " "), r"vcf:2: the column names are separated by blanks; VCF has tabs"),
        (HEADER.replace("\tALT", ""), r"vcf:2: the columns are '#CHROM POS ID REF QUAL .*, expected"),
        (">chr1\nACGT\n", r"variants.vcf:1: expected a VCF file, and this looks like a FASTA file"),
        (HEADER + RECORD.replace("\t", " "), r"vcf:3: 1 column, the header has 8. Are there blanks"),
        (HEADER + "chr1\t100\n", r"variants.vcf:3: 2 columns, the header has 8\.$"),
        (HEADER + RECORD + "\tGT", r"variants.vcf:3: 9 columns, the header has 8\."),
        (HEADER + RECORD.replace("100", "-5"), r"vcf:3: POS is '-5'; expected a whole number"),
        (HEADER + RECORD.replace("100", "1e3"), r"vcf:3: POS is '1e3'; expected a whole number"),
        (HEADER + RECORD.replace("100", "9" * 5000), r"vcf:3: POS is '9+\.\.\.'; expected a whole"),
        (HEADER + RECORD.replace("100", "٣"), r"vcf:3: POS is '٣'; expected a whole number"),
        (HEADER + RECORD.replace("\tA\t", "\t\t"), r"vcf:3: REF is empty; expected at least one"),
        (HEADER + RECORD.replace("\tA\t", "\tA*\t"), r"vcf:3: REF is 'A\*': '\*' at position 2 is"),
        (HEADER + RECORD.replace("\tG\t", "\t\t"), r"vcf:3: ALT is '', with an empty allele"),
        (HEADER + RECORD.replace("\tG\t", "\tG,,T\t"), r"vcf:3: ALT is 'G,,T', with an empty"),
        (HEADER + RECORD.replace("chr1", ""), r"vcf:3: CHROM is ''; expected the name of a chrom"),
        (HEADER + RECORD.replace("PASS", "PA\0S"), r"variants.vcf:3: .*NUL"),
        ((HEADER + RECORD).encode("utf-16"), r"variants.vcf: .*UTF-16"),
    ],
)  # fmt: skip
def test_one_line_for_what_is_no_vcf(write, text, message):
    with pytest.raises(InputError, match=message) as caught:
        list(read_vcf(write(text)))
    assert "\n" not in str(caught.value)


def test_bcf_is_named(tmp_path):
    header = pysam.VariantHeader()
    header.add_line("##contig=<ID=chr1,length=1000>")
    with pysam.VariantFile(str(tmp_path / "a.bcf"), "wb", header=header) as stream:
        stream.write(stream.new_record(contig="chr1", start=9, alleles=("A", "G")))
    with pytest.raises(InputError, match=r"a.bcf: .*BCF.*bcftools view"):
        list(read_vcf(tmp_path / "a.bcf"))


def test_a_truncated_file_is_seen(write):
    packed = gzip.compress((HEADER + RECORD + "\n").encode() * 1)
    with pytest.raises(InputError, match=r"a.vcf.gz: .*truncated"):
        list(read_vcf(write(packed[:-10], "a.vcf.gz")))


def test_a_line_without_end_does_not_fill_the_memory(write, monkeypatch):
    monkeypatch.setattr(variants, "LONGEST_LINE", 100)
    path = write(HEADER + RECORD + "\n" + RECORD + ";" * 100 + "\n")
    with pytest.raises(InputError, match=r"vcf:4: this line is longer than 100 characters"):
        list(read_vcf(path))
