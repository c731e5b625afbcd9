"""The value of an option: of its type, from words of the command line, or from a file of options."""

import os
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dna_bigbird.cli.help import like_option
from dna_bigbird.cli.option_types import CommandOption, OptionError, expected, is_list, parts_of
from dna_bigbird.core.choices import with_current_name
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.core.yaml_files import load_yaml, yaml_decimal

_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)"
_ITEM = re.compile(rf"[^,:]+:{_NUMBER}-{_NUMBER}(?=,|$)|[^,]+")
"""Text without commas, or a region whose numbers may contain thousands commas."""

TRUTH = dict.fromkeys(("true", "yes", "on"), True) | dict.fromkeys(("false", "no", "off"), False)
"""The texts of a truth value."""
_FROM_TEXT: dict[object, Callable[[str], object]] = {
    bool: lambda text: TRUTH.get(text.lower()),
    int: whole_number,
    float: yaml_decimal,
    Path: Path,
}
"""Function of a text that returns a value of the type, or None."""
_TAKEN = {float: (float, int), Path: (type(Path()),)}


def typed(value: object, hint: object) -> Any:
    """Return a value, or what a text says, as a type of the hint; ValueError has the part that is not.

    Example:
        >>> typed("[1, 2]", list[int]), typed("2", int | None), typed("null", int | None)
        ([1, 2], 2, None)
    """
    parts = sorted(parts_of(hint), key=lambda part: part is not types.NoneType)
    for part in parts:
        container = list if is_list(part) else typing.get_origin(part)
        if container in (list, dict) and (items := parsed(value, container)) is not None:
            value = items
    wrong = value
    for part in parts:
        try:
            return _of_type(value, part)
        except ValueError as error:
            wrong = error.args[0] if error.args[0] is not value else wrong
    raise ValueError(wrong)


def _of_type(value: Any, part: Any) -> object:
    """Return a value as a type that is not a union, or raise ValueError with what is wrong."""
    origin, inner = typing.get_origin(part), typing.get_args(part)
    if origin is dict and isinstance(value, dict):
        return {key: typed(each, inner[1]) for key, each in value.items()}
    if is_list(part) and isinstance(value, list):
        return origin(typed(each, inner[0]) for each in value)
    value = with_current_name(value, inner) if origin is typing.Literal else value
    if origin is typing.Literal and any(
        type(each) is type(value) and each == value for each in inner
    ):
        return value
    if part is types.NoneType and (value is None or str(value).lower() in ("null", "~")):
        return None
    if isinstance(value, str) and part in _FROM_TEXT:
        if (read := _FROM_TEXT[part](value)) is not None:
            return read
    elif type(value) in _TAKEN.get(part, (part,)):
        return part(value)
    raise ValueError(value)


def value_of(option: CommandOption, words: list[str]) -> object:
    """Return the value of an option that takes several with the words after it; its type is not checked."""
    if len(words) == 1 and (_takes_text(option) or _is_json(words[0])):
        return words[0]
    if option.is_mapping:
        return words[0] if _is_one_path(option, words) else _mapping(option.long_name, words)
    items: list = []
    for word in words:
        listed = parsed(word, list)
        items += split_items(word) if listed is None else listed
    return items[0] if len(items) == 1 and option.single_types else items


def split_items(word: str) -> list[str]:
    """Return the values in a word, split at commas; an existing file, or a region, is one value.

    Example:
        >>> split_items("a.fa,b.fa"), split_items("chr1,chr22:19,500,001-20,000,000,chr3")
        (['a.fa', 'b.fa'], ['chr1', 'chr22:19,500,001-20,000,000', 'chr3'])
    """
    if "," not in word or os.path.lexists(word):
        return [word]
    return [item.strip() for item in _ITEM.findall(word) if item.strip()]


def parsed(value: object, expected: type) -> Any:
    """Return a list or mapping, also one that is a text in JSON or YAML; None for other values."""
    if isinstance(value, str) and _is_json(value):
        try:
            value = load_yaml(value)
        except yaml.YAMLError:
            return None
    return value if isinstance(value, expected) else None


def _mapping(name: str, words: list[str]) -> dict[str, object]:
    """Return the names with their values: `kmer=kmer.h5 gc=gc.h5`."""
    mapping: dict[str, object] = {}
    for word in words:
        values = parsed(word, dict)
        pieces = split_items(word)
        if values is None:
            pieces = pieces if all("=" in piece for piece in pieces) else [word]
            values = dict(_pair(name, piece) for piece in pieces)
        if twice := mapping.keys() & values.keys():
            raise InputError(f"{name}: {min(twice)} is given twice")
        mapping |= values
    return mapping


def _pair(name: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise InputError(
            f"{name}: found {shortened(text)!r}, expected NAME=VALUE, such as kmer=kmer.h5"
        )
    return key, value


def _is_json(word: str) -> bool:
    return word[:1] in ("[", "{") and not os.path.lexists(word)


def _is_one_path(option: CommandOption, words: list[str]) -> bool:
    """Return True for one path where a mapping of paths may also be one path."""
    alone = Path in option.single_types
    return alone and len(words) == 1 and ("=" not in words[0] or os.path.lexists(words[0]))


def _takes_text(option: CommandOption) -> bool:
    """Return True for `list[str] | str`: the command itself splits one text."""
    return option.item_type is str and str in option.single_types


_OPTION = re.compile(r"-[A-Za-z]|--\S")


@dataclass
class Use:
    """An option on the command line with the words of its value."""

    option: CommandOption
    words: list[str]
    name: str
    """As it is written."""
    key: str = ""
    """What it names in a mapping: `--baselines.kmer FILE`."""

    @property
    def most(self) -> int | None:
        """How many words it takes, None for any number."""
        if self.option.hint is None:
            return int("=" in self.name)
        return None if not self.key and self.option.takes_several else 1


def renamed(argv: Sequence[str], aliases: Mapping[str, str]) -> list[str]:
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


def options_used(argv: Sequence[str], options: Sequence[CommandOption]) -> list[Use]:
    """Return the options that a command line gives, in its order; one of several values comes once, where it is last."""
    positional = [option for option in options if not option.names]
    before, parts = _options_with_words(argv)
    uses: list[Use] = []
    for name, words in parts:
        use = _use(name, words, options)
        if positional:
            before += _left_over(use)
        _check_number(use)
        if use.most is None:
            for earlier in [each for each in uses if each.option is use.option and not each.key]:
                use.words = earlier.words + use.words
                uses.remove(earlier)
        uses.append(use)
    if len(before) > len(positional):
        raise OptionError(_no_name(before[len(positional) :], options))
    return [*map(lambda option, word: Use(option, [word], ""), positional, before), *uses]


def _options_with_words(argv: Sequence[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the words before the first option, and each option with the words after it."""
    before: list[str] = []
    parts = [("", before)]
    for argument in argv:
        if _OPTION.match(argument):
            parts.append((argument, []))
        else:
            parts[-1][1].append(argument)
    return before, parts[1:]


def _use(text: str, words: list[str], options: Sequence[CommandOption]) -> Use:
    """Return the option of a name, of the beginning of a name, or of `-oFILE`; `--name=value` is taken apart."""
    by_name = {name: option for option in options for name in option.names}
    name, equals, first = text.partition("=")
    words = [first, *words] if equals else words
    if name in by_name:
        return Use(by_name[name], words, text)
    if not name.startswith("--"):
        if name[:2] not in by_name:
            raise OptionError(f"unknown option {name}")
        return Use(by_name[name[:2]], [text[2:], *words[bool(equals) :]], text)
    begun = {by_name[each].dest: by_name[each] for each in by_name if each.startswith(name)}
    if len(begun) == 1:
        return Use(next(iter(begun.values())), words, text)
    for each, option in by_name.items():
        key = name.removeprefix(f"{each}.")
        if option.is_mapping and key not in ("", name):
            return Use(option, words, text, key)
    near = like_option(name[2:].replace("-", "_"), {each[2:] for each in by_name if each[1] == "-"})
    raise OptionError(f"unknown option {name}{near}")


def _left_over(use: Use) -> list[str]:
    """Take from an option the words that are arguments without an option name, and return them."""
    words = use.words
    is_bare = (
        use.option.is_switch and "=" not in use.name and words and words[0].lower() not in TRUTH
    )
    use.words = [] if is_bare else words[: use.most]
    return words[len(use.words) :]


def _check_number(use: Use) -> None:
    """Raise OptionError if an option has no value, or more than it takes; a switch without one is true."""
    if use.option.is_switch and not use.words:
        use.words = ["true"]
    if use.most != 0 and not use.words:
        option = use.option
        raise OptionError(f"{option.long_name}: expected a value: {expected(option.hint)}")
    if use.most is None or len(use.words) <= use.most:
        return
    if use.most == 0:
        raise OptionError(_no_name(use.words, ()))
    shown = f"{len(use.words)}: {shortened(' '.join(use.words))}"
    name = use.name.partition("=")[0]
    raise OptionError(f"{name} takes one value, found {shown}. Put a value with blanks in quotes")


def _no_name(words: Sequence[str], options: Sequence[CommandOption]) -> str:
    """Return a message about words that belong to no option."""
    shown = shortened(" ".join(words))
    required = [option for option in options if option.is_required and option.names]
    such_as = f"; did you mean {required[0].long_name} {shown}?" if required else ""
    return f"found {shown!r}, expected the name of an option before it{such_as}"
