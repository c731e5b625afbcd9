"""What a type checker sees of the public functions and in their modules, if mypy is installed."""

import ast
import importlib
import os
import subprocess
import sys
import tomllib
import typing
from importlib.util import find_spec
from pathlib import Path

import pytest

needs_mypy = pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
ROOT = Path(__file__).parents[1]
SCRIPT = """\
from pathlib import Path
from dna_bigbird import evaluate, finetune, load, load_bundle, predict, score_variants

model = load_bundle("models/promoter")
reveal_type(model)
reveal_type(predict(sequences=["ACGT"], model=[model, "other", Path("third")], device="cpu"))
reveal_type(finetune("genome.fa", "set.h5", model, "model", "checkpoints"))
reveal_type(load().embed(sequences=["ACGT"]))
predict(sequences=3)
predict("regions.fa", strand="reverse")
load().predict("regions.fa", strand="reverse")
"""
CHECKED = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]


@needs_mypy
@pytest.mark.slow
def test_mypy_shows_results_and_refuses_wrong_arguments(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run(
        [*command, script.name],
        cwd=tmp_path, env=os.environ | {"MYPYPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    assert lines[0] == 'note: Revealed type is "dna_bigbird.bundles.bundle.Bundle"'
    assert lines[1].endswith(
        'results.Predictions | dna_bigbird.prediction.results.WrittenPredictions"'
    )
    assert lines[2] == 'note: Revealed type is "dna_bigbird.core.results.TrainedModel"'
    assert lines[3].endswith('results.Embeddings | dna_bigbird.prediction.results.WrittenVectors"')
    assert 'Argument "sequences" to "predict" has incompatible type "int"' in lines[4]
    assert 'Argument "strand" to "predict" has incompatible type' in lines[5]
    assert 'Argument "strand" has incompatible type' in lines[6]
    assert len(lines) == 8


@needs_mypy
@pytest.mark.slow
def test_the_public_modules_have_no_type_errors(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == f"Success: no issues found in {len(CHECKED)} source files\n"


EVERYDAY = {
    "predict", "embed", "score_variants", "mutagenesis", "attribute", "load", "load_bundle", "pretrain",
    "finetune", "evaluate", "baseline", "chromatin_set", "promoter_set", "demo_data", "sequence_set", "info",
}  # fmt: skip
"""Modules of the other commands have about 190 type errors: paths are `Path | str` before `checked`."""


@pytest.mark.parametrize("folder", ["", "text"])
def test_every_public_module_is_checked_and_those_of_results(folder):
    """Also what the functions return."""
    stub = str(Path("dna_bigbird", folder, "__init__.pyi"))
    imports = [
        node
        for node in ast.parse((ROOT / stub).read_text()).body
        if isinstance(node, ast.ImportFrom)
    ]
    modules = {stub}
    for node in imports:
        if not folder and node.names[0].name not in EVERYDAY:
            continue
        function = getattr(importlib.import_module(node.module), node.names[0].name)
        hint = typing.get_type_hints(function)["return"]
        names = {each.__module__ for each in typing.get_args(hint) or (hint,)} | {node.module}
        modules |= {_file_of(name) for name in names}
    assert modules - set(CHECKED) == set()


def _file_of(module: str) -> str:
    """Return the file that a type checker reads: the stub if there is one."""
    path = f"{module.replace('.', '/')}.py"
    return f"{path}i" if (ROOT / f"{path}i").is_file() else path
