"""What cli/parser_internals.py reads of jsonargparse is there, and no other file reads it."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import jsonargparse
import pytest

from dna_bigbird.cli.parser_internals import (
    TESTED_VERSIONS,
    Formatter,
    actions_of,
    groups_of,
    has_type,
    is_recipe,
    option_names,
    type_of,
)

COMMAND_LINE = Path(__file__).parents[2] / "dna_bigbird" / "cli"
OTHER_FILES = sorted(set(COMMAND_LINE.glob("*.py")) - {COMMAND_LINE / "parser_internals.py"})


@dataclass(frozen=True)
class Oven:
    heat: int = 200


@pytest.fixture
def parser():
    parser = jsonargparse.ArgumentParser(prog="x", description="a  b", formatter_class=Formatter)
    parser.add_argument("--mode", type=Literal["fast", "exact"], default="fast", help="How.")
    parser.add_argument("--times", type=int, default=1, help="How often.")
    parser.add_argument("path", type=str)
    return parser


def test_this_version_of_the_parser_is_tested():
    """After an update run the tests of tests/cli, then add the release."""
    assert jsonargparse.__version__.rpartition(".")[0] in TESTED_VERSIONS


def test_options_and_their_types(parser):
    assert [action.dest for action in actions_of(parser)] == ["help", "mode", "times", "path"]
    assert option_names(parser) == {"h", "help", "mode", "times"}
    assert [has_type(action) for action in actions_of(parser)] == [False, True, True, True]
    assert type_of(actions_of(parser)[1]) == Literal["fast", "exact"]
    assert type_of(actions_of(parser)[0]) is None


def test_the_option_of_a_whole_recipe(parser):
    parser.add_argument("--oven", type=Oven, default=Oven())
    assert [action.dest for action in actions_of(parser) if is_recipe(action)] == ["oven"]
    assert "oven.heat" in option_names(parser)


def test_groups_can_be_reordered(parser):
    groups = groups_of(parser)
    groups.reverse()
    text = parser.format_help()
    assert text.index("--mode") < text.index("positional arguments:")


def test_the_parts_of_a_help_text_can_be_changed(parser):
    class Short(Formatter):
        def fill(self, text, width, indent):
            return f"<{text}>\n"

        def help_text(self, action):
            return f"({action.dest})"

        def value_name(self, action):
            return "VALUE"

        def names(self, action):
            return [name.upper() for name in action.option_strings]

    parser.formatter_class = Short
    text = parser.format_help()
    assert "<a  b>" in text
    assert "--TIMES VALUE" in text
    assert "(mode)" in text


@pytest.mark.parametrize("path", OTHER_FILES, ids=lambda path: path.stem)
def test_no_other_file_reads_private_names(path):
    private = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    ]
    assert private == []
