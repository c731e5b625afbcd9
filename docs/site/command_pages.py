"""Pages of the commands: what `dna-bigbird COMMAND --help` prints, from the parsers themselves."""

import argparse
import inspect
import re
import textwrap
from collections.abc import Iterator

from prose import escaped, prose

from dna_bigbird.cli.commands import ABOUT_GROUPS, SECTIONS, find_command
from dna_bigbird.cli.help import HelpFormatter
from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.parser_internals import actions_in, groups_of, invocations

GENERAL = ("options", "positional arguments")
"""Groups without a heading."""


def option(names: str, action: argparse.Action, formatter: HelpFormatter) -> str:
    """Return the entry of an option: its names with the value, and its text with the default."""
    text = formatter.help_text(action).replace("%(default)s", str(action.default))
    names = names.replace(" \b", "")  # as a terminal shows it
    return f"````{{option}} {names}\n{escaped(text.replace('%%', '%'))}\n````\n"


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the groups of options with their headings."""
    formatter, names = HelpFormatter(parser.prog), invocations(parser)
    for group in groups_of(parser):
        shown = [each for each in actions_in(group) if each.help != argparse.SUPPRESS]
        if shown and group.title not in GENERAL:
            yield f"**{escaped(' '.join(group.title.split()))}**\n"
        for action in shown:
            yield option(names[action], action, formatter)


def command(name: str) -> str:
    """Return the help of a command."""
    parser, _ = build_parser(name, [])
    words = " ".join(parser.format_usage().split())
    usage = textwrap.fill(words, 80, subsequent_indent="    ", break_on_hyphens=False)
    examples = inspect.cleandoc((parser.epilog or "").partition("\n")[2])
    block = f"\nExamples:\n\n```sh\n{examples}\n```\n" if examples else ""
    return (
        f"## {name}\n\n```{{program}} {parser.prog}\n```\n\n```text\n{usage}\n```\n\n"
        f"{prose(parser.description or '')}\n{block}\n" + "\n".join(options(parser))
    )


def titles() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield path, title and commands of each page."""
    for title, names in SECTIONS.items():
        short = re.sub(r" \(docs/.*\)", "", title)
        path = title.partition(":")[0].replace(" ", "-")
        yield f"commands/{path}.md", short[0].upper() + short[1:], names


def command_pages() -> dict[str, str]:
    """Return the list of commands, and one page per section of `dna-bigbird --help`."""
    pages, lists, tree = {}, [], []
    for page, title, names in titles():
        pages[page] = f"# {title}\n\n" + "\n".join(map(command, names))
        rows = "\n".join(
            f"| [`{name}`]({page}#{name.replace(' ', '-')}) | {escaped(find_command(name).about)} |"
            for name in names
        )
        lists.append(f"## {title}\n\n| command | does |\n|---|---|\n{rows}\n")
        tree.append(f"{title.partition(':')[0]} <{page.removesuffix('.md')}>")
    groups = ", ".join(f"`{name}`" for name in ABOUT_GROUPS)
    listed = "\n".join(tree)
    index = (
        "# Commands\n\nThe pages have the text of `dna-bigbird COMMAND --help`. Every option can also be set in a "
        f"YAML file: `--config FILE`. The groups of commands: {groups}.\n\n"
        + "\n".join(lists)
        + f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )
    return {"commands.md": index} | pages
