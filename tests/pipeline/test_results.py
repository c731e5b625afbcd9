"""Every function of a DNA command returns a frozen result, and its module loads nothing slow."""

import subprocess
import sys
import typing

import pytest

from dna_bigbird.bundles.info import info
from dna_bigbird.cli.commands import COMMANDS
from dna_bigbird.cli.parser import load_function
from dna_bigbird.core.results import Comparison, ConvertedModel, Written

OTHERS = {
    name: entry
    for name, entry in COMMANDS.items()
    if not entry.function.startswith(("dna_bigbird.prediction.", "dna_bigbird.cli."))
}
SLOW = ("torch", "scipy", "pytorch_lightning", "sklearn", "h5py", "pandas", "matplotlib")


@pytest.mark.parametrize("name", OTHERS)
def test_a_command_returns_a_frozen_result(name):
    result = typing.get_type_hints(load_function(OTHERS[name]))["return"]
    for each in typing.get_args(result) or (result,):  # a dry run returns another one
        assert each.__dataclass_params__.frozen
        assert typing.get_type_hints(each.summary)["return"] is str


def test_modules_of_commands_load_nothing_slow():
    modules = [entry.function.partition(":")[0] for entry in OTHERS.values()]
    assert len(modules) > 20
    lines = [f"import {module}" for module in modules]
    lines += ["import sys", f"print([name for name in {SLOW} if name in sys.modules])"]
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_summaries(tmp_path):
    assert Written(tmp_path).summary() == ""
    assert Comparison(tmp_path, [{}], ["a is better.", "b is short."]).summary() == (
        "a is better.\nb is short."
    )
    converted = ConvertedModel(tmp_path, "written", ("random_plan uniform",))
    assert converted.summary() == f"{tmp_path}: written\n  random_plan uniform"


def test_info_without_a_path_describes_the_bundled_model(capsys):
    description = info()
    assert description.facts["config"]["task"] == "promoter"
    assert description.summary().startswith(f"bundle     {description.path}\ntask       promoter\n")
    assert capsys.readouterr().out == ""
