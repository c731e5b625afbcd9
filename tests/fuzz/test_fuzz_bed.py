"""Any bytes as BED on a good genome: rows for exactly the intervals, or one line of error."""

import gzip
import math
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird import load_bundle
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from tests.fuzz.harness import EXACT, bounded, many, run, run_to_file
from tests.fuzz.inputs import beds, damaged

WINDOW = 40
WHOLE_NUMBER = re.compile(r"[0-9]+")


def plain_bed(
    content: bytes, genome: dict[str, str]
) -> list[tuple[str, int, int, str, str]] | None:
    """Chromosome, start, end, strand and name of every row; None if it is no BED file on the genome."""
    rows = []
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except (ValueError, EOFError, OSError, zlib.error):
        return None
    names = {alias: name for name in genome for alias in (name, name.removeprefix("chr"))}
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = line.strip()
        if not line or line.startswith("#") or line.split()[0] in ("track", "browser"):
            continue
        fields = [x.strip() for x in line.split("\t")] if "\t" in line else line.split()
        if len(fields) < 3 or fields[0] not in names:
            return None
        if not all(WHOLE_NUMBER.fullmatch(x) and len(x) < 12 for x in fields[1:3]):
            return None
        start, end = map(int, fields[1:3])
        strand = fields[5] if len(fields) > 5 else "."
        if not 0 <= start < end <= len(genome[names[fields[0]]]) or strand not in list("+-."):
            return None
        rows.append((names[fields[0]], start, end, strand, (fields[3:4] or ["."])[0]))
    return rows or None


def windows_of(start: int, end: int, strand: str) -> list[tuple[int, int]]:
    """Windows of an interval in the direction it is read, the last one moved back inside."""
    size = min(WINDOW, end - start)
    if strand == "-":
        lefts = [max(start, right - size) for right in range(end, start, -WINDOW)]
    else:
        lefts = [min(left, end - size) for left in range(start, end, WINDOW)]
    return [(left, left + size) for left in lefts]


@pytest.fixture(scope="module")
def check(tiny_model, genome, genome_file, folders):
    read, written = folders
    bundle = load_bundle(tiny_model)
    scorers = {
        strand: Predictor(bundle, strand=strand, compute=Compute(precision="32-true")).probabilities
        for strand in ("both", "forward")
    }
    flip = str.maketrans("ACGTN", "TGCAN")

    def check_bed(content: bytes, by_strand: bool = False, to_file: bool = True):
        path = read / "x.bed"
        path.write_bytes(content)
        argv = ["predict", "--model", tiny_model, "--fasta", genome_file, *EXACT]
        argv += ["--strand", "interval" if by_strand else "both"]
        if to_file:
            output = written / "x.tsv"
            outcome = run_to_file(*argv, "--bed", path, output=output)
            text = output.read_text() if outcome.status == 0 else ""
            source = "x.bed"
        else:
            outcome = run(*argv, "--bed", "-", stdin=content)
            text, source = outcome.out, "standard input"
        if outcome.status == 2:
            assert source in outcome.error
            return outcome
        rows = plain_bed(content, genome)
        assert rows is not None, "an answer for what is no BED file on this genome"
        is_named = any(row[4] not in ("", ".") for row in (rows if to_file else rows[:1]))
        expected, bases = [], []
        for chrom, start, end, strand, name in rows:
            strand = strand if by_strand else "+"
            for left, right in windows_of(start, end, strand):
                expected.append((chrom, left, right, *([name] if is_named else [])))
                forward = genome[chrom][left:right].upper()
                bases.append(forward.translate(flip)[::-1] if strand == "-" else forward)
        lines = text.split("\n")
        assert lines[0] == "sequence\tstart\tend\tCTCF\tDNase" + "\tname" * is_named
        found = [line.split("\t") for line in lines[1:-1]]
        assert [(x[0], int(x[1]), int(x[2]), *map(str.strip, x[5:])) for x in found] == expected
        wanted = scorers["forward" if by_strand else "both"](bases)
        for row, values in zip(found, wanted, strict=True):
            for printed, value in zip(map(float, row[3:5]), values, strict=True):
                assert math.isnan(value) == math.isnan(printed)
                assert math.isnan(value) or abs(printed - value) < 1e-4
        return outcome

    return check_bed


@bounded(40)
@given(data=st.data(), by_strand=st.booleans(), to_file=st.booleans())
def test_every_good_file_is_answered(check, genome, data, by_strand, to_file):
    content = data.draw(beds({name: len(bases) for name, bases in genome.items()}))
    assert check(content, by_strand, to_file).status == 0


def files(genome):
    lengths = {name: len(bases) for name, bases in genome.items()}
    return damaged(st.one_of(beds(lengths), beds(lengths, reach=3)))


@bounded(150)
@given(data=st.data(), by_strand=st.booleans(), to_file=st.booleans())
def test_any_file(check, genome, data, by_strand, to_file):
    check(data.draw(files(genome)), by_strand, to_file)


@pytest.mark.slow
def test_thousands_of_files(check, genome, start):
    many(check, files(genome), st.booleans(), st.booleans(), examples=3000, start=start)
