"""What `--help` shows of a docstring and a signature."""

from pathlib import Path
from typing import Literal

import pytest

from dna_bigbird.cli.commands import Command
from dna_bigbird.cli.help import help_of
from dna_bigbird.cli.parser import parser_of


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
  -h, --help            Show this text and exit.
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
