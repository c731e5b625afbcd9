"""pyproject.toml, constraints.txt, environment.yml and the containers name the same set."""

import re
import tomllib
from pathlib import Path

import jinja2
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from dna_bigbird import __version__
from tests.core_packages import closure, project

ROOT = Path(__file__).parents[1]
FOLDERS, FILES = ("workflow", "config", "data_specs"), ("environment.yml",)
OURS = "dna-bigbird"
CONDA_NAMES = {
    "torch": "pytorch",
    "matplotlib": "matplotlib-base",
    "snakemake": "snakemake-minimal",
}
ONLY_CONDA = {"python", "pip", "bedtools"}
ONLY_PIP = {"kenlm"}
"""Built from source by those who want it."""
DOCS = {"docs"}
"""`make docs` installs it into an environment of its own."""
FUZZ = {"fuzz"}
"""`make fuzz` needs it, a tool of developers; wheels for Linux on x86-64 alone."""
LARGE = {"bench", "motifs"}
"""150 MB for files in parquet, which bench also reads as TSV; numba, igraph and the matrices of JASPAR."""
SITE = {"furo", "myst-nb", "sphinx", "sphinx-copybutton"}
NOT_IN_CONDA = ONLY_PIP | SITE | {"atheris", "triton", "memelite", "modisco-lite", "pyjaspar"}
"""triton is for Linux alone, and conda files have no markers; conda's own pytorch for CUDA has it. The others are the
extras `motifs`, `docs` and `fuzz`, which pip adds."""
RECIPE_EXTRAS = ("train", "workflow")
"""What the conda recipe installs with the core."""
RECIPE_ONLY = {"python": ">=3.11", "bedtools": ">=2.30", "__linux": ""}
IN_ALL = {"train", "workflow", "text", "slurm", "anndata", "dataframe", "native", "dev"}


def extras() -> dict[str, list[Requirement]]:
    listed = project()["optional-dependencies"]
    return {extra: [Requirement(text) for text in texts] for extra, texts in listed.items()}


def required() -> dict[str, Requirement]:
    """Every package that the core or an extra names."""
    core = [Requirement(text) for text in project()["dependencies"]]
    named = [*core, *(each for texts in extras().values() for each in texts)]
    return {canonicalize_name(each.name): each for each in named if each.name != OURS}


def included(extra: str) -> set[str]:
    """The extras that an extra consists of, itself with them."""
    parts = [part for each in extras()[extra] if each.name == OURS for part in each.extras]
    return {extra}.union(*map(included, parts))


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
    expected = {CONDA_NAMES.get(name, name) for name in required().keys() - NOT_IN_CONDA}
    assert set(conda()) - ONLY_CONDA == expected


def test_conda_has_the_same_ranges():
    for name, requirement in required().items():
        if name in NOT_IN_CONDA:
            continue
        assert conda()[CONDA_NAMES.get(name, name)] == str(requirement.specifier), name
    assert conda()["python"] == project()["requires-python"]


def recipe() -> dict:
    """The conda recipe with its templates filled in, by jinja2 and not by conda."""
    text = (ROOT / "containers/conda/meta.yaml").read_text()
    calls = {"PYTHON": "python", "pin_subpackage": lambda name, max_pin: f"{name} of {max_pin}"}
    return yaml.safe_load(jinja2.Template(text, undefined=jinja2.StrictUndefined).render(calls))


def ranges(lines: list[str]) -> dict[str, str]:
    """Version range by package name."""
    return {canonicalize_name(name): rest for name, _, rest in (x.partition(" ") for x in lines)}


def conda_ranges(requirements: list[Requirement]) -> dict[str, str]:
    named = {canonicalize_name(each.name): each for each in requirements if each.name != OURS}
    return {CONDA_NAMES.get(name, name): str(each.specifier) for name, each in named.items()}


def test_the_recipe_runs_with_what_pyproject_requires():
    parts = [each for extra in RECIPE_EXTRAS for each in extras()[extra]]
    expected = conda_ranges([*map(Requirement, project()["dependencies"]), *parts])
    only = {canonicalize_name(name): spec for name, spec in RECIPE_ONLY.items()}
    assert ranges(recipe()["requirements"]["run"]) == expected | only
    others = conda_ranges([each for texts in extras().values() for each in texts])
    assert ranges(recipe()["requirements"]["run_constrained"]).items() <= others.items()


def test_the_recipe_builds_this_version_as_pyproject_says():
    fields = recipe()
    assert fields["package"] == {"name": OURS, "version": __version__}
    assert fields["about"]["license"] == project()["license"]
    assert fields["about"]["summary"] == project()["description"]
    assert fields["build"]["entry_points"] == [
        f"{name} = {function}" for name, function in project()["scripts"].items()
    ]
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    host = ranges(fields["requirements"]["host"])
    assert host == {"python": project()["requires-python"], "pip": ""} | conda_ranges(
        list(map(Requirement, build))
    )
    licences = {Path(name) for name in fields["about"]["license_file"]}
    texts = {path.relative_to(ROOT) for path in (ROOT / "dna_bigbird").rglob("PROVENANCE.md")}
    assert licences == texts | {Path("LICENSE")}


def test_all_has_every_extra_but_those_built_from_source_and_the_large_one():
    assert included("all") == IN_ALL | {"all"}
    assert set(extras()) - included("all") == ONLY_PIP | LARGE | DOCS | FUZZ


@pytest.mark.parametrize("extra", ["text", "workflow", "slurm"])
def test_what_trains_installs_what_training_needs(extra):
    assert "train" in included(extra)


def test_everything_that_is_installed_is_pinned():
    """Also what the packages of `[all]` require: another day would install other versions."""
    names = closure([*project()["dependencies"], *map(str, packages_of_all())])
    assert sorted(names - pinned().keys()) == []


def packages_of_all() -> list[Requirement]:
    return [each for extra in included("all") for each in extras()[extra] if each.name != OURS]


@pytest.mark.parametrize("name", sorted(required()))
def test_the_pin_lies_in_the_range(name):
    assert pinned()[name] in required()[name].specifier


def test_the_page_of_holes_names_the_floors():
    page = (ROOT / "docs/explanation/files-and-safety.md").read_text()
    table = page.split("## Versions without known holes")[1].split("\n## ")[0]
    named = [Requirement(text) for text in re.findall(r"`([a-z0-9-]+>=[0-9.]+)`", table)]
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    floors = required() | {each.name: each for each in map(Requirement, build)}
    assert len(named) > 12
    for each in named:
        assert floors[canonicalize_name(each.name)].specifier == each.specifier, each.name


def test_torch_is_pinned_for_every_build():
    """A local version such as +cpu would exclude the others."""
    assert all(version.local is None for version in pinned().values())
    assert str(pinned()["torch"]) == "2.13.0"


@pytest.mark.parametrize("recipe", ["containers/Dockerfile", "containers/dna-bigbird.def"])
def test_containers_install_the_pins(recipe):
    text = (ROOT / recipe).read_text()
    assert "--constraint constraints.txt" in text
    assert "'.[all]'" in text
    assert re.search(r"apt-get install .*\bbedtools\b", text)


@pytest.mark.parametrize("recipe", ["containers/Dockerfile", "containers/dna-bigbird.def"])
def test_containers_have_what_the_wheel_is_built_from(recipe):
    words = (ROOT / recipe).read_text().split()
    assert {"pyproject.toml", "setup.py", "README.md", "dna_bigbird", *FOLDERS, *FILES} <= set(
        words
    )


def test_make_setup_installs_everything():
    assert "--editable '.[all]'" in (ROOT / "Makefile").read_text()


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
