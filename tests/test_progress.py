"""Progress bars: where they are drawn, and that `progress=False` draws none."""

import io
import sys
import threading
from types import SimpleNamespace

import pytest

from dna_bigbird.core.progress import (
    in_notebook,
    progress_bar,
    progress_shown,
    shows_progress,
    ticking,
)


def on_a_terminal(monkeypatch) -> io.StringIO:
    """Replace standard error; not in a fixture, after which pytest replaces it again."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


@pytest.fixture
def notebook(monkeypatch):
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def count_to_three(**options) -> list[int]:
    return list(progress_bar([1, 2, 3], desc="count", **options))


def test_a_terminal_has_a_bar(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    assert count_to_three() == [1, 2, 3]
    assert "count: 100%" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_a_pipe_has_none(capsys):
    assert count_to_three() == [1, 2, 3]
    assert tuple(capsys.readouterr()) == ("", "")


def test_a_notebook_has_a_bar_in_its_output(notebook, capsys):
    assert in_notebook()
    count_to_three()
    shown = capsys.readouterr()
    assert "3/3" in shown.out
    assert shown.err == ""


def test_an_interactive_shell_is_not_a_notebook(monkeypatch):
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not in_notebook()


@shows_progress
def work(number: int, progress: bool = True) -> list[int]:
    with progress_shown(True):
        return count_to_three()


def test_no_bar_where_none_is_asked_for(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    assert work(1, progress=False) == [1, 2, 3]
    assert count_to_three(disable=True) == [1, 2, 3]
    assert terminal.getvalue() == ""
    work(1)
    assert "3/3" in terminal.getvalue()


def test_a_bar_of_one_long_item_is_redrawn(monkeypatch):
    monkeypatch.setattr("dna_bigbird.core.progress.TICK_S", 0.001)
    terminal = on_a_terminal(monkeypatch)
    drawn, is_redrawn = [], threading.Event()

    def write(text):
        drawn.append(text)
        if sum("0/1" in x for x in drawn) >= 4:  # the first is the bar's own
            is_redrawn.set()

    terminal.write = write
    bar = progress_bar(["label"], desc="motifs")
    with ticking(bar):
        for _ in bar:
            assert is_redrawn.wait(30)
    assert not any(x.name.endswith("(tick)") for x in threading.enumerate())
