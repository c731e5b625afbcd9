"""Tables are UTF-8 in every locale; files whose names are not UTF-8 are read and written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dna_bigbird.cli.failures import explain
from dna_bigbird.cli.main import main

DNA = "ACGT" * 20
LOCALES = [
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "utf-16"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LANG": "de_DE.ISO-8859-1", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
]
NAME = os.fsdecode(b"caf\xe9")
SHOWN = "caf\\udce9"


def shell(*argv: object, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "dna_bigbird", *map(os.fsencode, map(str, argv))]
    return subprocess.run(
        command, capture_output=True, env=os.environ | environment, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path) -> Path:
    """A genome, intervals, a variant and a labelled table, under names that are not UTF-8."""
    try:
        (tmp_path / f"{NAME}.fa").write_text(f">s1\n{DNA}\n")
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    (tmp_path / f"{NAME}.bed").write_text("s1\t0\t40\n")
    header = (
        "##fileformat=VCFv4.2\n##contig=<ID=s1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    )
    (tmp_path / f"{NAME}.vcf").write_text(f"{header}s1\t5\t.\tA\tC\t.\t.\t.\n")
    rows = [f"{'ACGT'[i % 4] * (i + 5)}{DNA}\t{i % 2}" for i in range(40)]
    (tmp_path / f"{NAME}.tsv").write_text("\n".join(["sequence\tlabel", *rows]) + "\n")
    return tmp_path


@pytest.mark.parametrize("environment", LOCALES, ids=lambda each: "-".join(each.values()))
def test_a_table_on_standard_output_is_utf8(tmp_path, environment):
    (tmp_path / "x.fa").write_text(f">β\n{DNA}\n", encoding="utf-8")
    done = shell("predict", "--fasta", tmp_path / "x.fa", **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("utf-8").splitlines()[1].startswith("β\t0\t80\t")


def run(*argv: object) -> None:
    main([str(each) for each in argv])


def test_predict_reads_and_writes_such_names(folder, capsys):
    fasta, bed, output = (folder / f"{NAME}.{suffix}" for suffix in ("fa", "bed", "out.csv"))
    run("predict", "--fasta", fasta, "--bed", bed, "--output", output)
    run("predict", "--fasta", fasta, "--bed", bed)
    printed, written = capsys.readouterr().out.splitlines(), output.read_text().splitlines()
    assert [line.replace(",", "\t") for line in written] == printed
    assert printed[1].startswith("s1\t0\t40\t")


@pytest.mark.parametrize("suffix", [".vcf", ".vcf.gz", ".tsv"])
def test_score_variants_reads_and_writes_such_names(folder, suffix):
    output = folder / f"{NAME}.out{suffix}"
    run(
        "score-variants",
        "--vcf",
        folder / f"{NAME}.vcf",
        "--fasta",
        folder / f"{NAME}.fa",
        "--output",
        output,
    )
    assert output.stat().st_size > 0


def test_sets_and_several_values(folder, capsys):
    labelled = folder / f"{NAME}.h5"
    run("sequence-set", "--input", folder / f"{NAME}.tsv", "--output", labelled)
    run("info", labelled)
    assert "rows_read" in capsys.readouterr().out
    genome = folder / f"{NAME}.2.fa"
    run("genome", "--inputs", folder / f"{NAME}.fa", "--output", genome)
    assert genome.read_text().replace("\n", "") == f">s1{DNA}"


def test_a_file_of_options_of_such_a_name(folder, capsys):
    config = folder / f"{NAME}.yaml"
    config.write_text("window: 40\n")
    run("predict", "--config", config, "--fasta", folder / f"{NAME}.fa")
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["predict", "--fasta", f"{NAME}.absent"], f"{SHOWN}.absent: no such file"),
        (["predict", "--fasta", f"{NAME}.fa", "--output", f"{NAME}.bw"], f"{SHOWN}.bw: .*rename"),
        (["predict", "--fasta", f"{NAME}.fa", "--strand", NAME], f"--strand: found '{SHOWN}'"),
    ],
)
def test_messages_show_escapes(folder, monkeypatch, capsys, argv, message):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit, match=r"^2$"):
        main(argv)
    error = capsys.readouterr().err
    first, _, last = message.partition(".*")
    assert first in error
    assert last in error
    assert error.count("\n") == 1
    assert not list(folder.glob(".*"))


def test_a_library_that_takes_no_such_name():
    with pytest.raises(UnicodeEncodeError, match="surrogates") as raised:
        NAME.encode()
    message, status = explain(raised.value)
    assert (message.startswith(f"{NAME}: "), status) == (True, 2)
