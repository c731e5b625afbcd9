"""What jsonargparse and argparse do not offer publicly; no other file uses their private names."""

import argparse
import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jsonargparse
import yaml
from jsonargparse._util import NestedArg

from dna_bigbird.yaml_files import load_yaml

TESTED_VERSIONS = ("4.53",)
"""Releases of jsonargparse for which tests/cli/test_parser_internals.py has passed."""

YAML = "dna-bigbird"
"""The reader of `--config` and of values that are lists or sections, as a mode of jsonargparse's parsers."""
jsonargparse.set_loader(YAML, load_yaml, (yaml.YAMLError,))


def actions_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return all options and positional arguments of a parser."""
    return parser._actions


def option_names(parser: argparse.ArgumentParser) -> set[str]:
    """Return the names of all options, without dashes."""
    return {name.lstrip("-") for action in actions_of(parser) for name in action.option_strings}


def has_type(action: argparse.Action) -> bool:
    """Return True for an option with a type hint, False for --help, --config and groups."""
    return hasattr(action, "_typehint")


def type_of(action: argparse.Action) -> object:
    """Return the type hint of an option, None if it has none."""
    return getattr(action, "_typehint", None)


def read_first(action: Any, read: Callable[[Any], Any]) -> None:
    """Read the values of an option with a function, before jsonargparse reads what is still text.

    Args:
        read: Function (value) -> value; its ValueError has the wrong part as its only argument.
    """
    check = action._check_type

    @functools.wraps(check)
    def read_and_check(value: Any, **rest: Any) -> Any:
        try:
            if isinstance(value, NestedArg):  # of `--baselines.kmer FILE`
                value = NestedArg(value.key, read({value.key: value.val})[value.key])
            else:
                value = read(value)
        except ValueError as error:
            message = f'Parser key "{action.dest}": Got value: {error.args[0]}'
            raise TypeError(message) from None
        return check(value, **rest)

    action._check_type = read_and_check


def is_recipe(action: argparse.Action) -> bool:
    """Return True for the option that takes all settings of a group at once: `--model FILE`.

    Each of them has an option, `--model.num_layers N`, and `--config` takes all from one file.
    """
    return isinstance(action, jsonargparse._actions._ActionConfigLoad)


def groups_of(parser: argparse.ArgumentParser) -> list:
    """Return the groups in the order of the help text; the list may be reordered in place."""
    return parser._action_groups


def actions_in(group: Any) -> list[argparse.Action]:
    """Return the options of a group, in the order of the help text."""
    return group._group_actions


class Switch(argparse.Action):
    """A switch that another step reads: it is in the help and in completion, and sets no option."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(
            option_strings, dest=argparse.SUPPRESS, default=argparse.SUPPRESS, nargs=0, **rest
        )

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        """Report that the name was shortened: the other step reads only the whole name."""
        parser.error(f"write {self.option_strings[-1]} in full")


class Formatter(jsonargparse.DefaultHelpFormatter):
    """A formatter of help texts whose parts are public methods that a subclass can override."""

    def fill(self, text: str, width: int, indent: str) -> str:
        """Return a text in lines of at most `width`."""
        return super()._fill_text(text, width, indent)

    def help_text(self, action: argparse.Action) -> str:
        """Return the description of an option."""
        return super()._get_help_string(action)

    def value_name(self, action: argparse.Action) -> str:
        """Return the placeholder for the value of an option."""
        return super()._get_default_metavar_for_optional(action)

    def names(self, action: argparse.Action) -> list[str]:
        """Return the names that are shown for an option."""
        return list(action.option_strings)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return self.fill(text, width, indent)

    def _get_help_string(self, action: argparse.Action) -> str:
        return self.help_text(action)

    def _get_default_metavar_for_optional(self, action: argparse.Action) -> str:
        return self.value_name(action)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        shown = copy.copy(action)
        shown.option_strings = self.names(action)
        return super()._format_action_invocation(shown)


def invocations(parser: argparse.ArgumentParser) -> dict[argparse.Action, str]:
    """Return the names and the value of every option as the help shows them: `-o PATH, --output PATH`."""
    shown = {}

    class Recorder(parser.formatter_class):
        def _format_action_invocation(self, action: argparse.Action) -> str:
            shown[action] = super()._format_action_invocation(action)
            return shown[action]

    formatter_class, parser.formatter_class = parser.formatter_class, Recorder
    try:
        parser.format_help()
    finally:
        parser.formatter_class = formatter_class
    return shown
