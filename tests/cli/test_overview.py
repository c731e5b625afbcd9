"""`dna-bigbird --help`: every command once, below the heading of its section."""

import itertools

import pytest

from dna_bigbird.cli.commands import COMMANDS, GROUPS, SECTIONS, every_command, find_command
from dna_bigbird.cli.main import main

EVERYDAY = [
    "predict",
    "embed",
    "score-variants",
    "mutagenesis",
    "attribute",
    "view",
    "sequence-set",
    "finetune",
    "evaluate",
]


def headings(text: str) -> dict[str, list[str]]:
    """The blocks of a help text: first word of the heading -> the indented lines below it."""
    blocks = [block.splitlines() for block in text.split("\n\n")]
    return {
        block[0].split(":")[0]: [line.strip() for line in block[1:]]
        for block in blocks
        if len(block) > 1 and block[1].startswith("  ")
    }


def test_the_overview_lists_every_command_below_its_heading(capsys):
    main(["--help"])
    shown = headings(capsys.readouterr().out)
    assert list(shown) == [
        "everyday",
        "data",
        "pretraining",
        "models",
        "benchmarks",
        "text",
        "theory",
        "machine",
    ]
    assert [line.split("  ")[0] for line in shown["everyday"]] == EVERYDAY
    names = [line.split("  ")[0] for line in itertools.chain(*shown.values())]
    assert sorted(names) == sorted(every_command())
    for line in itertools.chain(*shown.values()):
        name, about = line.split("  ", 1)
        assert about.strip() == find_command(name).about


@pytest.mark.parametrize("group", list(GROUPS))
def test_the_overview_of_a_group_lists_its_commands(group, capsys):
    main([group, "--help"])
    lines = headings(capsys.readouterr().out)["commands"]
    assert [line.split("  ")[0] for line in lines] == [f"{group} {name}" for name in GROUPS[group]]


def test_a_section_names_commands_that_exist():
    """A new command needs a line in COMMANDS and a place in SECTIONS."""
    listed = [name for names in SECTIONS.values() for name in names]
    assert set(COMMANDS) - set(listed) == set(), "not in any section of cli/commands.py"
    assert len(listed) == len(set(listed))
