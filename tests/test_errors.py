"""Notes of repeated steps are hidden, those of the command are not."""

import threading

import pytest

from dna_bigbird.core.errors import note, notes_hidden

PREFIX = "dna-bigbird: note: "


def shown(capsys):
    return [line.removeprefix(PREFIX) for line in capsys.readouterr().err.splitlines()]


def test_notes_in_the_block_are_hidden_also_where_blocks_are_nested(capsys):
    note("before")
    with notes_hidden():
        note("inside")
        with notes_hidden():
            note("further inside")
        note("inside again")
    note("after")
    assert shown(capsys) == ["before", "after"]


def test_notes_are_shown_again_after_an_error(capsys):
    with pytest.raises(ValueError, match="stopped"), notes_hidden():
        raise ValueError("stopped")
    note("after")
    assert shown(capsys) == ["after"]


def test_another_thread_still_prints_its_notes(capsys):
    """Such as the one that watches for the end of the process."""
    with notes_hidden():
        thread = threading.Thread(target=note, args=("of another thread",))
        thread.start()
        thread.join()
    assert shown(capsys) == ["of another thread"]
