"""The workflow of GitHub calls targets of the Makefile, for the versions that docs/development/checked.md lists."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).parents[1]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
JOBS = yaml.safe_load(WORKFLOW.read_text())["jobs"]
JOB = JOBS["checks"]
MATRIX = {(row["python"], row["torch"]) for row in JOB["strategy"]["matrix"]["include"]}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_ROW = re.compile(
    r"^\| (3\.\d+)[.\d]* \| (\d+\.\d+\.\d+)( \(newest\))? \| [^|]+ \| [^|]+ \|$", re.M
)


def versions_in_docs() -> dict[tuple[str, str], Version]:
    """Return the rows of docs/development/checked.md as the workflow names them, with the version of torch."""
    rows = _ROW.findall((ROOT / "docs/development/checked.md").read_text())
    return {
        (python, "newest" if newest else torch): Version(torch) for python, torch, newest in rows
    }


def makefile_targets() -> set[str]:
    text = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z-]+):", text, flags=re.MULTILINE))


def test_the_versions_are_those_that_were_tested():
    assert len(MATRIX) >= 4
    assert versions_in_docs().keys() == MATRIX


def test_newest_is_newer_than_the_others():
    versions = versions_in_docs()
    newest = {version for key, version in versions.items() if key[1] == "newest"}
    assert len(newest) == 1
    assert newest == {max(versions.values())}


def test_the_ends_of_the_ranges_are_covered():
    oldest_python = min(Version(python) for python, _ in MATRIX)
    assert oldest_python in SpecifierSet(PROJECT["requires-python"])
    assert PROJECT["requires-python"] == f">={oldest_python}"
    torch = next(
        requirement
        for requirement in map(Requirement, PROJECT["dependencies"])
        if requirement.name == "torch"
    )
    assert str(torch.specifier) == ">=" + ".".join(
        str(min(versions_in_docs().values())).split(".")[:2]
    )
    pin = re.search(r"^torch==(.*)$", (ROOT / "constraints.txt").read_text(), flags=re.M)[1]
    assert pin in {version for _, version in MATRIX}


def test_the_package_names_the_same_versions_of_python():
    prefix = "Programming Language :: Python :: 3."
    named = {text.split()[-1] for text in PROJECT["classifiers"] if text.startswith(prefix)}
    assert named == {python for python, _ in MATRIX}


def test_every_call_of_make_has_a_target():
    calls = [step["run"] for step in JOB["steps"] if step.get("run", "").startswith("make ")]
    assert calls == ["make setup", "make lint", "make test", "make demo"]
    assert {call.split()[1] for call in calls} <= makefile_targets()


def test_the_wheel_is_built_and_tried_in_a_job_of_its_own():
    assert JOBS.keys() == {"checks", "docs", "wheel"}
    calls = [step["run"] for step in JOBS["wheel"]["steps"] if "run" in step]
    assert calls == ["make dist"]
    assert "dist" in makefile_targets()
    recipe = (ROOT / "Makefile").read_text().split("\ndist:")[1].split("\n\n")[0]
    for command in ("-m build", "twine check --strict", "pip install", "dna-bigbird predict"):
        assert command in recipe


def test_the_documentation_is_built_and_its_tutorials_run():
    calls = [step["run"] for step in JOBS["docs"]["steps"] if "run" in step]
    assert calls[-1] == "make docs EXECUTE=1"
    assert "docs" in makefile_targets()


def test_the_makefile_reads_the_versions_of_the_matrix():
    assert JOB["env"] == {"PYTHON": "python", "TORCH": "${{ matrix.torch }}"}
    names = set(re.findall(r"^(\w+) \?=", (ROOT / "Makefile").read_text(), flags=re.M))
    assert JOB["env"].keys() <= names
    python = next(s for s in JOB["steps"] if s.get("uses", "").startswith("actions/setup-python@"))
    assert python["with"] == {"python-version": "${{ matrix.python }}"}


@pytest.mark.parametrize("row", JOB["strategy"]["matrix"]["include"], ids=str)
def test_versions_are_text(row):
    """3.10 without quotes would be the number 3.1."""
    assert all(isinstance(value, str) for value in row.values())
