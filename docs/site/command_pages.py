"""Pages of the commands: what `dna-bigbird COMMAND --help` prints, from the parsers themselves."""

import inspect
import re
import textwrap
from collections.abc import Iterator

from prose import escaped, prose

from dna_bigbird.cli.commands import ABOUT_GROUPS, SECTIONS, find_command
from dna_bigbird.cli.help import names_of, option_groups, text_of, usage
from dna_bigbird.cli.option_types import CommandOption
from dna_bigbird.cli.parser import Parser, build_parser


def option(each: CommandOption) -> str:
    """Return the entry of an option: its names with the value, and its text with the default."""
    return f"````{{option}} {names_of(each)}\n{escaped(text_of(each))}\n````\n"


def options(parser: Parser) -> Iterator[str]:
    """Yield the groups of options with their headings."""
    for _, title, each in option_groups(parser):
        if title != "options":
            yield f"**{escaped(' '.join(title.split()))}**\n"
        yield from map(option, each)


def command(name: str) -> str:
    """Return the help of a command."""
    parser, _ = build_parser(name, [])
    line = textwrap.fill(usage(parser), 80, subsequent_indent="    ", break_on_hyphens=False)
    examples = inspect.cleandoc(parser.epilog.partition("\n")[2])
    block = f"\nExamples:\n\n```sh\n{examples}\n```\n" if examples else ""
    return (
        f"## {name}\n\n```{{program}} {parser.prog}\n```\n\n```text\n{line}\n```\n\n"
        f"{prose(parser.description)}\n{block}\n" + "\n".join(options(parser))
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
        "# Commands\n\nThe pages have the text of `dna-bigbird COMMAND --help_all`. Every option can also be set in a "
        f"YAML file: `--config FILE`. The groups of commands: {groups}.\n\n"
        + "\n".join(lists)
        + f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )
    return {"commands.md": index} | pages
