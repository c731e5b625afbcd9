"""The words of a command line, sorted by the option that they belong to.

What argparse reads one value at a time becomes one value per option: `--inputs a.fa b.fa`.
"""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dna_bigbird.cli.option_types import is_mapping, is_switch, item_type, long_name
from dna_bigbird.cli.parser_errors import unknown_option
from dna_bigbird.cli.parser_internals import actions_of, option_names
from dna_bigbird.cli.several_values import as_argument
from dna_bigbird.errors import InputError, shortened

_OPTION = re.compile(r"-[A-Za-z]|--\S")


@dataclass
class _Values:
    """An option of several values on the command line."""

    action: argparse.Action
    position: int
    """Where its value comes in the arguments: the last of its positions."""
    words: list[str]


def joined(argv: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Return arguments in which every option has at most one value, a JSON text if it has several.

    A list option takes all words up to the next option; if it is repeated, the words add up. Other
    arguments stay as they are.

    Raises:
        InputError: If there is no such option, an option of one value is followed by several words,
            or a word of a mapping is not `NAME=VALUE`.
    """
    by_option: dict[str, _Values] = {}
    result: list[list[str]] = []
    for name, words in _options_with_words(argv):
        action = _known(name.partition("=")[0], parser) if name else None
        if action is None or not (item_type(action) or is_mapping(action)):
            result.append(_single(name, words, action, parser))
            continue
        first = [name.partition("=")[2]] if "=" in name else []
        option = by_option.setdefault(action.dest, _Values(action, 0, []))
        option.words += [*first, *words]
        option.position = len(result)
        result.append([])
    for option in by_option.values():
        result[option.position] = as_argument(option.action, option.words)
    return [argument for part in result for argument in part]


def _known(name: str, parser: argparse.ArgumentParser) -> argparse.Action | None:
    """Return the option of a name or of its beginning, as argparse finds it.

    None stands for what only the parser understands: `--models+`, a key of a mapping, `-oFILE`.

    Raises:
        InputError: If the command has no such option.
    """
    by_name = {text: action for action in actions_of(parser) for text in action.option_strings}
    if name in by_name:
        return None if name.endswith("+") else by_name[name]
    if not name.startswith("--"):
        if name[:2] in by_name:
            return None
        raise InputError(unknown_option(name, ()))
    begun = {by_name[text].dest: by_name[text] for text in by_name if text.startswith(name)}
    if len(begun) == 1:
        return next(iter(begun.values()))
    if any(is_mapping(by_name[text]) and name.startswith(f"{text}.") for text in by_name):
        return None
    options = {each for each in option_names(parser) if len(each) > 1 and not each.endswith("+")}
    raise InputError(unknown_option(name, options))


def _options_with_words(argv: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return each option with the words after it; words before the first have the name ""."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for argument in argv:
        if _OPTION.match(argument):
            parts.append((argument, []))
        else:
            parts[-1][1].append(argument)
    return parts


def _single(
    name: str, words: list[str], action: argparse.Action | None, parser: argparse.ArgumentParser
) -> list[str]:
    """Return the arguments of an option that takes one value at most, or words before any option.

    Raises:
        InputError: If there are more words, and the command has no arguments without an option name.
    """
    has_positional = any(not each.option_strings for each in actions_of(parser))
    if action and is_switch(action) and has_positional and not _is_truth(words):
        return [name if "=" in name else f"{name}=true", *words]
    option, equals, first = name.partition("=")
    values = [first, *words] if equals else words
    most = 0 if not name or (action and action.nargs == 0) else 1
    if len(values) > most and not has_positional:
        raise InputError(_too_many(option, values, most, action, parser))
    return [name, *words] if name else words


def _is_truth(words: list[str]) -> bool:
    return bool(words) and words[0].lower() in ("true", "false", "yes", "no", "on", "off")


def _too_many(
    option: str,
    values: list[str],
    most: int,
    action: argparse.Action | None,
    parser: argparse.ArgumentParser,
) -> str:
    shown = shortened(" ".join(values))
    if most and action:
        text = f"{option} takes one value, found {len(values)}: {shown}"
        return f"{text}. Put a value with blanks in quotes"
    required = [each for each in actions_of(parser) if each.required]
    such_as = f"; did you mean {long_name(required[0])} {shown}?" if required and not option else ""
    return f"found {shown!r}, expected the name of an option before it{such_as}"
