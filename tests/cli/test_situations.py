"""Every command refuses the calls of `situations` before any work, and leaves every file as it is."""

from pathlib import Path

import pytest

from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.main import main
from tests.cli.situations import PAGE, SITUATIONS, cases, command_of, put, replaced

CALLS = [(s, command) for s in SITUATIONS for command in every_command() if cases(s, command)]


def files() -> dict[str, bytes | None]:
    """Everything in the current folder."""
    return {str(x): x.read_bytes() if x.is_file() else None for x in Path().rglob("*")}


@pytest.mark.parametrize(("situation", "command"), CALLS)
def test_a_refused_call_changes_nothing(situation, command, tmp_path, capsys, monkeypatch):
    for number, case in enumerate(cases(situation, command)):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        for name in command_of(command).inputs:
            put(f"{name}.in")
        case.prepare()
        before = files()
        with pytest.raises(SystemExit, match=r"^2$"):
            main(command_of(command).argv(case.changed))
        error = capsys.readouterr().err
        assert all(words in error for words in case.words), (case, error)
        assert error.count("\n") == 1
        assert files() == before, case


def test_the_table_of_the_page_is_that_of_these_tests():
    """`python -m tests.cli.situations` writes it."""
    page = PAGE.read_text()
    assert replaced(page) == page
