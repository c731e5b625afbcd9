"""Messages of the parser about wrong options, rewritten for the user."""

import ast
import re
from collections.abc import Collection

from dna_bigbird.choices import listed, near
from dna_bigbird.errors import shortened

_CHOICE = re.compile(
    r'Parser key "(?P<key>[^"]+)":.*?typing\.Literal(?P<choices>\[[^\]]*\]).*'
    r"(?:Got|Given) value: (?P<value>.*)"
)
_UNKNOWN = re.compile(r"(?i)unrecognized arguments: --(?P<name>[\w.]+)")


def in_words(message: str, options: Collection[str]) -> str:
    """Return a message of the parser with the choices as a list and the nearest choice.

    Args:
        options: Names of the command's options, without dashes.

    Example:
        >>> in_words('Parser key "strand":; Expected a typing.Literal[\\'both\\', \\'forward\\']. '
        ...          'Got value: Both', {"strand"})
        "--strand Both: expected 'both' or 'forward'; did you mean 'both'?"
        >>> in_words("unrecognized arguments: --batchsize 3", {"batch_size", "window"})
        'unrecognized arguments: --batchsize 3; did you mean --batch_size?'
    """
    if wrong := _CHOICE.search(message):
        choices = tuple(ast.literal_eval(wrong["choices"]))
        value = wrong["value"]
        expected = f"expected {listed(choices)}{near(value, choices)}"
        return f"--{wrong['key']} {shortened(value)}: {expected}"
    if unknown := _UNKNOWN.search(message):
        return message + near(unknown["name"], tuple(f"--{name}" for name in options)).replace(
            "'", ""
        )
    return message
