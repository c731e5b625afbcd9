"""The parser of one command, built from the signature and docstring of its function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from typing import Any, NamedTuple

from dna_bigbird.cli.commands import REQUIRED, Command, find_command
from dna_bigbird.cli.option_types import GENERAL, CommandOption
from dna_bigbird.cli.signatures import Option, fields_of, load_function, options_of, sections_of
from dna_bigbird.core.choices import without_annotations


class Settings(NamedTuple):
    """A group of options: the fields of a dataclass."""

    title: str
    default: Any


@dataclass
class Parser:
    """The options of a command."""

    function: Callable
    command: Command
    prog: str
    options: list[CommandOption] = field(default_factory=list)
    """In the order of the signature; those of every command are in `GENERAL`."""
    groups: dict[str, Settings] = field(default_factory=dict)
    """By their names: `model`, `model.etc`."""

    @property
    def description(self) -> str:
        """The docstring before the arguments."""
        return sections_of(self.function.__doc__)[""]

    @property
    def epilog(self) -> str:
        """The examples, with a heading."""
        examples = sections_of(self.function.__doc__).get("Examples", "")
        for name, value in self.command.values.items():  # of a function for several commands
            examples = examples.replace(f"{{{name}}}", str(value))
        return f"examples:\n{examples}" if examples else ""

    @cached_property
    def every_option(self) -> list[CommandOption]:
        """Those of every command and those that stand for a group included: `--model FILE`.

        Each option of a group has a name of its own, and elsewhere `--model` is a bundle: not shown.
        """
        groups = (
            CommandOption(name, (f"--{name}",), "", type(group.default))
            for name, group in self.groups.items()
        )
        return [*self.options, *GENERAL, *groups]

    @cached_property
    def by_dest(self) -> dict[str, CommandOption]:
        """The options by their full names."""
        return {option.dest: option for option in self.options}

    @property
    def aliases(self) -> dict[str, str]:
        """Other names of options -> their names."""
        return {**self.command.aliases, **self.command.second_names}

    @property
    def option_names(self) -> set[str]:
        """The names of all options, without dashes."""
        return {name.lstrip("-") for option in self.every_option for name in option.names}

    def add(
        self, option: Option, default: object, group: str = "", names: Sequence[str] = ()
    ) -> None:
        """Add an option, or the group of options that a dataclass is."""
        dest = f"{group}.{option.name}" if group else option.name
        settings = without_annotations(option.hint)
        if not is_dataclass(settings):
            self.options.append(
                CommandOption(dest, tuple(names), option.help, option.hint, default)
            )
            return
        default = settings() if default is REQUIRED else default
        self.groups[dest] = Settings(option.help.rstrip("."), default)
        for each in fields_of(settings):
            self.add(each, getattr(default, each.parameter), dest, [f"--{dest}.{each.name}"])

    @property
    def shown_by(self) -> str:
        """Return the command that shows the options."""
        return f"{self.prog}{getattr(self.function, 'chosen_by', '')} --help"


def build_parser(name: str, argv: Sequence[str] = ()) -> tuple[Parser, Callable]:
    """Return the parser of one command, such as "text evaluate", and the function that it calls.

    Args:
        argv: The arguments; the options of `text train` depend on its --task.
    """
    command = find_command(name)
    function = load_function(command, argv)
    return parser_of(function, command, f"dna-bigbird {name}"), function


def parsers_of(name: str) -> list[Parser]:
    """Return parsers that together have all options of a command; the first has the shared options."""
    if not find_command(name).function_for:
        return [build_parser(name)[0]]
    from dna_bigbird.bundles.text_tasks import tasks

    return [build_parser(name, argv)[0] for argv in ([], *(["--task", task] for task in tasks()))]


def parser_of(function: Callable, command: Command, prog: str) -> Parser:
    """Return a parser whose options are the parameters of a function."""
    parser = Parser(function, command, prog)
    for option in options_of(function):
        if option.parameter in command.python_only:
            continue
        default = command.defaults.get(option.parameter, option.default)
        parser.add(option, default, names=_names(option, command))
    return parser


def _names(option: Option, command: Command) -> list[str]:
    """Return the names of an option on the command line, short ones first."""
    if option.parameter in command.positional:
        return []
    short = ["-o"] if option.name == "output" else []
    others = [f"--{name}" for name, of in command.second_names.items() if of == option.name]
    return [*short, f"--{option.name}", *others]
