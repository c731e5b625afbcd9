"""Any bytes as VCF on a good genome: a row for exactly the alleles, or one line of error."""

import gzip
import math
import re
import zlib

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.harness import EXACT, bounded, many, run, run_to_file
from tests.fuzz.inputs import VCF_COLUMNS, damaged, vcfs


def plain_vcf(
    content: bytes, genome: dict[str, str]
) -> list[tuple[str, str, str, str, str]] | None:
    """The first five columns, a row for each allele; None if it is no VCF file on the genome."""
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except (ValueError, EOFError, OSError, zlib.error):
        return None
    names = {alias: name for name in genome for alias in (name, name.removeprefix("chr"))}
    rows, columns = [], 0
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        fields = line.split("\t")
        if "\0" in line:
            return None
        if not columns:
            if line.startswith("##") or not line.strip():
                continue
            if not line.startswith(VCF_COLUMNS):
                return None
            columns = len(fields)
        elif line.strip():
            chrom, pos, name, ref, alts = fields[:5] if len(fields) == columns else [""] * 5
            if chrom not in names or not re.fullmatch("[0-9]{1,10}", pos) or int(pos) < 1:
                return None
            there = genome[names[chrom]][int(pos) - 1 : int(pos) - 1 + len(ref)].upper()
            as_bases = re.sub("[RYSWKMBDHV]", "N", ref.upper()).replace("U", "T")
            if not ref or there != as_bases or "" in alts.split(","):
                return None
            rows += [(chrom, pos, name, ref, alt) for alt in alts.split(",") if alts != "."]
    return rows if columns else None


@pytest.fixture(scope="module")
def check(tiny_model, genome, genome_file, folders):
    read, written = folders

    def check_vcf(content: bytes, way: str = "tsv"):
        path = read / "x.vcf"
        path.write_bytes(content)
        argv = ["score-variants", "--model", tiny_model, "--fasta", genome_file, *EXACT]
        if way == "stdin":
            outcome = run(*argv, "--vcf", "-", stdin=content)
            text, source = outcome.out, "standard input"
        else:
            output = written / f"y.{way}"
            index = [f"{output.name}.tbi", f"{output.name}.csi"]
            outcome = run_to_file(*argv, "--vcf", path, output=output, others=index)
            text = output.read_text() if way == "tsv" and outcome.status == 0 else ""
            source = "x.vcf"
        if outcome.status == 2:
            assert source in outcome.error
            return outcome
        rows = plain_vcf(content, genome)
        assert rows is not None, "an answer for what is no VCF file on this genome"
        if way in ("tsv", "stdin"):
            check_table(text.split("\n"), rows)
        else:
            check_annotated(output, rows)
        return outcome

    return check_vcf


def can_be_scored(alt: str) -> bool:
    """Spelt in bases, a symbol or a breakend."""
    return set(alt.upper()) <= set("ACGT") or bool(set(alt) & set("<[]"))


def check_table(lines: list[str], rows: list[tuple]) -> None:
    assert lines[0].split("\t")[:5] == ["chrom", "pos", "id", "ref", "alt"]
    found = [line.split("\t") for line in lines[1:-1]]
    assert [tuple(x[:5]) for x in found] == rows
    spelt = [(*row[:3], re.sub("[RYSWKMBDHV]", "N", row[3].upper()), row[4]) for row in rows]
    for (*_, ref, alt), values in zip(spelt, (x[5:] for x in found), strict=True):
        assert len(values) == 4
        for value in map(float, values):
            assert math.isnan(value) or can_be_scored(alt)
            assert value == 0 or ref != alt.upper() or math.isnan(value)


def check_annotated(path, rows: list[tuple]) -> None:
    """Read the copy with another program: as many alleles, a score of each or '.'."""
    opener = gzip.open if path.name.endswith(".gz") else open
    with opener(path, "rt", newline="\n") as text:
        lines = [line for line in text.read().split("\n") if line and not line.startswith("#")]
    alleles = 0
    for line in lines:
        fields = line.split("\t")
        alts = [] if fields[4] == "." else fields[4].split(",")
        for (chrom, pos, *_), alt in zip(rows[alleles:], alts, strict=False):
            assert (fields[0], fields[1]) == (chrom, pos)
            assert alt in fields[4]
        scores = re.findall(r"(?:^|;)BB_CTCF(?:_\d+)?_DIFF=([^;]*)", fields[7])
        assert all(len(x.split(",")) == len(alts) for x in scores)
        alleles += len(alts)
    assert alleles == len(rows)


@bounded(60)
@given(data=st.data(), way=st.sampled_from(["tsv", "vcf", "stdin"]))
def test_every_good_file_is_answered(check, genome, data, way):
    assert check(data.draw(vcfs(genome)), way).status == 0


@bounded(30)
@given(data=st.data())
def test_pysam_reads_the_annotated_copy(check, genome, folders, data):
    content = data.draw(vcfs(genome))
    assert check(content, "vcf").status == 0
    with pysam.VariantFile(str(folders[1] / "y.vcf")) as file:
        alleles = sum(len(record.alts or ()) for record in file)
    assert alleles == len(plain_vcf(content, genome))


@bounded(180)
@given(data=st.data(), way=st.sampled_from(["tsv", "vcf", "vcf.gz", "stdin"]))
def test_any_file(check, genome, data, way):
    check(data.draw(damaged(vcfs(genome))), way)


@pytest.mark.slow
def test_thousands_of_files(check, genome, start):
    ways = st.sampled_from(["tsv", "vcf", "vcf.gz", "stdin"])
    many(check, damaged(vcfs(genome)), ways, examples=3000, start=start)
