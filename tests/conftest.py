"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest

REAL_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with small pieces of real data; tests that use it are skipped where it is absent."""
    folder = Path(os.environ.get("DNA_BIGBIRD_REAL_DATA", REAL_DATA))
    if not (folder / "README.md").is_file():
        pytest.skip("the folder with real sample data is not here (set DNA_BIGBIRD_REAL_DATA)")
    return folder
