"""The arguments of a command, from the words of its command line and its files of options."""

import dataclasses
import itertools
import keyword
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dna_bigbird.cli.failures import fail
from dna_bigbird.cli.help import full_help, help_of, like_option, option_groups
from dna_bigbird.cli.option_types import CommandOption, OptionError, choices_in, expected
from dna_bigbird.cli.parser import Parser
from dna_bigbird.cli.several_values import Use, options_used, renamed, typed, value_of
from dna_bigbird.core.choices import near
from dna_bigbird.core.errors import checked_settings, shortened
from dna_bigbird.core.messages import listed_words
from dna_bigbird.core.paths import as_streams
from dna_bigbird.core.yaml_files import YamlFile, parse_yaml, read_yaml


class Setting(NamedTuple):
    """The value of an option."""

    option: CommandOption
    value: object
    location: str
    """File and line; "" for the command line."""
    key: str = ""
    """The name that the value has in a mapping: `baselines.kmer: FILE`."""


def settings_of_group(parser: Parser, group: str, word: str, name: str) -> Iterator[Setting]:
    """Yield the options of a group from a file, or YAML in place of it, that `name` named."""
    if word.startswith("{"):
        yield from settings_in(parser, parse_yaml(word, name), group)
    elif os.path.isfile(word):
        yield from settings_in(parser, read_yaml(Path(word)), group)
    else:
        such_as = next(option for option in parser.by_dest if option.startswith(f"{group}."))
        expected = f"expected a YAML file of options, such as --{such_as}"
        raise OptionError(f"{name} {shortened(word)}: {expected}")


def settings_in(parser: Parser, file: YamlFile, group: str = "") -> Iterator[Setting]:
    """Yield the options in a file."""
    yield from _settings_of(parser, file, file.values(), group, ())


def _settings_of(
    parser: Parser, file: YamlFile, values: Mapping, group: str, path: tuple[str, ...]
) -> Iterator[Setting]:
    for key, value in values.items():
        name = f"{group}.{key}" if group else parser.aliases.get(key, key)
        location = f"{file.name}:{file.line((*path, key))}"
        mapping, _, inner = name.rpartition(".")
        if name in parser.by_dest:
            yield Setting(parser.by_dest[name], value, location)
        elif name in parser.groups and isinstance(value, Mapping):
            yield from _settings_of(parser, file, value, name, (*path, key))
        elif name in parser.groups:
            if value is not None:
                recipe = str(Path(file.name).parent / str(value))
                yield from settings_of_group(parser, name, recipe, f"{location}: {name}")
        elif mapping in parser.by_dest and parser.by_dest[mapping].is_mapping:
            yield Setting(parser.by_dest[mapping], value, location, inner)
        else:
            near = re.sub(r"--([\w.]+)", r"'\1'", like_option(name, parser.by_dest))
            raise OptionError(f"{location}: unknown option {name!r}{near}")


UNSET = {"skip_null", "skip_unset"}
"""Flags of --print_config that leave out what is not set."""
FLAGS = ("skip_default", *sorted(UNSET))


def read_arguments(parser: Parser, argv: Sequence[str], is_partial: bool = False) -> dict[str, Any]:
    """Return the arguments of a command's function; if partial, required ones may be None."""
    # A wrong option ends the program with one line and status 2.
    try:
        values = _values(parser, argv)
        if not is_partial:
            _check_required(parser, values)
    except OptionError as error:
        end = "" if str(error).endswith("?") else "."
        fail(f"{error}{end} See: {parser.shown_by}")
    with checked_settings():
        arguments = _of_group(parser, "", values)
    named = {f"{k}_" if keyword.iskeyword(k) else k: value for k, value in arguments.items()}
    return as_streams(parser.function, named)


def _show_help(parser: Parser, argv: Sequence[str]) -> None:
    """Show the options of the group that --help names, if it names one."""
    for word, after in itertools.pairwise([*argv, "-"]):
        name, equals, group = word.partition("=")
        group = group if equals else after
        if name in ("-h", "--help") and not group.startswith("-"):
            names = [name for name, _, _ in option_groups(parser)]
            if group not in names:
                raise OptionError(f"--help {shortened(group)}: expected one of {', '.join(names)}")
            sys.stdout.write(full_help(parser, group))
            raise SystemExit(0)


def _values(parser: Parser, argv: Sequence[str]) -> dict[str, Any]:
    """Return the value of every option by its full name; the command line overrides files."""
    _show_help(parser, argv)
    uses = options_used(renamed(argv, parser.aliases), parser.every_option)
    used = {use.option.dest: use for use in uses}
    if "help_all" in used or "help" in used:
        sys.stdout.write(full_help(parser) if "help_all" in used else help_of(parser))
        raise SystemExit(0)
    for name in ("quiet", "verbose"):
        if name in used:  # another step reads the whole name
            raise OptionError(f"write --{name} in full")
    values = {each.dest: None if each.is_required else each.default for each in parser.options}
    for use in sorted(uses, key=lambda use: use.option.dest != "config"):
        for setting in _settings(parser, use):
            values[setting.option.dest] = _checked(setting, values)
    if "print_config" in used:
        _print_config(parser, values, used["print_config"].words)
    return values


def _settings(parser: Parser, use: Use) -> Iterator[Setting]:
    """Yield the options that one option of the command line sets."""
    option = use.option
    if option.dest == "config":
        yield from settings_in(parser, read_yaml(Path(use.words[0])))
    elif option.dest in parser.groups:
        yield from settings_of_group(parser, option.dest, use.words[0], option.long_name)
    elif option.hint is not None:
        value = value_of(option, use.words) if use.most is None else use.words[0]
        yield Setting(option, value, "", use.key)


def _checked(setting: Setting, values: Mapping[str, Any]) -> object:
    """Return a value as the type of its option."""
    option, value, location, key = setting
    if value is None and (option.is_required or option.default is None):
        return None
    if key:
        before = values[option.dest]
        value = {**(before if isinstance(before, Mapping) else {}), key: value}
    elif option.item_type and not option.single_types and not isinstance(value, list) and location:
        value = [value]
    try:
        return typed(value, option.hint)
    except ValueError as error:
        wrong = error.args[0]
        name = f"{location}: {option.dest}" if location else option.long_name
        question = near(wrong, tuple(map(str, choices_in(option.hint))))
        message = f"{name}: found {shortened(wrong)!r}, expected {expected(option.hint)}{question}"
        raise OptionError(message) from None


def _check_required(parser: Parser, values: Mapping[str, object]) -> None:
    missing = [
        option.long_name
        for option in parser.options
        if option.is_required and values[option.dest] is None
    ]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise OptionError(f"{listed_words(missing, last='and')} {verb} required")


def _of_group(parser: Parser, group: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a group, "" for those in none, with the settings that its own groups make."""
    inner = {
        name: dataclasses.replace(settings.default, **_of_group(parser, name, values))
        for name, settings in parser.groups.items()
        if name.rpartition(".")[0] == group
    }
    named = [(name.rpartition("."), value) for name, value in {**values, **inner}.items()]
    return {last: value for (above, _, last), value in named if above == group}


def _print_config(parser: Parser, values: Mapping[str, Any], flags: Sequence[str]) -> None:
    """Print the options as YAML, and exit."""
    skipped = {flag for text in flags for flag in text.split(",") if flag}
    if wrong := skipped - {*FLAGS}:
        raise OptionError(f"--print_config: found {min(wrong)!r}, expected {', '.join(FLAGS)}")
    tree: dict[str, Any] = {}
    for option in parser.options:
        value = values[option.dest]
        default = None if option.is_required else option.default
        if "skip_default" in skipped and value == default:
            continue
        if skipped & UNSET and value is None:
            continue
        *groups, last = option.dest.split(".")
        branch = tree
        for group in groups:
            branch = branch.setdefault(group, {})
        branch[last] = _plain(value)
    sys.stdout.write(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
    raise SystemExit(0)


def _plain(value: Any) -> Any:
    """Return a value as YAML has it."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value
