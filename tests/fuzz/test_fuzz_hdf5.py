"""Any flipped bit and any truncation of our HDF5 files: the same content, or one line of error."""

import subprocess
import sys

import pytest

from tests.fuzz.hdf5_child import FORMATS

LIMIT_S = 3000
"""A guard against a library that never returns; nothing is measured by it."""


def refused(folder, name: str, start: int, reads: int, commands: int) -> int:
    """Run the child; return how many of its inputs were refused."""
    print(f"seed {start}, {reads} reads, {commands} commands")
    argv = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.hdf5_child"]
    done = subprocess.run(
        [*argv, *map(str, (folder, name, start, reads, commands))],
        capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.returncode}: {folder}\n{done.stderr[-3000:]}"
    return int(done.stdout.split()[-1])


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_are_the_same_or_refused(tmp_path, name):
    assert refused(tmp_path, name, start=0, reads=250, commands=30) > 60


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_thousands_of_damaged_files(tmp_path, name, start):
    assert refused(tmp_path, name, start, reads=8000, commands=600) > 1000
