"""The text of `dna-bigbird COMMAND --help`: the docstring, then every option with its value."""

import re
import shutil
import textwrap
import typing
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from dna_bigbird.cli.commands import COMMANDS, GROUPS, every_command
from dna_bigbird.cli.option_types import GENERAL, CommandOption, choices_in, is_list, types_in
from dna_bigbird.cli.parser import Parser
from dna_bigbird.core.choices import alternatives, near, nearest

MOST = 3


def like_command(name: str) -> str:
    """Return a question that names the command nearest to an unknown one, or nothing.

    Example:
        >>> like_command("predcit"), like_command("text evalute"), like_command("warm-start")
        ("; did you mean 'predict'?", "; did you mean 'text evaluate'?", "; did you mean 'text warm-start'?")
    """
    name = name.replace("_", "-")
    members = [f"{group} {name}" for group in GROUPS if name in GROUPS[group]]
    return near(members[0] if members else name, (*COMMANDS, *GROUPS, *every_command()))


def like_option(name: str, options: Collection[str]) -> str:
    """Return a question that names the options nearest to an unknown one, or nothing.

    Example:
        >>> like_option("ouput", {"output", "fasta"}), like_option("strat", {"training.strategy"})
        ('; did you mean --output?', '; did you mean --training.strategy?')
        >>> like_option("dropout", {"model.dropout", "head.dropout", "dropouts"})
        '; did you mean --head.dropout or --model.dropout?'
    """
    near_names = " or ".join(f"--{each}" for each in _nearest_options(name, options))
    return f"; did you mean {near_names}?" if near_names else ""


def _nearest_options(name: str, options: Collection[str]) -> list[str]:
    last = name.rpartition(".")[2]
    begun = [each for each in options if each.startswith(name)]
    if same := _ending(last, options) or begun:
        return sorted(same)[:MOST]
    if (whole := nearest(name, tuple(options))) is not None:
        return [whole]
    similar = nearest(last, tuple({each.rpartition(".")[2] for each in options}))
    return sorted(_ending(similar, options))[:MOST] if similar else []


def _ending(last: str, options: Iterable[str]) -> list[str]:
    """Return the options whose name without its group is `last`."""
    return [each for each in options if each.rpartition(".")[2] == last]


PLACEHOLDERS = {int: "N", float: "X", Path: "PATH", str: "TEXT", dict: "TEXT"}
STREAMS = {"fasta", "bed", "vcf"}
"""Options that are a file or '-'; their type is text."""
TEXT_COLUMN, NAMES_COLUMN = 24, 2
MOST_LINES = 60
"""Of `--help`, in 80 columns; a longer text is shortened."""


def help_of(parser: Parser) -> str:
    """Return the text of `--help`: all of it if it is short, else the usual options in one sentence each."""
    shown = parser.command.usual or [option.dest for option in parser.options]
    if not parser.command.usual and full_help(parser, width=78).count("\n") <= MOST_LINES:
        return full_help(parser)
    width = _width()
    usual = [
        replace(option, help=_brief(option.help, 2 * (width - TEXT_COLUMN) - len(NO_DEFAULT)))
        for option in map(parser.by_dest.get, shown)
        if option is not None
    ]
    lists = [["options:", *(_entry(option, width) for option in usual)]]
    lists += [_further(parser, {option.dest for option in usual}, width)]
    examples = re.findall(r"^.*(?<=\\)\n.*$|^.*$", parser.epilog, flags=re.MULTILINE)
    lists += [examples[:2]]  # the heading and the first one
    after = "\n\n".join(filter(None, map("\n".join, lists))) + "\n"
    whole = f"{usage(parser)}\n\n{_filled(parser.description, width)}\n\n"
    is_short = (whole + after).count("\n") <= MOST_LINES
    return (whole if is_short else "\n\n".join(whole.split("\n\n")[:2]) + "\n\n") + after


NO_DEFAULT = " (default: 0.001)"
"""Room that is kept for a default."""


def _further(parser: Parser, shown: Collection[str], width: int) -> Iterator[str]:
    """Yield a line per group with options that are not shown, and how to see them."""
    yield f"more: {parser.shown_by} GROUP, or all in full: --help_all"
    for name, title, options in option_groups(parser):
        count = sum(option.dest not in shown for option in options)
        if count and options is not GENERAL:
            title = "Those without a group." if name == UNGROUPED else title
            yield f"  {name:<{TEXT_COLUMN - 5}}{count:>3}  {_brief(title, width - TEXT_COLUMN - 2)}"
    names = ", ".join(option.long_name for option in GENERAL)
    yield textwrap.fill(f"  general: {names}", width, subsequent_indent="    ")


def _brief(text: str, most: int) -> str:
    """Return a text up to its first full stop, shortened."""
    sentence = re.split(r"(?<=[^.][^.]\.)\s+(?=[^a-z])", " ".join(text.split()), maxsplit=1)[0]
    return textwrap.shorten(sentence, most, placeholder=" …")


def full_help(parser: Parser, group: str = "", width: int = 0) -> str:
    """Return the text of all options, or of a group, in lines for the terminal."""
    width = width or _width()
    parts = [usage(parser)] + ([] if group else [_filled(parser.description, width)])
    for name, title, options in option_groups(parser):
        if not group or name == group:
            parts.append("\n".join([f"{title}:", *(_entry(option, width) for option in options)]))
    parts.append("" if group else _filled(parser.epilog, width))
    return "\n\n".join(filter(None, parts)) + "\n"


def _width() -> int:
    return max(shutil.get_terminal_size().columns - 2, 11)


def usage(parser: Parser) -> str:
    """Return the command with its required options."""
    needed = [
        f"{option.long_name} {value_name(option) if option.names else ''}".rstrip()
        for option in parser.options
        if option.is_required
    ]
    return " ".join(["usage:", parser.prog, *needed, "[options]"])


def option_groups(parser: Parser) -> Iterator[tuple[str, str, list[CommandOption]]]:
    """Yield name, title and options of the groups that have some."""
    titles = {"": "options"} | {name: group.title for name, group in parser.groups.items()}
    for name, title in titles.items():
        if own := [each for each in parser.options if each.dest.rpartition(".")[0] == name]:
            yield name or UNGROUPED, title, own
    yield "general", "general", GENERAL


UNGROUPED = "options"


def names_of(option: CommandOption) -> str:
    """Return the names of an option, each with its value: `-o PATH, --output PATH`."""
    if not option.names:
        return value_name(option) if choices_in(option.hint) else option.dest
    (first, *others), is_path = alternatives(option.hint), Path in types_in(option.hint)
    value = "[ITEM,...]" if is_list(first) and not others and not is_path else value_name(option)
    return ", ".join(
        f"{name}{'' if value[:2] == '[=' else ' '}{value}".rstrip() for name in option.names
    )


def text_of(option: CommandOption) -> str:
    """Return the description of an option with 'required' or the default."""
    if option.is_required:
        return f"{option.help} (required)" if option.names else option.help
    if option.default is None:
        return option.help
    is_truth = isinstance(option.default, bool)
    return f"{option.help} (default: {str(option.default).lower() if is_truth else option.default})"


def value_name(option: CommandOption) -> str:
    """Return the choices, or a word for the type: PATH, N."""
    if option.dest == "print_config":
        return "[=flags]"
    if option.hint is None:
        return ""
    if option.dest in STREAMS:
        return PLACEHOLDERS[Path]
    if option.is_switch:
        return "[{true,false}]"
    for part in types_in(option.hint):
        if typing.get_origin(part) is typing.Literal:
            choices = [str(value) for value in typing.get_args(part)]
            return choices[0] if len(choices) == 1 else f"{{{','.join(choices)}}}"
        if part is bool:
            return "{true,false,null}"
        if (word := PLACEHOLDERS.get(typing.get_origin(part) or part)) is not None:
            return word
    raise TypeError(f"--{option.dest}: no word for {option.hint}")


def _entry(option: CommandOption, width: int) -> str:
    """Return the lines of an option: its names, and its text next to or below them."""
    column = min(TEXT_COLUMN, max(width - 20, 2 * NAMES_COLUMN))
    names = " " * NAMES_COLUMN + names_of(option)
    text = textwrap.wrap(" ".join(text_of(option).split()), max(width - column, 11))
    lines = [" " * column + line for line in text]
    if len(names) <= column - 2 and lines:
        return "\n".join([names.ljust(column) + text[0], *lines[1:]])
    return "\n".join([names, *lines])


def _filled(text: str, width: int) -> str:
    """Return a text with each paragraph filled, and empty lines between them."""
    return "\n\n".join(_paragraph(part, width) for part in re.split(r"\n\s*\n", text.strip()))


def _paragraph(text: str, width: int) -> str:
    """Fill a paragraph; indented lines (commands, tables) stay unchanged."""
    blocks = re.findall(r"(?:^[ ]{2,}.*\n?)+|(?:^\S.*\n?)+", text, flags=re.MULTILINE)
    return "\n".join(
        block.rstrip("\n")
        if block.startswith(" ")
        else textwrap.fill(" ".join(block.split()), width)
        for block in blocks
    )
