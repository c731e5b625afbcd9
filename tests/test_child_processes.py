"""Processes end with the one that started them, however early and however that ends."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from multiprocessing import spawn

import pytest

from dna_bigbird.core import child_start
from dna_bigbird.core.child_processes import EndingContext, ending_worker

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no pidfd on this system")

LIMIT_S = 60
# Loading this takes for ever: a process that only listens once it has started does not hear.
STUCK = "import threading\nthreading.Event().wait()\n"
SCORERS = """
import sys, threading
import late
from dna_bigbird.core.child_processes import Workers

def start(say):
    pool = Workers(late.make, 3)
    say(process.pid for process in pool._processes)
"""
TOKENIZERS = """
import sys, threading
import late
from concurrent.futures import ProcessPoolExecutor
from dna_bigbird.corpus import token_store_writer

def start(say):
    context = getattr(token_store_writer, "EndingContext", None)
    pool = ProcessPoolExecutor(3, mp_context=context()) if context else token_store_writer._pool(3)
    for _ in range(3):
        pool.submit(late.make)
    say(pool._processes)
    start.pool = pool
"""
MAIN = """
def say(ids):
    print(*ids, flush=True)
    threading.Event().wait()

if __name__ == "__main__":
    if "thread" in sys.argv:
        threading.Thread(target=start, args=(say,), daemon=True).start()
        threading.Event().wait()
    start(say)
"""
LATE = """
import os
if os.environ.get("PARENT") != str(os.getpid()):
    import stuck
def make(number=0):
    return print
"""


def has_ended(watched: int, within_s: float) -> bool:
    return bool(select.select([watched], [], [], within_s)[0])


@pytest.fixture
def family(tmp_path):
    """Start a program that starts processes; gives it and descriptors that tell of their ends."""
    (tmp_path / "stuck.py").write_text(STUCK)
    (tmp_path / "late.py").write_text(LATE)
    with contextlib.ExitStack() as stack:

        def start(code: str, *arguments: str) -> tuple[subprocess.Popen, list[int]]:
            (tmp_path / "program.py").write_text(code + MAIN)
            launch = "import os, sys; os.environ['PARENT'] = str(os.getpid()); "
            launch += "os.execv(sys.executable, [sys.executable, 'program.py', *sys.argv[1:]])"
            command = [sys.executable, "-c", launch, *arguments]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            parent = subprocess.Popen(command, cwd=tmp_path, text=True, **pipes)
            stack.enter_context(parent)
            stack.callback(parent.kill)
            watched = []
            for process in map(int, parent.stdout.readline().split()):
                watched.append(os.pidfd_open(process))
                stack.callback(os.close, watched[-1])
                stack.callback(signal_quietly, watched[-1])
            assert len(watched) == 3
            return parent, watched

        yield start


def signal_quietly(watched: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(watched, signal.SIGKILL)


@pytest.mark.parametrize("code", [SCORERS, TOKENIZERS], ids=["scorers", "tokenizers"])
@pytest.mark.parametrize("arguments", [[], ["thread"]], ids=["main thread", "other thread"])
def test_processes_that_still_start_end_with_a_killed_parent(family, code, arguments):
    parent, watched = family(code, *arguments)
    parent.kill()
    parent.wait()
    assert [has_ended(each, LIMIT_S) for each in watched] == [True] * 3


def test_processes_outlive_the_thread_that_started_them():
    """Linux signals the end of the thread that started a process, not of its parent process."""
    started = []

    def start() -> None:
        ours, theirs = EndingContext().Pipe()
        process = EndingContext().Process(target=echo, args=(theirs,), daemon=True)
        process.start()
        started.append((process, ours))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    (process, pipe) = started[0]
    pipe.send("here")
    assert pipe.recv() == "here"
    assert process.is_alive()
    process.kill()
    process.join()


def test_processes_of_others_start_as_usual():
    usual = spawn.get_command_line
    process = EndingContext().Process(target=echo, args=(None,))
    with pytest.raises(TypeError, match="cannot pickle"):
        EndingContext().Process(target=echo, args=(threading.Lock(),)).start()
    process.start()
    process.join()
    assert spawn.get_command_line is usual


def echo(pipe) -> None:
    while True:
        pipe.send(pipe.recv())


def test_a_child_whose_parent_is_gone_ends_at_once():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import child_start\n"
    code += "child_start.end_with_parent(int(sys.argv[2]), False); print('goes on')"
    command = [sys.executable, "-c", code, os.path.dirname(child_start.__file__)]
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    done = subprocess.run([*command, str(gone.pid)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    done = subprocess.run([*command, str(os.getpid())], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "goes on\n")


def test_without_a_descriptor_of_the_parent_it_asks_again_and_again(monkeypatch):
    monkeypatch.setattr(child_start, "POLL_S", 0)
    parents = iter([5, 5, 5, 1])
    monkeypatch.setattr(child_start.os, "getppid", lambda: next(parents))
    ended = []
    monkeypatch.setattr(child_start.os, "_exit", ended.append)
    child_start._wait(5, None)
    assert (ended, list(parents)) == ([1], [])


DATA_WORKERS = """
import os, sys, threading
import torch
from dna_bigbird.corpus.batches import WorkerLoader
from dna_bigbird.training.data_modules import ExampleData

class Forever(torch.utils.data.Dataset):
    def __getitem__(self, number):
        print(os.getpid(), flush=True)
        threading.Event().wait()

if __name__ == "__main__":
    stream = ExampleData(
        train=Forever(), train_numbers=None, validation=None, validation_batches=[], collate=list,
        accumulate=1, workers=1,
    )
    for batch in stream._loader(stream.train, [[0], [1]], 1):
        pass
"""


def test_data_workers_end_with_a_killed_parent_at_once(tmp_path):
    """Torch's own watchdog looks every five seconds, and only between batches."""
    (tmp_path / "program.py").write_text(DATA_WORKERS)
    with subprocess.Popen(
        [sys.executable, "program.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as parent:
        worker = os.pidfd_open(int(parent.stdout.readline()))
        try:
            parent.kill()
            assert has_ended(worker, LIMIT_S)
        finally:
            signal_quietly(worker)
            os.close(worker)


def test_the_start_of_data_workers_can_be_pickled():
    import pickle

    again = pickle.loads(pickle.dumps(ending_worker()))
    assert again.args[0] == os.getpid()
