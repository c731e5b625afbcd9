"""Processes side by side: order, errors, and their end."""

import functools
import os
import signal
import subprocess
import sys
import threading

import pytest

from dna_bigbird.core.child_processes import Workers
from dna_bigbird.core.errors import InputError


def square(number):
    if number == 13:
        raise InputError("tasks.txt:13: unlucky")
    if number == 14:
        raise KeyError("a bug")
    if number == 15:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid(), bytes([number]) * 500_000, number * number


def make(number, refuses=None):
    if number == refuses:
        raise InputError("models/x: no such bundle")
    return square


@pytest.fixture
def workers():
    pool = Workers(make, 2)
    yield pool
    pool.close()


def test_results_have_the_order_of_the_tasks(workers):
    """Tasks and results larger than a pipe holds, on both sides at once."""
    for _ in range(2):
        found = list(workers.map(range(12)))
        assert [value for _, _, value in found] == [n * n for n in range(12)]
        assert len({process for process, _, _ in found}) == 2
    assert list(workers.map([])) == []


def test_tasks_are_read_a_little_ahead_only(workers):
    read = []
    results = workers.map(read.append(n) or n for n in range(12))
    next(results)
    assert len(read) <= 5


@pytest.mark.parametrize(
    ("task", "error", "message"),
    [
        (13, InputError, r"^tasks.txt:13: unlucky$"),
        (14, RuntimeError, r"in a process that scores:\n(.|\n)*KeyError: 'a bug'"),
        (
            15,
            InputError,
            r"has ended \(status -9\); was the memory too small\? Use fewer --workers",
        ),
    ],
)
def test_errors_come_out_and_end_the_processes(workers, task, error, message):
    done = []
    with pytest.raises(error, match=message):
        done.extend(value for _, _, value in workers.map([1, 2, task, 4, 5, 6, 7, 8]))
    assert done == [1, 4]
    assert not workers.close.alive


def test_a_process_that_cannot_start_says_why():
    with pytest.raises(InputError, match=r"^models/x: no such bundle$"):
        list(Workers(functools.partial(make, refuses=1), 2).map(range(20)))


def test_results_that_nobody_takes_end_the_processes(workers):
    results = workers.map(range(12))
    next(results)
    results.close()
    assert not workers.close.alive


SCRIPT = """
import sys, time
from dna_bigbird.core.child_processes import Workers

def make(number):
    return forever

def forever(task):
    import os
    print(os.getpid(), flush=True)
    time.sleep(1000)

if __name__ == "__main__":
    list(Workers(make, 2).map(range(4)))
"""


def test_processes_end_with_a_killed_parent(tmp_path):
    """Their standard output ends only when the last of them has ended."""
    script = tmp_path / "parent.py"
    script.write_text(SCRIPT)
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    watch = threading.Timer(60, parent.kill)
    watch.start()
    children = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    assert parent.stdout.read() == ""
    parent.wait()
    watch.cancel()
    assert len(set(children)) == 2
