"""The table of commands: every entry is a function, and what differs from it is used."""

import contextlib
import keyword
import sys
import types
from dataclasses import dataclass

import pytest

from dna_bigbird.cli import commands
from dna_bigbird.cli.commands import Command, every_command, find_command
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import load_function, options_of


@pytest.mark.parametrize("name", list(every_command()))
def test_every_name_in_the_table_is_a_parameter(name):
    command = find_command(name)
    parameters = {option.parameter for option in options_of(load_function(command))}
    differing = {*command.positional, *command.python_only, *command.values, *command.defaults}
    assert differing <= parameters
    assert set(command.aliases.values()) <= {parameter.rstrip("_") for parameter in parameters}
    assert not set(command.aliases) & parameters


@dataclass(frozen=True)
class Copied:
    text: str

    def summary(self) -> str:
        return self.text


def copy(source: str, times: int = 1, mark: str = "", from_: str = "", progress: bool = False):
    """Copy a text.

    Args:
        source: What to copy.
        times: How often.
        mark: Written behind it.
        from_: Who sent it.
        progress: Whether to draw a bar.
    """
    return Copied(source * times + mark + from_ + ("!" if progress else ""))


@pytest.fixture
def run(monkeypatch, capsys):
    """Function (settings of the command, arguments) -> standard output, standard error."""
    module = types.ModuleType("copying")
    module.copy = copy
    monkeypatch.setitem(sys.modules, "copying", module)

    def run(settings, *argv):
        command = Command("copying:copy", "copy a text", **settings)
        monkeypatch.setitem(commands.COMMANDS, "copy", command)
        main(["copy", *argv])
        return capsys.readouterr()

    return run


def test_the_summary_of_a_result_is_printed_unless_it_is_empty(run):
    assert run({}, "--source", "ab").out == "ab\n"
    assert run({}, "--source", "").out == ""


def test_what_is_only_for_python_is_no_option(run, capsys):
    settings = {"python_only": ("progress",), "values": {"progress": True}}
    assert run(settings, "--source", "ab").out == "ab!\n"
    with pytest.raises(SystemExit, match="2"):
        run(settings, "--source", "ab", "--progress")
    assert "unknown option --progress" in capsys.readouterr().err


def test_defaults_of_the_command_line(run):
    assert run({"defaults": {"source": "x", "times": 3}}).out == "xxx\n"


def test_positional_arguments_with_a_default_may_be_left_out(run):
    settings = {"positional": ("source", "mark")}
    assert run(settings, "a").out == "a\n"
    assert run(settings, "a", ".").out == "a.\n"


def test_an_old_name_is_accepted_and_not_shown(run, tmp_path):
    settings = {"aliases": {"repeat": "times"}}
    assert run(settings, "--source", "a", "--repeat", "2").out == "aa\n"
    assert run(settings, "--source=a", "--repeat=2").out == "aa\n"
    (tmp_path / "copy.yaml").write_text("source: b\nrepeat: 3\nfrom: c\n")
    assert run(settings, "--config", str(tmp_path / "copy.yaml")).out == "bbbc\n"
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["copy", "--help"])


OLD_NAMES = [
    (name, old, new) for name in every_command() for old, new in find_command(name).aliases.items()
]


@pytest.mark.parametrize(("name", "old", "new"), OLD_NAMES)
def test_an_old_name_of_an_option_is_one_in_python_too(name, old, new, capsys):
    function = load_function(find_command(name))
    parameter = f"{old}_" if keyword.iskeyword(old) else old
    with contextlib.suppress(Exception):  # the other arguments are missing
        function(**{parameter: None})
    assert f"the argument {parameter} is now called {new}\n" in capsys.readouterr().err
