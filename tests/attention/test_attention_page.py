"""The examples of docs/explanation/attention.md give what they say."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/explanation/attention.md"


def test_examples_of_the_page():
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted > 10
    assert results.failed == 0
