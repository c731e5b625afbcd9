"""The lists of commands: `dna-bigbird --help` and `dna-bigbird text --help`."""

from collections.abc import Iterable

from dna_bigbird.cli.commands import ABOUT_GROUPS, GROUPS, SECTIONS, find_command


def overview() -> str:
    """Return the text of `dna-bigbird --help`."""
    width = max(len(name) for names in SECTIONS.values() for name in names)
    lists = "\n\n".join(f"{title}\n{_table(names, width)}" for title, names in SECTIONS.items())
    return (
        "usage: dna-bigbird COMMAND [options]\n\n"
        "BigBird for genomes, from a reference genome to predictions.\n\n"
        f"{lists}\n\n"
        "dna-bigbird COMMAND --help lists the options of a command, with examples. Every option can\n"
        "also be set in a YAML file: --config FILE. Intervals are 0-based and half-open unless stated.\n"
    )


def group_overview(group: str) -> str:
    """Return the text of `dna-bigbird GROUP --help`."""
    table = _table([f"{group} {name}" for name in GROUPS[group]])
    return (
        f"usage: dna-bigbird {group} COMMAND [options]\n\n"
        f"{ABOUT_GROUPS[group]}\n\ncommands:\n{table}\n\n"
        f"dna-bigbird {group} COMMAND --help lists the options of a command, with examples.\n"
    )


def _table(names: Iterable[str], width: int = 0) -> str:
    """Return one line per command."""
    names = list(names)
    width = max([width, *map(len, names)])
    return "\n".join(f"  {name:<{width}}  {find_command(name).about}" for name in names)
