"""The toy corpus as a fixture."""

from types import SimpleNamespace

import pytest

from tests.toy_corpus import make_corpus


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory) -> SimpleNamespace:
    """Documents of both strands on two chromosomes with a gap, lower case and single N."""
    return make_corpus(tmp_path_factory.mktemp("corpus"))
