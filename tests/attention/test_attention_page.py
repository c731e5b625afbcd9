"""The examples of the pages on attention give what they say."""

import doctest
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs/explanation"


@pytest.mark.parametrize(
    ("page", "fewest"), [("attention", 11), ("bigbird-etc", 8), ("longformer-and-performer", 12)]
)
def test_examples_of_the_page(page, fewest):
    results = doctest.testfile(str(PAGES / f"{page}.md"), module_relative=False)
    assert results.attempted >= fewest
    assert results.failed == 0
