"""The mark of tests that run the program bedtools, which is optional."""

import shutil

import pytest

needs_bedtools = pytest.mark.skipif(
    shutil.which("bedtools") is None, reason="the program bedtools is not on the PATH"
)
