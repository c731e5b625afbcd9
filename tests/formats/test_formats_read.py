"""Files of earlier versions are read: the same labels, rows and numbers as when they were written."""

import json
from pathlib import Path

import pytest

from tests.formats.readers import values_of

FILES = Path(__file__).parent / "files"
STORED = json.loads((FILES / "values.json").read_text())
FEW_BYTES = 1_500_000


@pytest.fixture(scope="module")
def read():
    return values_of(FILES)


def numbers_and_rest(value, path=()):
    """Yield the numbers of a JSON value with their paths, and everything else."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from numbers_and_rest(inner, (*path, key))
    else:
        yield path, value


@pytest.mark.parametrize("name", STORED)
def test_a_file_has_the_values_that_it_had(read, name):
    now, then = (dict(numbers_and_rest(values[name])) for values in (read, STORED))
    assert now.keys() == then.keys()
    assert now == {path: near(value) for path, value in then.items()}


def near(value):
    return pytest.approx(value, abs=1e-5) if isinstance(value, float) else value


def test_every_file_is_read():
    names = {path.name.removesuffix(".gz") for path in FILES.iterdir()} - {"values.json"}
    assert names == STORED.keys()
    assert sum(path.stat().st_size for path in FILES.rglob("*")) < FEW_BYTES


def test_the_page_names_every_file():
    page = (FILES.parent / "README.md").read_text()
    assert [path.name for path in FILES.iterdir() if f"`{path.name}`" not in page] == []
