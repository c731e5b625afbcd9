"""The parser of one command, built from the signature and docstring of its function."""

import argparse
import functools
import keyword
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from types import MappingProxyType

import jsonargparse

from dna_bigbird.cli.commands import REQUIRED, Command, find_command
from dna_bigbird.cli.config_files import OptionFiles, config_first
from dna_bigbird.cli.failures import fail
from dna_bigbird.cli.help import HelpFormatter, arrange, sections
from dna_bigbird.cli.option_types import item_type, single_types
from dna_bigbird.cli.option_words import joined
from dna_bigbird.cli.parser_errors import in_words
from dna_bigbird.cli.parser_internals import (
    YAML,
    Switch,
    actions_of,
    has_type,
    is_recipe,
    read_first,
    type_of,
)
from dna_bigbird.cli.several_values import plain_value
from dna_bigbird.cli.signatures import Option, load_function, options_of
from dna_bigbird.cli.verbosity import SWITCHES
from dna_bigbird.errors import InputError, checked_settings
from dna_bigbird.paths import as_streams
from dna_bigbird.shared_options import doc_of


class _Parser(jsonargparse.ArgumentParser):
    """A parser that reports a wrong option in one line and exits with status 2."""

    chosen_by = ""
    """Arguments that decide which options there are, for the hint at the help."""

    locations: Mapping[str, str] = MappingProxyType({})
    """File and line of options that a file of --config sets, for messages."""

    def print_help(self, file=None) -> None:
        """Print the help; unlike argparse, raise an error if that fails."""
        (file or sys.stdout).write(self.format_help())

    def error(self, message: str, ex: Exception | None = None):
        words = in_words(str(message), actions_of(self), self.locations)
        end = "" if words.endswith("?") else "."
        fail(f"{words}{end} See: {self.shown_by()}")

    def shown_by(self) -> str:
        """Return the command that shows the options."""
        return f"{self.prog}{self.chosen_by} --help"


def build_parser(
    name: str, argv: Sequence[str] = ()
) -> tuple[jsonargparse.ArgumentParser, Callable]:
    """Return the parser of one command, such as "text evaluate", and the function that it calls.

    Args:
        argv: The arguments; the options of `text train` depend on its --task.
    """
    command = find_command(name)
    function = load_function(command, argv)
    return parser_of(function, command, f"dna-bigbird {name}"), function


def parsers_of(name: str) -> list[jsonargparse.ArgumentParser]:
    """Return parsers that together have all options of a command; the first has the shared options."""
    if not find_command(name).function_for:
        return [build_parser(name)[0]]
    from dna_bigbird.datasets.text.registry import tasks

    return [build_parser(name, argv)[0] for argv in ([], *(["--task", task] for task in tasks()))]


def parser_of(function: Callable, command: Command, prog: str) -> jsonargparse.ArgumentParser:
    """Return a parser whose options are the parameters of a function."""
    jsonargparse.set_parsing_settings(docstring_parse_attribute_docstrings=True)
    about, examples = sections(function)
    for name, value in command.values.items():  # of a function for several commands
        examples = examples.replace(f"{{{name}}}", str(value))
    parser = _Parser(
        prog=prog,
        description=about,
        epilog=examples,
        formatter_class=HelpFormatter,
        parser_mode=YAML,
    )
    parser.add_argument("--config", action="config", help="YAML file with options")
    for names, text in SWITCHES.items():
        parser.add_argument(*names, action=Switch, help=text)
    group = parser.add_argument_group("options")
    for option in options_of(function):
        if option.parameter not in command.python_only:
            _add(group if not is_dataclass(option.hint) else parser, option, command)
    for action in actions_of(parser):
        if text := doc_of(type_of(action)):  # of a field of a dataclass
            action.help = text
        if type_of(action) is bool:  # `--pieces` is short for `--pieces true`
            action.nargs, action.const = "?", True
        if has_type(action):
            read_first(action, functools.partial(plain_value, hint=type_of(action)))
        if is_recipe(action):  # accepted, not shown: elsewhere `--model` is a bundle
            action.help = argparse.SUPPRESS
    parser.chosen_by = getattr(function, "chosen_by", "")
    arrange(parser)
    return parser


def _add(container, option: Option, command: Command) -> None:
    """Add one option to a parser or a group of it."""
    default = command.defaults.get(option.parameter, option.default)
    is_required = default is REQUIRED
    rest = {} if is_required else {"default": default}
    if option.parameter in command.positional:
        if not is_required:
            rest["nargs"] = "?"
        container.add_argument(option.name, type=option.hint, help=option.help, **rest)
        return
    if is_required:
        rest["required"] = True
    if is_dataclass(option.hint):
        rest["sub_configs"] = True
    container.add_argument(*_names(option, command), type=option.hint, help=option.help, **rest)


def _names(option: Option, command: Command) -> list[str]:
    """Return the names of an option on the command line, short ones first."""
    short = ["-o"] if option.name == "output" else []
    others = [f"--{name}" for name, of in command.second_names.items() if of == option.name]
    return [*short, f"--{option.name}", *others]


def _parameter(option: str) -> str:
    return f"{option}_" if keyword.iskeyword(option) else option


def read_arguments(
    parser: jsonargparse.ArgumentParser,
    function: Callable,
    argv: list[str],
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, object]:
    """Return the arguments for the function of a command.

    Raises:
        InputError: If a file of --config cannot be read, or settings contradict each other.
    """
    files = OptionFiles(_list_options(parser), parser.shown_by(), aliases)
    options = parse_words(
        parser, config_first(renamed(argv, aliases), files.prepare), files.locations
    )
    with checked_settings():
        settings = parser.instantiate(options)
    arguments = {_parameter(k): value for k, value in settings.items() if k != "config"}
    return as_streams(function, arguments)


def parse_words(
    parser: jsonargparse.ArgumentParser,
    argv: Sequence[str],
    locations: Mapping[str, str] = MappingProxyType({}),
) -> jsonargparse.Namespace:
    """Return the options that the words of a command line set; names of options are current ones.

    A wrong option ends the program, as in `argparse`.

    Args:
        locations: File and line of options that a file of --config sets.
    """
    named = {argument.partition("=")[0].lstrip("-") for argument in argv}
    parser.locations = {name: locations[name] for name in locations.keys() - named}
    try:
        argv = joined(argv, parser)
    except InputError as error:
        parser.error(str(error))
    return parser.parse_args(argv)


def _list_options(parser: jsonargparse.ArgumentParser) -> dict[str, bool]:
    """Return the options that have a type -> True if the value must be a list."""
    return {
        action.dest: item_type(action) is not None and not single_types(action)
        for action in actions_of(parser)
        if has_type(action)
    }


def renamed(argv: list[str], aliases: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return arguments with the current names of options.

    Example:
        >>> renamed(["--from-huggingface", "X", "--place=bin"], {"place": "drawn_on"})
        ['--from_huggingface', 'X', '--drawn_on=bin']
    """
    return [_renamed(argument, aliases) for argument in argv]


def _renamed(argument: str, aliases: Mapping[str, str]) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    name = name.replace("-", "_")
    return f"--{aliases.get(name, name)}{equals}{value}"
