"""What jsonargparse and argparse do not offer publicly: the options of a parser and their types."""

import argparse

TESTED_VERSIONS = ("4.53",)
"""Releases of jsonargparse for which tests/cli/test_parser_internals.py has passed."""


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


def groups_of(parser: argparse.ArgumentParser) -> list:
    """Return the groups in the order of the help text; the list may be reordered in place."""
    return parser._action_groups
