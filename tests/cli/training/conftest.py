"""The tests of this folder run in the folder of the toy project."""

import pytest


@pytest.fixture(autouse=True)
def project(toy_project, monkeypatch):
    """The project as the current folder; tests write only to names of their own."""
    monkeypatch.chdir(toy_project)
    return toy_project
