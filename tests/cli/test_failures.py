"""What no command expects is one line too: files, memory, closed streams, faults of the program."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from dna_bigbird.bundles import info as info_module
from dna_bigbird.cli.failures import explain
from dna_bigbird.cli.main import main
from dna_bigbird.core.paths import InputPath


def run(*argv: object, **streams) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "dna_bigbird", *map(str, argv)], text=True, check=False, **streams
    )


def shell(redirection: str, *argv: object) -> subprocess.CompletedProcess:
    """Run the command with a redirection of a shell."""
    command = f'"$@" {redirection}'
    words = [sys.executable, "-m", "dna_bigbird", *map(str, argv)]
    return subprocess.run(
        ["bash", "-c", command, "bash", *words], capture_output=True, text=True, check=False
    )


@pytest.fixture
def failing_info(monkeypatch):
    """`dna-bigbird info` raises what the test wants."""

    def fail(error):
        def info(
            path: InputPath,
            format: Literal["text", "json"] = "text",
            labels: str | None = None,
            verify: bool = False,
        ) -> None:
            """Fail.

            Args:
                path: Not read.
                format: Not read.
                labels: Not read.
                verify: Not read.
            """
            raise error

        monkeypatch.setattr(info_module, "info", info)

    return fail


def line_of(capsys) -> str:
    error = capsys.readouterr().err
    assert error.startswith("dna-bigbird: error: ")
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (PermissionError(errno.EACCES, "x", "a.fa"), 2, "a.fa: no permission; see: ls -ld a.fa"),
        (OSError(errno.ENOSPC, "x", "out"), 2, "out: no space left; see: df -h out"),
        (OSError(errno.ENOTNAM, "strange", "out"), 2, "out: strange"),
        (MemoryError(), 2, "not enough memory; use a smaller batch_size"),
        (OSError(errno.ENOMEM, "x"), 2, "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 2, "not enough memory"),
        (KeyError("encoder"), 1, "unexpected KeyError (test_failures.py:"),
        (RuntimeError("shapes differ"), 1, "please report it with the command"),
    ],
)
def test_any_error_is_one_line(failing_info, capsys, monkeypatch, error, status, text):
    failing_info(error)
    with pytest.raises(SystemExit, match=str(status)):
        main(["info", "x"])
    assert text in line_of(capsys)
    monkeypatch.setenv("DNA_BIGBIRD_TRACEBACK", "1")
    with pytest.raises(type(error), match=re.escape(str(error)) or "^$"):
        main(["info", "x"])


def test_files_are_the_users_to_change_and_faults_are_not():
    assert explain(FileNotFoundError(errno.ENOENT, "x", "a"))[1] == 2
    assert explain(ZeroDivisionError())[1] == 1


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["predict", "--help"], ["info"]])
def test_standard_output_that_is_full_or_closed(argv):
    for redirection, reason in ((">/dev/full", "No space left"), (">&-", "Bad file descriptor")):
        done = shell(redirection, *argv)
        assert done.returncode == 2, redirection
        assert f"standard output: cannot write to it: {reason}" in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


def test_closed_standard_input(tiny_fasta):
    done = shell("<&-", "predict", "--fasta", "-")
    assert done.returncode == 2
    assert done.stderr.endswith(
        "error: standard input is closed; send the data to it, or name a file\n"
    )
    done = shell("<&-", "predict", "--fasta", tiny_fasta, "--batch_size", "1")
    assert done.returncode == 0, done.stderr


def test_closed_standard_error_does_not_move_messages_into_the_output(tiny_fasta, tmp_path):
    """A file that is opened must not become descriptor 2 either."""
    done = shell("2>&-", "predict", "--fasta", tiny_fasta, "--output", tmp_path / "scores.tsv")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "scores.tsv").read_text().startswith("sequence\tstart\tend\t")
    done = shell("2>&-", "predict", "--fasta", tmp_path / "missing.fa")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.fixture
def tiny_fasta(tmp_path) -> Path:
    path = tmp_path / "tiny.fa"
    path.write_text(f">a\n{'ACGT' * 75}\n")
    return path


def test_dev_stdout_is_standard_output(tiny_fasta, tmp_path):
    """As root it used to replace the system's file of that name."""
    before = os.readlink("/dev/stdout")
    into = tmp_path / "scores.tsv"
    plain = run("predict", "--fasta", tiny_fasta, capture_output=True).stdout
    with open(into, "w") as stream:
        done = run("predict", "--fasta", tiny_fasta, "--output", "/dev/stdout", stdout=stream)
    assert done.returncode == 0
    assert into.read_text() == plain
    assert plain.count("\n") == 2
    assert os.readlink("/dev/stdout") == before


def test_an_output_that_is_a_link_stays_one(tiny_fasta, tmp_path):
    (tmp_path / "link.tsv").symlink_to("real.tsv")
    main(["predict", "--fasta", str(tiny_fasta), "--output", str(tmp_path / "link.tsv")])
    assert (tmp_path / "link.tsv").is_symlink()
    assert (tmp_path / "real.tsv").read_text().startswith("sequence\t")


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_what_must_be_a_file_is_not_sent_to_standard_output(tiny_fasta, name, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["embed", "--fasta", str(tiny_fasta), "--output", name])
    assert f"--output {name}: this is written to a file, not to standard output" in line_of(capsys)


def test_standard_output_that_is_an_input(tiny_fasta):
    before = tiny_fasta.read_bytes()
    with open(tiny_fasta, "a") as stream:
        done = run("predict", "--fasta", tiny_fasta, stdout=stream, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "standard output is the input --fasta" in done.stderr
    assert tiny_fasta.read_bytes() == before


@pytest.mark.parametrize("behind", [True, False])
def test_the_command_line_wins_over_a_config_file(tiny_fasta, tmp_path, capsys, behind):
    config = tmp_path / "options.yaml"
    config.write_text("fasta: missing.fa\nwindow: 100\nstride: 50\n")
    own = ["--fasta", str(tiny_fasta), "--window", "300"]
    options = ["--config", str(config)]
    main(["predict", *(own + options if behind else options + own)])
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split("\t")[:3] for row in rows] == [["a", "0", "300"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"fasta: caf\xe9\n", "not text in UTF-8 (byte 0xe9 at 10)"),
        (b"a: 1\nfasta: [x\n", r":3: not YAML"),
        (b"- fasta\n", "expected settings as `key: value`, found a list"),
        (None, "no such file"),
    ],
)
def test_a_config_file_that_cannot_be_read(tmp_path, capsys, content, message):
    config = tmp_path / "options.yaml"
    if content is not None:
        config.write_bytes(content)
    with pytest.raises(SystemExit, match="2"):
        main(["predict", "--config", str(config)])
    error = line_of(capsys)
    assert str(config) in error
    assert message in error


def test_a_description_of_data_that_is_not_utf8(tmp_path, capsys):
    spec = tmp_path / "spec.yaml"
    spec.write_bytes(b"name: caf\xe9\n")
    with pytest.raises(SystemExit, match="2"):
        main(["fetch", "--spec", str(spec), "--output", str(tmp_path / "out")])
    assert f"{spec}: this is not text in UTF-8" in line_of(capsys)
