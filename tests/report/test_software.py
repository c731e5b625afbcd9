"""The report lists the software that the results rest on, and no other."""

import ast
import re
import tomllib
from pathlib import Path

from dna_bigbird.report.page import PACKAGES

ROOT = Path(__file__).parents[2]
MODULES = {"pytorch-lightning": "pytorch_lightning", "scikit-learn": "sklearn"}
RUNS_ALL = {"snakemake"}
NO_RESULTS = {
    "dna-bigbird", "jinja2", "jsonschema", "protobuf", "pyyaml", "shtab",
    "tensorboard", "threadpoolctl", "tqdm",
}  # fmt: skip
"""Extras by name, templates, options, configs, completion, progress, a file format: no score depends on them."""
ONLY_TEXT = {"rouge-score"}
"""The metrics of text tasks name it."""


def imported() -> set[str]:
    """Return the top modules that files of the package import, wherever in the file."""
    modules = set()
    for path in (ROOT / "dna_bigbird").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add((node.module or "").split(".")[0])
    return modules


def test_what_is_listed_is_imported():
    modules = imported()
    for name in set(PACKAGES) - RUNS_ALL:
        assert MODULES.get(name, name) in modules, name


def test_what_computes_reads_or_writes_is_listed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *extras["train"], *extras["workflow"]]
    needed = {re.match(r"[\w-]+", text)[0] for text in texts}
    assert needed - NO_RESULTS - ONLY_TEXT == set(PACKAGES)
