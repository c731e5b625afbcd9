"""`import dna_bigbird`: the functions that a user calls."""

import inspect
import subprocess
import sys

import pytest

import dna_bigbird

FUNCTIONS = (
    "predict", "embed", "score_variants", "mutagenesis", "load_bundle", "pretrain", "finetune",
    "evaluate",
)  # fmt: skip


def test_importing_the_package_loads_nothing_slow():
    code = (
        "import sys, dna_bigbird; dir(dna_bigbird); from dna_bigbird import text; dir(text); "
        "print(sorted({'torch', 'numpy', 'h5py', 'scipy', 'jsonargparse'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names():
    assert {*FUNCTIONS, "text", "__version__"} == set(dna_bigbird.__all__)
    assert set(dna_bigbird.__all__) <= set(dir(dna_bigbird))
    with pytest.raises(AttributeError, match="has no attribute 'predikt'"):
        _ = dna_bigbird.predikt


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_name_is_a_function_with_documented_arguments(name):
    function = getattr(dna_bigbird, name)
    assert inspect.isfunction(function)
    assert function.__name__ == name
    assert "Args:" in function.__doc__ or name == "load_bundle"


def test_text_has_the_functions_of_its_commands():
    assert inspect.isfunction(dna_bigbird.text.evaluate)
    assert inspect.isfunction(dna_bigbird.text.predict)
