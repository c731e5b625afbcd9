"""The script that measures installations: what it copies, counts and prints."""

import json
import subprocess
import sys

import pytest


@pytest.fixture
def install(script):
    return script("install")


def test_the_copy_is_what_a_wheel_is_built_from(install, tmp_path):
    copied = install.copy_sources(tmp_path / "sources")
    names = {path.name for path in copied.iterdir()}
    assert {"pyproject.toml", "setup.py", "dna_bigbird", "workflow", "data_specs"} <= names
    assert {".venv", "results", ".git"} & names == set()


def test_sizes_of_packages(install):
    done = subprocess.run(
        [sys.executable, "-c", install.SIZES], capture_output=True, text=True, check=True
    )
    sizes = json.loads(done.stdout)
    assert sizes["torch"] > 100e6
    assert sizes["numpy"] > 10e6


def test_the_table(install):
    core = install.Installation("core", 43, 371.6, 757.2, 249.0, 61.4)
    assert list(install.rows([core]))[-1] == "| core | 43 | 372 | 757 | 249 | 61 |"
    assert len({line.count("|") for line in install.rows([core])}) == 1
