"""The layout of `dna-bigbird COMMAND --help`: the docstring, then every option with its value."""

import argparse
import re
import textwrap
import typing
from collections.abc import Iterator
from pathlib import Path

import jsonargparse

from dna_bigbird.cli.option_types import long_name, shown_names
from dna_bigbird.cli.parser_internals import Formatter, actions_of, groups_of, has_type, type_of
from dna_bigbird.cli.signatures import sections_of

PLACEHOLDERS = {int: "N", float: "X", Path: "PATH", str: "TEXT"}
STREAMS = {"fasta", "bed", "vcf"}
"""Options that are a file or '-'; their type is text."""
GENERAL = {
    "config": "YAML file with any of the options above.",
    "print_config": "Print all options as YAML, with the values given, and exit.",
    "help": "Show this text and exit.",
}


class HelpFormatter(Formatter):
    """Keeps paragraphs and example lines; shows 'required' and defaults instead of Python types."""

    def fill(self, text: str, width: int, indent: str) -> str:
        """Fill each paragraph, and leave empty lines between them."""
        parts = re.split(r"\n\s*\n", text.strip())
        return "\n\n".join(_paragraph(part, width, indent) for part in parts)

    def names(self, action: argparse.Action) -> list[str]:
        """Return all but `--x+`."""
        return shown_names(action)

    def help_text(self, action: argparse.Action) -> str:
        """Return the description with 'required' or the default."""
        text = GENERAL.get(action.dest, action.help or "")
        if not has_type(action):
            return text
        if action.required:
            return f"{text} (required)" if action.option_strings else text
        default = action.default
        if default is None or default == argparse.SUPPRESS:
            return text
        shown = str(default).lower() if isinstance(default, bool) else "%(default)s"
        return f"{text} (default: {shown})"

    def value_name(self, action: argparse.Action) -> str:
        """Return the choices, or a word for the type: PATH, N."""
        if action.dest in ("config", *STREAMS):
            return PLACEHOLDERS[Path]
        hint = type_of(action)
        for part in _alternatives(hint):
            if typing.get_origin(part) is typing.Literal:
                choices = [str(value) for value in typing.get_args(part)]
                return choices[0] if len(choices) == 1 else f"{{{','.join(choices)}}}"
            if part in PLACEHOLDERS:
                return PLACEHOLDERS[part]
        return super().value_name(action)


def _paragraph(text: str, width: int, indent: str) -> str:
    """Fill a paragraph; indented lines (commands, tables) stay unchanged."""
    blocks = re.findall(r"(?:^[ ]{2,}.*\n?)+|(?:^\S.*\n?)+", text, flags=re.MULTILINE)
    return "\n".join(
        textwrap.indent(block.rstrip("\n"), indent)
        if block.startswith(" ")
        else textwrap.fill(
            " ".join(block.split()), width, initial_indent=indent, subsequent_indent=indent
        )
        for block in blocks
    )


def _alternatives(hint: object) -> Iterator[object]:
    """Yield the types that a hint allows, those within `... | None` and `list[...]` too."""
    if typing.get_origin(hint) is typing.Annotated:
        yield from _alternatives(typing.get_args(hint)[0])
    elif typing.get_origin(hint) in (None, typing.Literal):
        yield hint
    else:
        for each in typing.get_args(hint):
            yield from _alternatives(each)


def sections(function: object) -> tuple[str, str]:
    """Return the text of a docstring before the arguments, and the examples."""
    parts = sections_of(function.__doc__)
    return parts[""], f"examples:\n{parts['Examples']}" if "Examples" in parts else ""


def arrange(parser: jsonargparse.ArgumentParser) -> None:
    """Put the command's own options first, and only required ones into the usage line."""
    groups = groups_of(parser)
    positional, general, *own = groups
    general.title = "general"
    groups[:] = [positional, *own, general]
    formatter = HelpFormatter(parser.prog)
    needed = [
        f"{long_name(action)} {formatter.value_name(action)}"
        if action.option_strings
        else long_name(action)
        for action in actions_of(parser)
        if action.required
    ]
    parser.usage = " ".join(["%(prog)s", *needed, "[options]"])
