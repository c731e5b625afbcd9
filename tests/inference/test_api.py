"""`dna_bigbird.inference` as a user imports it."""

import inspect
import subprocess
import sys

import pytest

import dna_bigbird.inference as api
from dna_bigbird.cli.main import COMMANDS, build_parser

FUNCTIONS = ("embed", "load_bundle", "mutagenesis", "predict", "score_variants")
OF_THE_COMMAND_LINE = {"progress", "picture", "compute"}


def test_nothing_heavy_is_imported_before_it_is_used():
    code = (
        "import sys, dna_bigbird, dna_bigbird.inference as api; dir(api); "
        "print(sorted({'torch', 'numpy', 'h5py', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names():
    assert sorted(api.__all__) == sorted(FUNCTIONS)
    assert set(FUNCTIONS) <= set(dir(api))
    with pytest.raises(AttributeError, match="has no attribute 'predikt'"):
        _ = api.predikt


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_is_a_documented_function_whatever_was_imported_before(name):
    function = getattr(api, name)
    assert inspect.isfunction(function)
    assert function.__name__ == name
    assert "Raises:" in function.__doc__
    hints = inspect.get_annotations(function)
    parameters = inspect.signature(function).parameters
    assert set(parameters) - {"compute"} <= set(hints)


@pytest.mark.parametrize("command", ["predict", "embed", "score-variants", "mutagenesis"])
def test_the_command_has_the_options_of_the_function(command):
    assert command in COMMANDS
    function = getattr(api, command.replace("-", "_"))
    parser, _ = build_parser(command)
    options = {action.dest for action in parser._actions if hasattr(action, "_typehint")}
    names = set(inspect.signature(function).parameters)
    missing = names - options - OF_THE_COMMAND_LINE - {"sequences"}
    assert missing == set()
