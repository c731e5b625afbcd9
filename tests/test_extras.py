"""The table of packages that the core lacks agrees with pyproject.toml and with the imports."""

import ast
import functools
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dna_bigbird.core.errors import InputError, MissingExtraError, errors_for_reader
from dna_bigbird.core.extras import EXTRAS, install_command
from tests.core_packages import closure, project

PACKAGE = Path(__file__).parents[1] / "dna_bigbird"
EXTRA_REQUIREMENTS = project()["optional-dependencies"]


OTHER_NAMES = {"modiscolite": ["modisco-lite"]}
"""Packages of modules, where the name is another; for those that are not installed here."""


@functools.cache
def distributions() -> dict[str, list[str]]:
    return OTHER_NAMES | dict(packages_distributions())


def distribution_of(module: str) -> str:
    """The package that installs a module; for one that is not installed here, the same name."""
    return canonicalize_name(distributions().get(module, [module])[0])


def names_in(texts: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in texts}


def imported_modules() -> set[str]:
    """Top-level modules that the package imports anywhere, those of the standard library left out."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names - {"dna_bigbird"}


def test_the_table_has_every_module_that_the_core_does_not_declare():
    core = names_in(project()["dependencies"])
    not_core = {name for name in imported_modules() if distribution_of(name) not in core}
    assert set(EXTRAS) == not_core


@pytest.mark.parametrize("module", EXTRAS)
def test_the_extra_names_the_package(module):
    assert distribution_of(module) in names_in(EXTRA_REQUIREMENTS[EXTRAS[module]])


def test_the_core_is_small():
    names = closure(project()["dependencies"])
    heavy = {
        "pytorch-lightning", "scikit-learn", "scipy", "snakemake", "pybedtools", "tensorboard",
        "pyliftover", "rouge-score", "transformers", "pandas",
    }  # fmt: skip
    assert names & heavy == set()
    assert len(names) <= 60


def test_a_missing_module_of_an_extra_is_one_line():
    line = r"^sklearn is not installed; type: pip install '\S+\[train\]'$"
    with pytest.raises(MissingExtraError, match=line) as caught, errors_for_reader():
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize("name", ["dna_bigbird.no_such_module", "sklearn.no_such_part", None])
def test_other_missing_modules_are_faults_of_the_program(name):
    with pytest.raises(ModuleNotFoundError, match="No module"), errors_for_reader():
        raise ModuleNotFoundError("No module", name=name)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ('{"url": "file://%s", "dir_info": {"editable": true}}', "pip install '{folder}[train]'"),
        ('{"url": "file://%s/missing"}', "pip install 'dna-bigbird[train]'"),
        ('{"url": "https://host/x.whl", "archive_info": {}}', "pip install 'dna-bigbird[train]'"),
        (None, "pip install 'dna-bigbird[train]'"),
    ],
    ids=["checkout", "checkout that is gone", "download", "index"],
)
def test_an_extra_comes_from_where_the_package_came_from(tmp_path, monkeypatch, record, expected):
    """As pip writes it down (PEP 610)."""
    folder = tmp_path / "a copy"
    info = tmp_path / "packages" / "dna_bigbird-1.dist-info"
    for each in (folder, info):
        each.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dna-bigbird\nVersion: 1\n")
    if record:
        url = str(folder).replace(" ", "%20")
        (info / "direct_url.json").write_text(record.replace("%s", url))
    monkeypatch.setattr(sys, "path", [str(info.parent)])
    assert install_command("train") == expected.format(folder=folder)
