"""`--quiet` and `--verbose` change what is said on standard error, and no result."""

import re
from pathlib import Path

import pytest

from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import parsers_of

USED = r"dna-bigbird: time: [\d.]+ s; processor: [\d.]+ s; peak memory: [\d,]+ MiB\n"


@pytest.fixture
def fasta(tmp_path) -> Path:
    path = tmp_path / "a.fa"
    path.write_text(f">a\n{'ACGT' * 75}\n")
    return path


def run(capsys, *argv: object) -> tuple[str, str]:
    main([str(word) for word in argv])
    return capsys.readouterr()


@pytest.mark.parametrize("switches", [["--quiet"], ["-q"]])
def test_quiet_shows_no_notes_and_the_same_result(fasta, capsys, switches):
    loud = run(capsys, "predict", "--fasta", fasta)
    assert loud.err.startswith("dna-bigbird: note: no --model given")
    for argv in (
        [*switches, "predict", "--fasta", fasta],
        ["predict", *switches, "--fasta", fasta],
    ):
        assert run(capsys, *argv) == (loud.out, "")


def test_quiet_shows_errors(fasta, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["predict", "-q", "--fasta", f"{fasta}.gone"])
    assert capsys.readouterr().err == f"dna-bigbird: error: {fasta}.gone: no such file\n"
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["predict", "-q", "--fsta", "x"])
    assert "unknown option --fsta" in capsys.readouterr().err


def test_quiet_shows_a_summary_only_where_it_is_the_result(fasta, tmp_path, capsys):
    words = ["genome", "--inputs", fasta, "--assembly", "toy", "-o", tmp_path / "g.fa"]
    assert "g.fa" in run(capsys, *words).out
    assert run(capsys, *words, "--quiet") == ("", "")
    assert run(capsys, "info", "-q").out == run(capsys, "info").out != ""


def test_verbose_shows_times_and_memory(fasta, capsys):
    loud = run(capsys, "predict", "--fasta", fasta)
    for switch in ("--verbose", "-v"):
        out, err = run(capsys, "predict", switch, "--fasta", fasta)
        assert out == loud.out
        assert re.fullmatch(re.escape(loud.err) + USED, err)


def test_verbose_shows_the_traceback_of_an_error(fasta, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["predict", "-v", "--fasta", f"{fasta}.gone"])
    lines = capsys.readouterr().err.splitlines(keepends=True)
    assert lines[0] == "Traceback (most recent call last):\n"
    assert re.fullmatch(USED, lines[-2])
    assert lines[-1] == f"dna-bigbird: error: {fasta}.gone: no such file\n"


def test_files_do_not_record_the_switches(fasta, tmp_path, capsys):
    """Also the state of an interrupted run goes on with other switches."""
    files = []
    for switch in ("--quiet", "--verbose", "--resume"):
        file = tmp_path / f"{switch.strip('-')}.h5"
        run(capsys, "predict", switch, "--fasta", fasta, "--output", file)
        files.append(file.read_bytes())
    assert files[1:] == files[:1] * 2


def test_print_config_does_not_contain_them(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["predict", "--fasta", "x", "--print_config", "-q"])
    text = capsys.readouterr().out
    assert "fasta: x" in text
    assert "quiet" not in text
    assert "SUPPRESS" not in text


@pytest.mark.parametrize("command", list(every_command()))
def test_every_command_has_them(command):
    for parser in parsers_of(command):
        assert {"q", "quiet", "v", "verbose"} <= parser.option_names


def test_quiet_is_quiet_below_python_too(fasta, tmp_path, capfd):
    """Libraries that write to descriptor 2."""
    output = tmp_path / "m.tsv"
    words = ["mutagenesis", "--genome", fasta, "--region", "a:100-104", "-q", "-o", output]
    main([str(word) for word in words])
    assert capfd.readouterr() == ("", "")
    assert output.stat().st_size
