"""bedtools and pyfaidx repeat what decides: a difference stops the command, and nothing is written."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.labelled import shared_rows
from dna_bigbird.labelled.bedtools_check import PyfaidxGenome
from dna_bigbird.labelled.chromatin import peak_sheet
from dna_bigbird.labelled.labelled_set import LabelledData, write_labelled_set
from tests.bedtools_program import needs_bedtools


@pytest.fixture
def labelled(tmp_path):
    """Two of three rows of different splits share 399 bases."""
    letters = "".join(np.random.default_rng(0).choice(list("ACGT"), 20_000))
    (tmp_path / "genome.fa").write_text(f">chr1\n{letters}\n")
    rows = [("chr1", 3000, 0), ("chr1", 3001, 1), ("chr1", 12_000, 2)]
    data = LabelledData(
        task="promoter",
        window_bp=400,
        label_names=["promoter"],
        label_groups=["promoter"],
        intervals=[Interval(c, s, s + 400, "+") for c, s, _ in rows],
        names=["a", "b", "c"],
        labels=np.ones((3, 1), dtype=np.uint8),
        split=np.array([x[2] for x in rows], dtype=np.uint8),
    )
    genome = Genome(tmp_path / "genome.fa")
    write_labelled_set(tmp_path / "set.h5", data, genome, assembly="toy", command="", inputs={})


def search(tmp_path, capsys) -> str:
    with pytest.raises(SystemExit, match="2"):
        main(
            ["leakage", f"--genome={tmp_path / 'genome.fa'}", f"--data={tmp_path / 'set.h5'}",
             f"--output={tmp_path / 'leakage.tsv'}"]
        )  # fmt: skip
    text = capsys.readouterr().err
    assert text.count("\n") == 1, text
    return text


@needs_bedtools
def test_the_line_and_the_table_with_and_without_bedtools(labelled, tmp_path, capsys, monkeypatch):
    with_it = search(tmp_path, capsys)
    table = (tmp_path / "leakage.tsv").read_bytes()
    assert "(near_identical 1, shared_bases 1), of 3 rows" in with_it
    assert "shared bases are those of bedtools" in with_it
    monkeypatch.setenv("PATH", str(tmp_path))
    without = search(tmp_path, capsys)
    assert "shared bases not compared with bedtools, which is missing (apt-get install" in without
    assert (tmp_path / "leakage.tsv").read_bytes() == table


@needs_bedtools
def test_other_shared_bases_than_those_of_bedtools_stop_it(labelled, tmp_path, capsys, monkeypatch):
    ours = shared_rows._shared_bases

    def one_too_few(rows):
        row, other, shared = ours(rows)
        return row, other, shared - 1

    monkeypatch.setattr(shared_rows, "_shared_bases", one_too_few)
    text = search(tmp_path, capsys)
    assert "row 0 (chr1:3000-3400) shares 398 bases with a row of a split further held out" in text
    assert "and 399 as bedtools counts" in text
    assert not (tmp_path / "leakage.tsv").exists()


def test_leakage_reads_the_genome_by_pyfaidx(labelled, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        PyfaidxGenome, "_read", lambda self, chrom, start, end: b"A" * (end - start)
    )
    assert "genome.fa has other bases in its windows" in search(tmp_path, capsys)


HEADER = "label\tgroup\tcell\tpath\tprefix\n"


@pytest.fixture
def sheet(tmp_path, toy):
    """Random peaks: two files of a label each, and one with two names; `chr1` and `1` are mixed."""
    rng = np.random.default_rng(3)
    for name in ("a", "b", "many"):
        chrom = rng.choice(["chr1", "1", "chr2", "chrUn"], 150)
        start = rng.integers(0, 4_700, 150)
        rows = zip(chrom, start, start + rng.integers(20, 260, 150), strict=True)
        (tmp_path / f"{name}.bed").write_text(
            "".join(f"{c}\t{s}\t{e}\t{'xy'[s % 2]}\n" for c, s, e in rows)
        )
    text = "A\tTF\tX\ta.bed\t\nB\tTF\tX\tb.bed\t\n*\tTF\tX\tmany.bed\tm_\n*\tHM\tX\tb.bed\tn_\n"
    (tmp_path / "sheet.tsv").write_text(HEADER + text)
    return tmp_path / "sheet.tsv"


def build(tmp_path, toy, sheet, *extra):
    output = tmp_path / "set.h5"
    main([*build_line(toy, sheet, output), *extra])
    return output.read_bytes()


def build_line(toy, sheet, output):
    return [
        "chromatin-set", f"--genome={toy.path}", f"--peaks={sheet}", f"--output={output}",
        "--assembly=toy", "--window=1000", "--split.validation=[chr1:2501-3500]",
        "--split.test=[chr2]", "--allow_empty_labels=true",
    ]  # fmt: skip


@needs_bedtools
@pytest.mark.parametrize("fails", [False, True])
def test_no_temporary_file_stays(labelled, toy, sheet, tmp_path, fails):
    """After the commands that call bedtools, also if it fails; PyTorch's cache is named to be elsewhere."""
    scratch, programs = tmp_path / "scratch", tmp_path / "programs"
    scratch.mkdir()
    programs.mkdir()
    environment = os.environ | {"TMPDIR": str(scratch)}
    if fails:
        (programs / "bedtools").write_text("#!/bin/sh\nexit 1\n")
        (programs / "bedtools").chmod(0o755)
        environment["PATH"] = f"{programs}:{environment['PATH']}"
    files = [f"--{name}={tmp_path / file}" for name, file in
             (("genome", "genome.fa"), ("data", "set.h5"), ("output", "leaks.tsv"))]  # fmt: skip
    for line, status in (
        (["leakage", *files], 2),
        ([*build_line(toy, sheet, tmp_path / "new.h5"), "--check_every=1"], 2 if fails else 0),
    ):
        command = [sys.executable, "-m", "dna_bigbird", *line]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        assert "bedtools" in done.stderr
        assert list(scratch.iterdir()) == []


@needs_bedtools
@pytest.mark.parametrize("extra", [[], ["--min_positive=20"], ["--require_group=all"]])
def test_compared_labels_make_the_same_set(tmp_path, toy, sheet, capsys, extra):
    expected = build(tmp_path, toy, sheet, *extra)
    assert "bedtools" not in capsys.readouterr().err
    for every in (1, 7):
        assert build(tmp_path, toy, sheet, f"--check_every={every}", *extra) == expected
        assert "bins are those of bedtools" in capsys.readouterr().err


@needs_bedtools
def test_a_label_that_bedtools_does_not_confirm_stops_it(tmp_path, toy, sheet, capsys, monkeypatch):
    ours = peak_sheet.bins_mostly_covered

    def without_the_last(merged, bin_bp, length_bp):
        return ours(merged, bin_bp, length_bp)[:-1]

    monkeypatch.setattr(peak_sheet, "bins_mostly_covered", without_the_last)
    with pytest.raises(SystemExit, match="2"):
        build(tmp_path, toy, sheet, "--check_every=1")
    text = capsys.readouterr().err
    assert "is 0, and 1 as bedtools counts. One of the two is wrong" in text
    assert ".bed: label '" in text
    assert text.count("dna-bigbird: error: ") == 1
    assert not (tmp_path / "set.h5").exists()


@pytest.mark.parametrize(
    ("every", "message"),
    [
        (
            3,
            "--check_every 3 needs the program bedtools, which is not on the PATH: apt-get install",
        ),
        (-1, "--check_every -1"),
    ],
)
def test_what_cannot_be_compared_is_one_line_before_any_work(
    tmp_path, toy, sheet, capsys, monkeypatch, every, message
):
    monkeypatch.setenv("PATH", str(tmp_path))
    sheet.write_text("not looked at")
    with pytest.raises(SystemExit, match="2"):
        build(tmp_path, toy, sheet, f"--check_every={every}")
    text = capsys.readouterr().err
    assert text.startswith(f"dna-bigbird: error: {message}")
    assert text.count("\n") == 1
