"""`dna-bigbird completion`."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from dna_bigbird.cli.commands import ABOUT_GROUPS, COMMANDS, GROUPS, Command
from dna_bigbird.cli.help import STREAMS
from dna_bigbird.cli.option_types import GENERAL, CommandOption, choices_in, types_in
from dna_bigbird.cli.parser import parsers_of
from dna_bigbird.cli.verbosity import SWITCHES

_POSITIONAL = '"$current_action_is_positional" = true'
_OPTIONS_AFTER_VALUES = (
    f"|| {_POSITIONAL} )",
    f'|| {_POSITIONAL} || "$current_action_nargs" = "+" )',
)
"""In shtab's script for bash, an option of several files offers files even for a word that begins with
"-"; here it offers the next options."""


def completion(shell: Literal["bash", "zsh", "tcsh"]) -> None:
    """Write the script that lets a shell complete commands, options, choices and file names.

    Args:
        shell: The shell to write for.

    Examples:
        source <(dna-bigbird completion bash)                  # this session only
        dna-bigbird completion bash > ~/.local/share/bash-completion/completions/dna-bigbird
        dna-bigbird completion zsh > FOLDER/_dna-bigbird       # FOLDER is in $fpath
        dna-bigbird completion tcsh > SCRIPT                   # then in ~/.cshrc: source SCRIPT
    """
    import shtab

    script = shtab.complete(plain_parser(), shell)
    print(script.replace(*_OPTIONS_AFTER_VALUES))


def plain_parser() -> argparse.ArgumentParser:
    """Return all commands with their options as argparse has them; all modules are imported."""
    root = argparse.ArgumentParser(prog="dna-bigbird")
    root.add_argument("--version", action="store_true", help="show the version and exit")
    for names, text in SWITCHES.items():
        root.add_argument(*names, action="store_true", help=text)
    commands = root.add_subparsers(dest="command")
    commands.add_parser("help", help="show the help of a command", add_help=False)
    _add_all(commands, COMMANDS)
    for group, members in GROUPS.items():
        parser = commands.add_parser(group, help=ABOUT_GROUPS[group])
        _add_all(parser.add_subparsers(dest="command"), members, f"{group} ")
    return root


def _add_all(subparsers, commands: Mapping[str, Command], prefix: str = "") -> None:
    for name, command in commands.items():
        plain = subparsers.add_parser(name, help=command.about, add_help=False)
        copies: dict[str, argparse.Action] = {}
        for parser in parsers_of(prefix + name):
            for option in (*parser.options, *GENERAL):
                earlier = copies.get(option.dest)
                if earlier is None:
                    copies[option.dest] = _copy(option, plain)
                elif earlier.choices:
                    both = [*earlier.choices, *(_choices(option) or [])]
                    earlier.choices = list(dict.fromkeys(both))


def _copy(option: CommandOption, plain: argparse.ArgumentParser) -> argparse.Action:
    """Add one option, with its choices, or as a file if its type is a path."""
    import shtab

    if option.hint is None:
        return plain.add_argument(*option.names, action="store_true", help=option.help)
    # No nargs: shtab would take the word after a switch with an optional value for that value.
    copied = plain.add_argument(
        *(option.names or [option.dest]), help=option.help, choices=_choices(option)
    )
    if option.takes_several:
        copied.nargs = "+"
    if option.is_mapping or Path in types_in(option.hint) or option.dest in STREAMS:
        copied.complete = shtab.FILE
    return copied


def _choices(option: CommandOption) -> list[str] | None:
    truth = ["true", "false"] if bool in types_in(option.hint) else []
    return [*map(str, choices_in(option.hint)), *truth] or None
