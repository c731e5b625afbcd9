"""One option of a command: its names, and what its value may be, as a type and in words for messages."""

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.cli.commands import REQUIRED
from dna_bigbird.cli.verbosity import SWITCHES
from dna_bigbird.core.choices import alternatives
from dna_bigbird.core.errors import InputError

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
    dict: "NAME=VALUE",
}


class OptionError(InputError):
    """An option that a command does not have, or a value that it does not take."""


@dataclass(frozen=True)
class CommandOption:
    dest: str
    """Its full name: `training.max_steps`."""
    names: tuple[str, ...]
    """Its names on the command line, short ones first; none for an argument without an option name."""
    help: str
    hint: object = None
    """The type of its value; None for an option that sets nothing, such as --help."""
    default: object = None
    """`REQUIRED` if it must be given."""

    @property
    def long_name(self) -> str:
        """Its name as messages show it; that of an argument without one in capitals."""
        return next((each for each in self.names if each.startswith("--")), self.dest.upper())

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    @property
    def is_switch(self) -> bool:
        """True for an option that may be given without a value: `--pieces`."""
        return alternatives(self.hint) == (bool,)

    @property
    def takes_several(self) -> bool:
        """True for an option of a list or of names with values."""
        return bool(self.item_type) or self.is_mapping

    @property
    def is_mapping(self) -> bool:
        """True for an option that takes names with values."""
        return any(typing.get_origin(part) is dict for part in parts_of(self.hint))

    @property
    def item_type(self) -> object | None:
        """The type of the items of an option that takes a list, None for other options."""
        return next(
            (typing.get_args(part)[0] for part in parts_of(self.hint) if is_list(part)), None
        )

    @property
    def single_types(self) -> tuple:
        """The types of its value that are not lists: `int` of `int | list[int]`."""
        none = types.NoneType
        return tuple(part for part in parts_of(self.hint) if part is not none and not is_list(part))


GENERAL = [
    CommandOption(
        "help", ("-h", "--help"), "Show the usual options and exit; --help GROUP: those of a group."
    ),
    CommandOption("help_all", ("--help_all",), "Show all options in full and exit."),
    CommandOption("config", ("--config",), "YAML file with any of the options above.", Path),
    CommandOption(
        "print_config",
        ("--print_config",),
        "Print all options as YAML, with the values given, and exit.",
    ),
    *(CommandOption(names[-1][2:], names, text) for names, text in SWITCHES.items()),
]
"""The options of every command."""


def parts_of(hint: object) -> Iterator[object]:
    """Yield the types of a union, of unions in it too, without their annotations."""
    for part in alternatives(hint):
        if typing.get_origin(part) in (typing.Union, types.UnionType):
            yield from parts_of(part)
        else:
            yield part


def is_list(hint: object) -> bool:
    """Return True for `list[int]` and `tuple[int, ...]`."""
    return typing.get_origin(hint) in (list, tuple)


def choices_in(hint: object) -> tuple:
    """Return the values that a type lists, also within a list; () for other types.

    Example:
        >>> choices_in(list[typing.Literal["a", "b"]] | typing.Literal["a", "b"] | None)
        ('a', 'b')
    """
    literals = (part for part in types_in(hint) if typing.get_origin(part) is typing.Literal)
    return tuple(dict.fromkeys(value for part in literals for value in typing.get_args(part)))


def expected(hint: object) -> str:
    """Return what a value must be.

    Example:
        >>> expected(typing.Literal["both", "forward"]), expected(int | None), expected(list[Path | str])
        ('one of both, forward', 'a whole number', 'a path')
    """
    if choices := choices_in(hint):
        return f"one of {', '.join(map(str, choices))}" if len(choices) > 1 else str(choices[0])
    classes = [typing.get_origin(part) or part for part in types_in(hint)]
    if Path in classes:  # a path is a text too
        classes = [each for each in classes if each is not str]
    return " or ".join(dict.fromkeys(_WORDS[each] for each in classes if each in _WORDS))


def types_in(hint: object) -> Iterator[object]:
    """Yield the types of a union, and of the items of a list in it, without their annotations."""
    for part in parts_of(hint):
        if is_list(part):
            yield from types_in(typing.get_args(part)[0])
        else:
            yield part
