"""Processes that end with the one that started them, and pools of them that compute tasks.

A spawned process imports this package, and often torch, for seconds before it listens to anyone. If
its parent is killed meanwhile it must not go on: a hundred of them would. A process of a pool also
ends with its pipe, that is with the pool. Only the parent handles Ctrl-C.
"""

import contextlib
import functools
import multiprocessing
import os
import queue
import signal
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import spawn
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Generic, TypeVar

from dna_bigbird.core import child_start
from dna_bigbird.core.errors import InputError

AHEAD = 2
"""Tasks that a process has received, including the current one."""

Task = TypeVar("Task")
Result = TypeVar("Result")

_STARTING = threading.Lock()
_FIRST = "first = {{}}; exec(open({path!r}).read(), first); first['end_with_parent']({parent}, {by_signal}); "


class StoppedWorkerError(InputError):
    """A process died of something that is not the input's fault; what it has finished is good."""


class EndingProcess(SpawnProcess):
    """A spawned process that ends with its parent."""

    @staticmethod
    def _Popen(process_obj):  # noqa: N802 - the name that multiprocessing calls
        with _STARTING, _unheard_in_children(signal.SIGINT):
            usual = spawn.get_command_line
            spawn.get_command_line = functools.partial(_with_first_instructions, usual)
            try:
                return SpawnProcess._Popen(process_obj)
            finally:
                spawn.get_command_line = usual


class EndingContext(SpawnContext):
    """The start method `spawn` of multiprocessing, with processes that end with their parent."""

    Process = EndingProcess


def ending_worker() -> Callable[[int], None]:
    """Return the `worker_init_fn` with which data workers of torch end with this process."""
    return functools.partial(child_start.end_with_parent, os.getpid(), _is_main_thread())


@contextlib.contextmanager
def _unheard_in_children(number: int) -> Iterator[None]:
    """Block a signal in the processes that the block starts: they inherit this thread's mask."""
    # A handler of theirs would come too late: Python imports for seconds first.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _with_first_instructions(command_line: Callable[..., list[str]], **options) -> list[str]:
    """Return the command that starts a process, with our instructions before Python's own."""
    command = command_line(**options)
    if "-c" in command:  # not in a frozen program
        first = _FIRST.format(
            path=str(Path(child_start.__file__).resolve()),
            parent=os.getpid(),
            by_signal=_is_main_thread(),
        )
        code = command.index("-c") + 1
        command[code] = first + command[code]
    return command


def _is_main_thread() -> bool:
    """Return whether this thread lives as long as the process: its end is what Linux signals."""
    return threading.get_native_id() == os.getpid()


class Workers(Generic[Task, Result]):
    """Processes that each call the function that `make(number)` returns in them, on many tasks."""

    # `make` and the tasks are pickled; `does` and `advice` are for the message if a process was killed.

    def __init__(
        self,
        make: Callable[[int], Callable[[Task], Result]],
        count: int,
        *,
        does: str = "scores",
        advice: str = "Use fewer --workers or a smaller --batch_size",
    ) -> None:
        self._does, self._advice = does, advice
        context = EndingContext()  # spawns: a fork would lack torch's threads
        self._pipes: list[Connection] = []
        self._processes: list[multiprocessing.Process] = []
        self.close = weakref.finalize(self, _end, self._processes, self._pipes)
        for number in range(count):
            ours, theirs = context.Pipe()
            self._pipes.append(ours)
            process = context.Process(target=_serve, args=(theirs, make, number, does), daemon=True)
            process.start()
            self._processes.append(process)
            theirs.close()

    def map(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the result of each task, in their order; tasks are read a little ahead."""
        count = len(self._pipes)
        sent = received = 0
        try:
            for task in tasks:
                if sent - received == AHEAD * count:
                    yield self._receive(received % count)
                    received += 1
                with contextlib.suppress(OSError):  # it has ended; `_receive` reports why
                    self._pipes[sent % count].send(task)
                sent += 1
            while received < sent:
                yield self._receive(received % count)
                received += 1
        finally:
            if received < sent:
                self.close()

    def _receive(self, number: int) -> Result:
        try:
            value = self._pipes[number].recv()
        except (EOFError, OSError):
            process = self._processes[number]
            process.join(timeout=10)
            raise StoppedWorkerError(
                f"a process that {self._does} has ended (status {process.exitcode}); was the memory too "
                f"small? {self._advice}"
            ) from None
        if isinstance(value, Exception):
            raise value
        return value


def _serve(pipe: Connection, make: Callable[[int], Callable], number: int, does: str) -> None:
    """Answer tasks until the pipe ends; what a process runs."""
    tasks: queue.SimpleQueue = queue.SimpleQueue()

    def listen() -> None:
        # Listens while the function computes, or both sides could wait for the other to read.
        with contextlib.suppress(EOFError, OSError):
            while True:
                tasks.put(pipe.recv())
        os._exit(0)  # the result has no reader

    threading.Thread(target=listen, daemon=True).start()
    try:
        function = make(number)
        while True:
            pipe.send(function(tasks.get()))
    except InputError as error:
        pipe.send(error)
    except Exception:
        pipe.send(RuntimeError(f"in a process that {does}:\n{traceback.format_exc()}"))
    threading.Event().wait()  # until the parent has read the error and `listen` ends the process


def _end(processes: list[multiprocessing.Process], pipes: list[Connection]) -> None:
    for pipe in pipes:
        pipe.close()
    for process in processes:
        process.terminate()
        process.join()
