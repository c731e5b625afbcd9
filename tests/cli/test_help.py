"""What `--help` shows of a docstring and a signature."""

import re
from pathlib import Path
from typing import Literal

import pytest

from dna_bigbird.cli.commands import Command, every_command, find_command
from dna_bigbird.cli.help import GENERAL, full_help, help_of
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import parser_of, parsers_of


def bake(
    flour: Path,
    salt: float = 0.5,
    form: Literal["loaf", "roll"] = "loaf",
    oven: int | None = None,
    heat: Literal["low", "high"] | None = None,
    crust: bool = True,
) -> None:
    """Bake bread.

    It takes a while, and this sentence is long enough that it has to go on in a second line.
      crumbs  stay
      where   they are

    Args:
        flour: Where it is.
        salt: Grams.
        form: Its shape.
        oven: Its number; any if not given.
        heat: As the form wants it, if not given.
        crust: Whether it has one.

    Examples:
        bake --flour mill.txt
    """


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    return help_of(parser_of(bake, Command("bakery:bake", "bake"), "bake"))


def test_the_whole_help_of_a_command(shown):
    assert (
        shown
        == """\
usage: bake --flour PATH [options]

Bake bread.

It takes a while, and this sentence is long enough that it has to go on in a
second line.
  crumbs  stay
  where   they are

options:
  --flour PATH          Where it is. (required)
  --salt X              Grams. (default: 0.5)
  --form {loaf,roll}    Its shape. (default: loaf)
  --oven N              Its number; any if not given.
  --heat {low,high}     As the form wants it, if not given.
  --crust [{true,false}]
                        Whether it has one. (default: true)

general:
  -h, --help            Show the usual options and exit; --help GROUP: those
                        of a group.
  --help_all            Show all options in full and exit.
  --config PATH         YAML file with any of the options above.
  --print_config[=flags]
                        Print all options as YAML, with the values given, and
                        exit.
  -q, --quiet           Show errors only: no notes, no progress, no summary of
                        a result in files.
  -v, --verbose         Show times and memory at the end, and the traceback of
                        an error.

examples:
    bake --flour mill.txt
"""
    )


def test_a_docstring_without_examples():
    parser = parser_of(test_a_docstring_without_examples, Command("a:b", "c"), "x")
    assert (parser.description, parser.epilog) == ("", "")


def options_shown(text):
    """The long names at the beginning of the lines of options."""
    return {
        x
        for line in re.findall(r"^  (?:-\S.*?)(?=  |$)", text, re.M)
        for x in re.findall(r"--[\w.-]+", line)
    }


def long_names(options):
    return {name for option in options for name in option.names if name.startswith("--")}


@pytest.mark.parametrize("command", [*every_command()])
def test_help_is_one_screen_with_all_required_options(command, monkeypatch):
    for columns in (80, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        for parser in parsers_of(command):
            text = help_of(parser)
            assert len(text.splitlines()) <= 60
            names = options_shown(text) - long_names(GENERAL)
            shown = {option.dest for option in parser.options if names & set(option.names)}
            assert len(shown) <= 20
            assert {o.dest for o in parser.options if o.is_required and o.names} <= shown


@pytest.mark.parametrize("command", [*every_command()])
def test_the_groups_are_all_options_each_once(command):
    for parser in parsers_of(command):
        everything = long_names(parser.options) | long_names(GENERAL)
        assert options_shown(full_help(parser)) == everything
        groups = {
            option.dest.rpartition(".")[0] or "options" for option in parser.options if option.names
        }
        parts = [options_shown(full_help(parser, group)) for group in {*groups, "general"}]
        assert set().union(*parts) == everything
        assert sum(map(len, parts)) == len(everything)


def test_help_of_a_group_and_of_all_options(capsys):
    for argv in ("--help training", "-h training", "--help=training"):
        with pytest.raises(SystemExit, match=r"^0$"):
            main(["finetune", *argv.split()])
        text = capsys.readouterr().out
        assert "--training.max_shift" in text
        assert "--model." not in text
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["finetune", "--help-all"])
    assert capsys.readouterr().out.count("--model.") >= 20


def test_an_unknown_group_is_refused_with_the_names(capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["finetune", "--help", "trainin"])
    error = capsys.readouterr().err
    assert error.startswith("dna-bigbird: error: --help trainin: ")
    assert "training" in error


@pytest.mark.parametrize("command", [*every_command()])
def test_the_usual_options_are_options(command):
    """A renamed option would vanish from --help."""
    usual = find_command(command).usual
    known = set().union(*(parser.by_dest for parser in parsers_of(command)))
    assert len(set(usual)) == len(usual)
    assert set(usual) <= known
