"""The version has one source; the changelog, the citation and the table of formats agree with it."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

from dna_bigbird import __version__

ROOT = Path(__file__).parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
SECTIONS = re.findall(r"^## (.*)$", CHANGELOG, flags=re.MULTILINE)
RELEASE = re.compile(r"\[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d")
_FORMAT = re.compile(r"^\| [^|]+ \| (\d+) \| `(dna_bigbird[\w.]+)\.(\w+)` \|$", flags=re.MULTILINE)
FORMATS = _FORMAT.findall((ROOT / "docs/development/versions.md").read_text())


def test_the_version_is_valid_and_has_three_numbers():
    assert str(Version(__version__)) == __version__  # PEP 440, in its normal form
    assert len(Version(__version__).release) == 3


def test_pyproject_reads_the_version_of_the_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in settings["project"]["dynamic"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {
        "attr": "dna_bigbird.__version__"
    }


def test_the_citation_has_the_version():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__


def test_the_changelog_leads_to_the_version():
    """Its first section is the version or what comes next; older releases have smaller numbers."""
    releases = [RELEASE.fullmatch(title)[1] for title in SECTIONS if title != "[Unreleased]"]
    assert "[Unreleased]" not in SECTIONS[1:]
    if SECTIONS[0] == "[Unreleased]":
        releases.insert(0, __version__)
    assert releases[0] == __version__
    versions = [Version(release) for release in releases]
    assert versions == sorted(set(versions), reverse=True)


def test_the_parts_of_the_changelog():
    parts = set(re.findall(r"^### (.*)$", CHANGELOG, flags=re.MULTILINE))
    assert parts <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.parametrize(("version", "module", "name"), FORMATS)
def test_the_formats_in_the_docs_are_those_of_the_code(version, module, name):
    """A format of HDF5 files has the versions that it reads."""
    constant = getattr(importlib.import_module(module), name)
    assert int(version) in getattr(constant, "versions", [constant])


def test_every_format_is_in_the_docs():
    """A constant that becomes `format_version` of a file is assigned in one module."""
    assigned = {
        (path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."), name)
        for path in (ROOT / "dna_bigbird").rglob("*.py")
        for name in re.findall(
            r"^([A-Z_]+)(?:(?<=_VERSION) = \d+$| = StoreFormat\()",
            path.read_text(),
            flags=re.MULTILINE,
        )
    }
    assert {(module, name) for _, module, name in FORMATS} == assigned
