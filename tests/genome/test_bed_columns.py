"""BED as columns: the same rows as the strict reader gives, and its errors, whatever the file."""

import gzip

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import bed
from dna_bigbird.genome.bed import read_bed, read_columns


def columns(path):
    found = read_columns(path)
    return [
        (found.chromosomes[c], s, e, found.names[n])
        for c, s, e, n in zip(
            found.chrom, found.start.tolist(), found.end.tolist(), found.name, strict=True
        )
    ]


def strict(path):
    return [(r.interval.chrom, r.interval.start, r.interval.end, r.name) for r in read_bed(path)]


def outcome(reader, path):
    """The rows, or what is said instead."""
    try:
        return reader(path)
    except InputError as error:
        return str(error)


def narrow_peaks(count, seed=0):
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 250_000_000, count)
    end = start + rng.integers(1, 5000, count)
    return "".join(
        f"chr{c}\t{s}\t{e}\t{n}\t{v}\t{x}\t1.5\t-1\t4.2\t{v}\n"
        for c, s, e, n, v, x in zip(
            rng.choice(["1", "22", "X", "6_apd_hap1"], count),
            start,
            end,
            rng.choice([".", "CTCF", "NF-YA", "EP300_(SC-584)"], count),
            rng.integers(0, 1001, count),
            rng.choice(list("+-."), count),
            strict=True,
        )
    )


REGULAR = {
    "three columns": "chr1\t0\t1\nchr10\t5\t4000000000\n",
    "no line end at the end": "chr1\t0\t1\nchr2\t5\t9",
    "leading zeros": "chr1\t007\t0010\n",
    "narrowPeak": narrow_peaks(300),
}
ODD = {
    "header": "#chrom\tstart\tend\nchr1\t0\t1\n",
    "track line": "track name=x\nchr1\t0\t1\n",
    "tabs in a track line": "track\t1\t2\nchr1\t0\t1\n",
    "comment of three columns": "#chr1\t0\t1\nchr1\t5\t6\n",
    "CRLF": "chr1\t0\t1\r\nchr1\t5\t6\r\n",
    "CR": "chr1\t0\t1\rchr1\t5\t6\r",
    "blanks": "chr1 0 1\nchr1 5 6\n",
    "blank line": "chr1\t0\t1\n\nchr1\t5\t6\n",
    "columns differ": "chr1\t0\t1\tx\nchr1\t5\t6\n",
    "columns add up": "chr1\t0\t1\tx\nchr1\t5\nchr1\t5\t6\n",
    "blank at a number": "chr1\t 0\t1\nchr1\t5\t6\n",
    "sign": "chr1\t+3\t5\n",
    "underscore": "chr1\t1_000\t1_001\n",
    "no name": "chr1\t0\t1\t\tx\n",
    "not ASCII": "chr1\t0\t1\tä\n",
    "trailing tabs": "chr1\t0\t1\t\t\n",
    "long name": f"chr1\t0\t1\t{'x' * 80}\n",
    "no strand": "chr1\t0\t1\tx\t0\t\n",
    "wrong strand": "chr1\t0\t1\tx\t0\t*\n",
    "negative": "chr1\t-1\t1\n",
    "empty row": "chr1\t5\t5\n",
    "backwards": "chr1\t5\t6\nchr1\t9\t6\n",
    "letters": "chr1\tfive\t6\n",
    "huge": "chr1\t5\t123456789012345\n",
    "nothing": "",
    "only comments": "# x\n",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", [*REGULAR, *ODD])
def test_the_strict_readers_rows_or_its_error(tmp_path, name, packed):
    path = tmp_path / "x.bed"
    content = (REGULAR | ODD)[name].encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    assert outcome(columns, path) == outcome(strict, path)


@pytest.mark.parametrize("name", REGULAR)
def test_a_regular_file_is_not_read_row_by_row(tmp_path, monkeypatch, name):
    (tmp_path / "x.bed").write_text(REGULAR[name])
    monkeypatch.delattr(bed, "read_bed")
    assert len(read_columns(tmp_path / "x.bed")) == REGULAR[name].rstrip("\n").count("\n") + 1


@pytest.mark.parametrize("seed", range(30))
def test_a_changed_byte_changes_both_readers_alike(tmp_path, seed):
    """One byte of a regular file becomes another one, 20 times a seed."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "x.bed"
    for _ in range(20):
        content = bytearray(narrow_peaks(4, seed).encode())
        content[rng.integers(len(content))] = rng.choice(list(b"\t\n\r #0-+.a:_\x00\x85\xc3"))
        path.write_bytes(content)
        assert outcome(columns, path) == outcome(strict, path)


def test_damaged_gzip_and_missing_files(tmp_path):
    with pytest.raises(InputError, match=r"gone\.bed: no such file"):
        read_columns(tmp_path / "gone.bed")
    whole = gzip.compress(narrow_peaks(200).encode())
    (tmp_path / "cut.gz").write_bytes(whole[:-200])
    with pytest.raises(InputError, match=r"cut\.gz: the gzip stream ends in the middle"):
        read_columns(tmp_path / "cut.gz")


def test_real_peak_files(real_data):
    for path in sorted((real_data / "chromatin").glob("encode_*.bed.gz")):
        assert columns(path) == strict(path)
