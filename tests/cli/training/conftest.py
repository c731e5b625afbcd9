"""The tests of this folder run in the folder of the toy project, which those of a process share."""

import pytest

# What refused commands are told to write: in no test may it be there at the end.
NEVER_WRITTEN = ("x", "y", "ck/x")


@pytest.fixture(autouse=True)
def project(toy_project, monkeypatch):
    """The project as the current folder; tests write only to names of their own."""
    monkeypatch.chdir(toy_project)
    yield toy_project
    assert [name for name in NEVER_WRITTEN if (toy_project / name).exists()] == []
