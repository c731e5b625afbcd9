"""The words of a command line, sorted by the option that they belong to: `--inputs a.fa b.fa`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dna_bigbird.cli.option_types import CommandOption
from dna_bigbird.cli.parser_errors import OptionError, no_value, unknown_option
from dna_bigbird.errors import shortened

_OPTION = re.compile(r"-[A-Za-z]|--\S")
_TRUTH = ("true", "false", "yes", "no", "on", "off")


@dataclass
class Given:
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


def given_options(argv: Sequence[str], options: Sequence[CommandOption]) -> list[Given]:
    """Return the options that a command line gives, in its order; one of several values comes once, where it is last.

    Raises:
        OptionError: If there is no such option, or one has no value or too many.
    """
    positional = [option for option in options if not option.names]
    before, parts = _options_with_words(argv)
    found: dict[tuple[str, str, int], Given] = {}
    for name, words in parts:
        given = _given(name, words, options)
        if positional and given.option.is_switch and not _is_truth(given):
            before += given.words
            given.words = ["true"]
        elif positional:
            before += given.words[given.most :] if given.most is not None else []
            given.words = given.words[: given.most]
        _check_number(given)
        is_one = given.most is None
        place = (given.option.dest, given.key, 0 if is_one else len(found))
        if is_one and (earlier := found.pop(place, None)):
            given.words = earlier.words + given.words
        found[place] = given
    if len(before) > len(positional):
        raise OptionError(_no_name(before[len(positional) :], options))
    named = [Given(option, [word], "") for option, word in zip(positional, before, strict=False)]
    return named + list(found.values())


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


def _given(text: str, words: list[str], options: Sequence[CommandOption]) -> Given:
    """Return the option of a name, of the beginning of a name, or of `-oFILE`; `--name=value` is taken apart.

    Raises:
        OptionError: If the command has no such option.
    """
    by_name = {name: option for option in options for name in option.names}
    name, equals, first = text.partition("=")
    words = [first, *words] if equals else words
    if name in by_name:
        return Given(by_name[name], words, text)
    if not name.startswith("--"):
        if name[:2] not in by_name:
            raise OptionError(unknown_option(name, ()))
        return Given(by_name[name[:2]], [text[2:], *words[bool(equals) :]], text)
    begun = {by_name[each].dest: by_name[each] for each in by_name if each.startswith(name)}
    if len(begun) == 1:
        return Given(next(iter(begun.values())), words, text)
    for each, option in by_name.items():
        key = name.removeprefix(f"{each}.")
        if option.is_mapping and key not in ("", name):
            return Given(option, words, text, key)
    raise OptionError(unknown_option(name, {each[2:] for each in by_name if each[:2] == "--"}))


def _check_number(given: Given) -> None:
    """Raise OptionError if an option has no value, or more than it takes; a switch without one is true."""
    if given.option.is_switch and not given.words:
        given.words = ["true"]
    if given.most != 0 and not given.words:
        raise OptionError(no_value(given.option))
    if given.most is None or len(given.words) <= given.most:
        return
    if given.most == 0:
        raise OptionError(_no_name(given.words, ()))
    shown = f"{len(given.words)}: {shortened(' '.join(given.words))}"
    name = given.name.partition("=")[0]
    raise OptionError(f"{name} takes one value, found {shown}. Put a value with blanks in quotes")


def _is_truth(given: Given) -> bool:
    return "=" in given.name or (given.words[:1] and given.words[0].lower() in _TRUTH)


def _no_name(words: Sequence[str], options: Sequence[CommandOption]) -> str:
    """Return a message about words that belong to no option."""
    shown = shortened(" ".join(words))
    required = [option for option in options if option.is_required and option.names]
    such_as = f"; did you mean {required[0].long_name} {shown}?" if required else ""
    return f"found {shown!r}, expected the name of an option before it{such_as}"
