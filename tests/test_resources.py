"""Folders of the checkout are found in it and in an installed package."""

from pathlib import Path

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.resources import import_folder, resource_folder

ROOT = Path(__file__).parents[1]
NAMES = ("workflow", "config", "data_specs")


@pytest.fixture
def installed(tmp_path):
    """A package as pip installs it, among others."""
    package = tmp_path / "site-packages" / "dna_bigbird"
    for name in NAMES:
        (package / "_files" / name).mkdir(parents=True)
    (package / "__init__.py").write_text("NAME = 'the installed one'\n")
    (package.parent / "other.py").touch()
    (package.parent / "config").mkdir()  # of a careless package
    return package


@pytest.mark.parametrize("name", NAMES)
def test_of_a_checkout(name):
    assert resource_folder(name) == ROOT / name


@pytest.mark.parametrize("name", NAMES)
def test_of_an_installed_package(installed, name):
    assert resource_folder(name, installed) == installed / "_files" / name


def test_a_package_copied_without_them_is_named(tmp_path):
    package = tmp_path / "dna_bigbird"
    with pytest.raises(
        InputError, match="dna_bigbird: this copy of the package lacks workflow/; in"
    ):
        resource_folder("workflow", package)


def test_another_python_imports_the_checkout(tmp_path):
    assert import_folder(tmp_path) == ROOT
    assert list(tmp_path.iterdir()) == []


def test_another_python_imports_only_this_of_the_installed_packages(installed, tmp_path):
    folder = import_folder(tmp_path / "work", installed)
    assert [path.name for path in folder.iterdir()] == ["dna_bigbird"]
    assert "the installed one" in (folder / "dna_bigbird/__init__.py").read_text()
    assert import_folder(tmp_path / "work", installed) == folder


def test_a_link_into_an_environment_that_is_gone_is_renewed(installed, tmp_path):
    folder = import_folder(tmp_path, installed)
    (folder / "dna_bigbird").unlink()
    (folder / "dna_bigbird").symlink_to(tmp_path / "gone")
    import_folder(tmp_path, installed)
    assert (folder / "dna_bigbird").resolve() == installed
