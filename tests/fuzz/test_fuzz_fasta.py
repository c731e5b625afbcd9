"""Any bytes as FASTA: rows for exactly the records that are there, or one line of error."""

import gzip
import math
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird import load_bundle
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from tests.fuzz.harness import EXACT, bounded, many, run, run_to_file
from tests.fuzz.inputs import damaged, fastas

WINDOW, STRIDE = 30, 20
DNA = {**dict.fromkeys("RYSWKMBDHV", "N"), **{base: base for base in "ACGTN"}, "U": "T"}


def plain_fasta(content: bytes) -> dict[str, str] | None:
    """Records by name, read line by line and over A C G T N; None if it is no FASTA file."""
    records, name = {}, None
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (ValueError, EOFError, OSError, zlib.error):
        return None
    content = content.removeprefix(b"\xef\xbb\xbf")
    for line in content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        line = line.strip(b" \t\v\f")
        if line.startswith(b">"):
            words = line[1:].split()  # what stands behind the name may be in any encoding
            try:
                name = words[0].decode()
            except (IndexError, UnicodeDecodeError):
                return None
            if not name.isprintable() or name in records:
                return None
            records[name] = ""
        elif line:
            letters = line.upper().decode("latin-1")
            if name is None or not set(letters) <= DNA.keys():
                return None
            records[name] += "".join(DNA[base] for base in letters)
    return records if records and all(records.values()) else None


def rows_of(bases: str) -> list[tuple[int, int]]:
    """Windows by counting: every stride, and the last one moved to the end."""
    if len(bases) <= WINDOW:
        return [(0, len(bases))]
    starts = [s for s in range(0, len(bases), STRIDE) if s + WINDOW < len(bases)]
    return [(s, s + WINDOW) for s in [*starts, len(bases) - WINDOW]]


def check_rows(lines: list[str], expected: list[tuple[str, int, int, str]], scores) -> None:
    """Hold a table against windows and the scores of their bases alone."""
    assert lines[0] == "sequence\tstart\tend\tCTCF\tDNase"
    assert lines.pop() == ""
    found = [line.split("\t") for line in lines[1:]]
    assert [(x[0], int(x[1]), int(x[2])) for x in found] == [x[:3] for x in expected]
    wanted = scores([bases for *_, bases in expected])
    for row, (*_, bases), values in zip(found, expected, wanted, strict=True):
        for text, value in zip(row[3:], values, strict=True):
            assert math.isnan(value) == math.isnan(float(text)) == (not bases.strip("N"))
            assert math.isnan(value) or abs(float(text) - value) < 1e-4


@pytest.fixture(scope="module")
def check(tiny_model, folders):
    read, written = folders
    scores = Predictor(load_bundle(tiny_model), compute=Compute(precision="32-true")).probabilities

    def check_fasta(content: bytes, to_file: bool = True):
        path = read / "x.fa"
        path.write_bytes(content)
        argv = ["predict", "--model", tiny_model, "--window", WINDOW, "--stride", STRIDE, *EXACT]
        if to_file:
            output = written / "x.tsv"
            outcome = run_to_file(*argv, "--fasta", path, output=output)
            text = output.read_text() if outcome.status == 0 else ""
            source = "x.fa"
        else:
            outcome = run(*argv, "--fasta", "-", stdin=content)
            text, source = outcome.out, "standard input"
        records = plain_fasta(content)
        if outcome.status == 2:
            assert source in outcome.error
            return outcome
        assert records is not None, "an answer for what is no FASTA file"
        expected = [
            (name, start, end, bases[start:end])
            for name, bases in records.items()
            for start, end in rows_of(bases)
        ]
        check_rows(text.split("\n"), expected, scores)
        return outcome

    return check_fasta


@bounded(60)
@given(content=fastas(), to_file=st.booleans())
def test_every_good_file_is_answered(check, content, to_file):
    few_codes = all(2 * x.count("N") <= len(x) for x in plain_fasta(content).values())
    assert check(content, to_file).status == 0 or not few_codes


@bounded(200)
@given(content=damaged(fastas()), to_file=st.booleans())
def test_any_file(check, content, to_file):
    check(content, to_file)


@pytest.mark.slow
def test_thousands_of_files(check, start):
    many(check, damaged(fastas()), st.booleans(), examples=3000, start=start)
