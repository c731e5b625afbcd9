"""Every option name has one meaning: the first words of its description, in all commands the same.

The name of a nested option is its last part: `--split.seed` is a seed, `--head.dropout` a dropout.
`option_meanings.yaml` lists the names whose descriptions differ between commands.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from dna_bigbird.cli.commands import Command, every_command
from dna_bigbird.cli.option_types import GENERAL
from dna_bigbird.cli.parser import parser_of, parsers_of

TABLE = Path(__file__).with_name("option_meanings.yaml")


def meaning(description: str) -> str:
    """The first words of a description, up to a full stop, colon or semicolon."""
    return re.split(r"[.:;](?:\s|$)", " ".join(description.split()))[0]


@dataclass(frozen=True)
class Use:
    """One option of one command."""

    option: str
    """As in "predict --model"."""
    description: str


def uses_in(parsers) -> dict[str, dict[str, set[Use]]]:
    """Name of each option -> each of its meanings -> where it has that meaning.

    Args:
        parsers: (command, parser) pairs.
    """
    found = defaultdict(lambda: defaultdict(set))
    for command, parser in parsers:
        for option in (*parser.options, *GENERAL):
            use = Use(f"{command} --{option.dest}", " ".join(option.help.split()))
            found[option.dest.rpartition(".")[2]][meaning(option.help)].add(use)
    return found


@pytest.fixture(scope="module")
def uses():
    return uses_in((name, parser) for name in every_command() for parser in parsers_of(name))


def test_no_name_has_two_meanings(uses):
    """If one has: describe it as the other commands do, with the difference after a colon.

    If it is something else, give it another name, and keep the old one as an alias.
    """
    two = {
        name: {text: sorted(use.option for use in where) for text, where in meanings.items()}
        for name, meanings in uses.items()
        if len(meanings) > 1
    }
    assert two == {}


def test_the_reviewed_table_lists_every_name_with_several_descriptions(uses):
    """A new row is a decision: is this what the name means everywhere?"""
    several = {
        name: text
        for name, meanings in uses.items()
        for text, where in meanings.items()
        if len({use.description for use in where}) > 1
    }
    assert yaml.safe_load(TABLE.read_text()) == several


def test_the_table_is_sorted():
    names = list(yaml.safe_load(TABLE.read_text()))
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("Seed of the random numbers: of the\n    negatives.", "Seed of the random numbers"),
        ("CPU threads; 0 leaves the choice to torch.", "CPU threads"),
        ("Model bundle.", "Model bundle"),
        ("Read docs/a.md first, then.go", "Read docs/a.md first, then.go"),
    ],
)
def test_the_meaning_is_the_beginning_of_a_description(description, expected):
    assert meaning(description) == expected


def test_a_second_meaning_would_be_seen():
    def read(model: Path, seed: int = 0):
        """Read.

        Args:
            model: Model bundle: to read.
            seed: Seed of the random numbers.
        """

    def weigh(model: str, seed: int = 1):
        """Weigh.

        Args:
            model: Name of the scales.
            seed: Seed of the random numbers: of the sample.
        """

    parsers = [
        (function.__name__, parser_of(function, Command("a:b", "c"), "x"))
        for function in (read, weigh)
    ]
    found = uses_in(parsers)
    assert {text: [use.option for use in where] for text, where in found["model"].items()} == {
        "Model bundle": ["read --model"],
        "Name of the scales": ["weigh --model"],
    }
    assert list(found["seed"]) == ["Seed of the random numbers"]
