"""The command line stands on no private name of a library."""

import ast
from pathlib import Path

import pytest

COMMAND_LINE = Path(__file__).parents[2] / "dna_bigbird" / "cli"


@pytest.mark.parametrize("path", sorted(COMMAND_LINE.glob("*.py")), ids=lambda path: path.stem)
def test_no_private_name_of_another_module_is_read(path):
    tree = ast.parse(path.read_text())
    read = [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    ]
    imported = [
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in [*(node.module or "").split("."), *(alias.name for alias in node.names)]
    ]
    assert [name for name in read + imported if name[0] == "_" and name[:2] != "__"] == []
