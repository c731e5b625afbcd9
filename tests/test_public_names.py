"""`import dna_bigbird`: the functions that a user calls."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import dna_bigbird
from dna_bigbird.cli.commands import BENCH, COMMANDS, MODELS, THEORY
from dna_bigbird.core.lazy_names import load

PACKAGE = Path(dna_bigbird.__file__).parent
FUNCTIONS = sorted({*dna_bigbird.__all__} - {"InputError", "text", "__version__"})


def test_importing_the_package_loads_nothing_slow():
    code = (
        "import sys, dna_bigbird; dir(dna_bigbird); from dna_bigbird import text; dir(text); "
        "print(sorted({'torch', 'numpy', 'h5py', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_command_is_a_function():
    tables = (COMMANDS, BENCH, MODELS, THEORY)
    commands = {load(each.function) for table in tables for each in table.values()}
    named = {getattr(dna_bigbird, name) for name in dna_bigbird.__all__}
    assert commands <= named
    assert named - commands == {
        dna_bigbird.InputError, dna_bigbird.load, dna_bigbird.load_bundle, dna_bigbird.text, dna_bigbird.__version__,
    }  # fmt: skip
    names = {name.replace("-", "_") for name in COMMANDS} - {"genome", "documents", "report"}
    assert names <= set(dna_bigbird.__all__)
    assert inspect.ismodule(dna_bigbird.genome)
    assert inspect.ismodule(dna_bigbird.report)


def test_the_public_names():
    assert set(dna_bigbird.__all__) <= set(dir(dna_bigbird))
    with pytest.raises(AttributeError, match="has no attribute 'predikt'"):
        _ = dna_bigbird.predikt


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_name_is_a_function_with_documented_arguments(name):
    function = getattr(dna_bigbird, name)
    assert inspect.isfunction(function)
    assert (
        "Args:" in function.__doc__
        or not inspect.signature(function).parameters
        or name == "load_bundle"
    )


STUBS = sorted(PACKAGE.rglob("__init__.pyi"))


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.parent.name)
def test_a_stub_has_the_public_names(stub):
    """Type checkers read the stub, Python the lazy names: the same ones of the same modules."""
    folder = stub.parent.relative_to(PACKAGE.parent)
    package = importlib.import_module(".".join(folder.parts))
    body = ast.parse(stub.read_text()).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom)]
    public = {x.value.id: x.targets[0].id for x in body if isinstance(x, ast.Assign)}
    names = {public.get(node.names[0].asname, node.names[0].asname) for node in imports}
    assert names == set(package.__all__) - {"__version__"}
    for node in imports:
        (name,) = node.names
        module = importlib.import_module(node.module)
        if name.name == "text":
            assert package.text is importlib.import_module(f"{node.module}.text")
            continue
        assert getattr(module, name.name) is getattr(package, public.get(name.asname, name.asname))


def test_the_package_has_types():
    assert (PACKAGE / "py.typed").is_file()
    assert len(STUBS) == 2


def test_text_has_the_functions_of_its_commands():
    assert inspect.isfunction(dna_bigbird.text.evaluate)
    assert inspect.isfunction(dna_bigbird.text.predict)
