"""The command line as a whole: help, versions, one-line errors, exit status."""

import subprocess
import sys

import pytest

from dna_bigbird import __version__
from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.help import help_of
from dna_bigbird.cli.main import build_parser, main
from dna_bigbird.cli.reading import read_arguments

EVERY = list(every_command())


@pytest.mark.parametrize("command", EVERY)
def test_every_command_has_help_for_every_option(command):
    parser, _ = build_parser(command)
    text = help_of(parser)
    assert len(text) > 200
    for option in parser.options:
        assert option.help, f"{command} {option.dest} has no help text"


def test_unknown_command_is_one_line_and_status_2(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["predikt"])
    assert capsys.readouterr().err == (
        "dna-bigbird: error: unknown command 'predikt'; did you mean 'predict'? See: dna-bigbird --help\n"
    )


def test_unknown_command_of_a_group(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["text", "evaluat"])
    assert capsys.readouterr().err == (
        "dna-bigbird: error: unknown command 'text evaluat'; did you mean 'text evaluate'? "
        "See: dna-bigbird text --help\n"
    )
    main(["text"])
    assert "dna-bigbird text COMMAND" in capsys.readouterr().out


def test_unknown_option_is_one_line_and_status_2(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["predict", "--fastq", "x"])
    error = capsys.readouterr().err
    assert "fastq" in error or "fasta" in error
    assert error.count("\n") == 1
    assert error.endswith("See: dna-bigbird predict --help\n")


def test_dashes_and_underscores_are_the_same_option(capsys, tmp_path):
    for option in ("--batch-size", "--batch_size"):
        with pytest.raises(SystemExit, match="2"):
            main(["predict", "--fasta", "x", "--model", str(tmp_path / "none"), option, "-1"])
        assert "--batch_size -1" in capsys.readouterr().err


def test_a_switch_may_stand_alone():
    parser, _ = build_parser("doctor")
    for arguments, expected in (
        ([], False),
        (["--build_native"], True),
        (["--build_native", "true"], True),
        (["--build_native=false"], False),
    ):
        assert read_arguments(parser, arguments)["build_native"] is expected


def test_module_and_script_agree():
    text = subprocess.run(
        [sys.executable, "-m", "dna_bigbird", "--version"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert text == f"dna-bigbird {__version__}\n"


HELP_OF_EVERY_COMMAND = """
import contextlib, io, sys
from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.main import main
from dna_bigbird.bundles.text_tasks import tasks
trained = [f"text train --task {task}" for task in tasks()]
for name in ("", "text", *every_command(), *trained):
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main([*name.split(), "--help"])
    slow = sorted(set(sys.argv[1:]) & set(sys.modules))
    if slow:
        print(f"dna-bigbird {name} --help loads", *slow)
        break
"""
SLOW = (
    "torch", "scipy", "pytorch_lightning", "sklearn", "h5py", "pandas", "matplotlib", "transformers",
    "jinja2",
)  # fmt: skip
"""Libraries that take long to import."""


def test_help_of_every_command_loads_nothing_slow():
    done = subprocess.run(
        [sys.executable, "-c", HELP_OF_EVERY_COMMAND, *SLOW],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout + done.stderr == ""
