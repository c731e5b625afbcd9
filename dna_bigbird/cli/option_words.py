"""The words of a command line, sorted by the option that they belong to: `--inputs a.fa b.fa`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dna_bigbird.cli.nearest import like_option
from dna_bigbird.cli.option_types import CommandOption, OptionError, expected
from dna_bigbird.cli.several_values import TRUTH
from dna_bigbird.core.errors import shortened

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
    """Return the options that a command line gives, in its order; one of several values comes once, where it is last.

    Raises:
        OptionError: If there is no such option, or one has no value or too many.
    """
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
    """Return the option of a name, of the beginning of a name, or of `-oFILE`; `--name=value` is taken apart.

    Raises:
        OptionError: If the command has no such option.
    """
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
