"""Messages about wrong options."""

from collections.abc import Collection

from dna_bigbird.choices import near
from dna_bigbird.cli.nearest import like_option
from dna_bigbird.cli.option_types import CommandOption, choices_in, expected
from dna_bigbird.errors import InputError, shortened


class OptionError(InputError):
    """An option that a command does not have, or a value that it does not take."""


def unknown_option(name: str, options: Collection[str]) -> str:
    """Return a message about an option that the command does not have.

    Example:
        >>> unknown_option("--ouput", {"output", "fasta"})
        'unknown option --ouput; did you mean --output?'
    """
    return f"unknown option {name}{like_option(name.lstrip('-').replace('-', '_'), options)}"


def wrong_value(option: CommandOption, value: object, location: str = "") -> str:
    """Return a message about a value that an option does not take.

    Args:
        location: File and line of the value, "" for the command line.
    """
    name = f"{location}: {option.dest}" if location else option.long_name
    question = near(value, tuple(map(str, choices_in(option.hint))))
    return f"{name}: found {shortened(value)!r}, expected {expected(option.hint)}{question}"


def no_value(option: CommandOption) -> str:
    """Return a message about an option without a value."""
    return f"{option.long_name}: expected a value: {expected(option.hint)}"
