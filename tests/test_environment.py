"""pyproject.toml, constraints.txt, environment.yml and the containers name the same set."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
CONDA_NAMES = {
    "torch": "pytorch",
    "matplotlib": "matplotlib-base",
    "snakemake": "snakemake-minimal",
}
OF_EXTRAS = {"jsonargparse": {"docstring-parser", "typeshed-client"}}
"""What an extra stands for; conda has no extras."""
ONLY_CONDA = {"python", "pip", "bedtools"}
ONLY_PIP = {"kenlm"}
"""Built from source by those who want it."""


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def required() -> dict[str, Requirement]:
    extras = project()["optional-dependencies"].values()
    texts = [*project()["dependencies"], *(text for extra in extras for text in extra)]
    found = [Requirement(text) for text in texts]
    return {canonicalize_name(one.name): one for one in found}


def pinned() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def conda() -> dict[str, str]:
    """Version range by package name."""
    lines = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    matches = [re.fullmatch(r"([A-Za-z0-9_.-]+?)((?:[<>=].*)?)", line) for line in lines]
    return {canonicalize_name(match[1]): match[2] for match in matches}


def test_conda_has_the_same_packages():
    expected = {CONDA_NAMES.get(name, name) for name in required().keys() - ONLY_PIP}
    for name, of_extra in OF_EXTRAS.items():
        assert required()[name].extras == {"signatures"}
        expected |= of_extra
    assert set(conda()) - ONLY_CONDA == expected


def test_conda_has_the_same_ranges():
    for name, requirement in required().items():
        if name in ONLY_PIP:
            continue
        assert conda()[CONDA_NAMES.get(name, name)] == str(requirement.specifier), name
    assert conda()["python"] == project()["requires-python"]


@pytest.mark.parametrize("name", sorted(required()))
def test_the_pin_lies_in_the_range(name):
    assert pinned()[name] in required()[name].specifier


def test_torch_is_pinned_for_every_build():
    """A local version such as +cpu would exclude the others."""
    assert all(version.local is None for version in pinned().values())
    assert str(pinned()["torch"]) == "2.13.0"


@pytest.mark.parametrize("recipe", ["containers/Dockerfile", "containers/dna-bigbird.def"])
def test_containers_install_the_pins(recipe):
    text = (ROOT / recipe).read_text()
    assert "--constraint constraints.txt" in text
    assert re.search(r"apt-get install .*\bbedtools\b", text)


def test_package_data_is_declared():
    """A file beside the code that pyproject.toml does not name is missing after `pip install`."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    patterns = tool["setuptools"]["package-data"]["dna_bigbird"]
    package = ROOT / "dna_bigbird"
    declared = {path for pattern in patterns for path in package.glob(pattern)}
    found = {
        path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert found <= declared, sorted(str(path) for path in found - declared)
