"""Processes that end with the one that started them, from their first instruction on.

A spawned process imports this package, and often torch, for seconds before it listens to anyone. If
its parent is killed meanwhile it must not go on: a hundred of them would.
"""

import functools
import os
import threading
from collections.abc import Callable
from multiprocessing import spawn
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path

from dna_bigbird import child_start

_STARTING = threading.Lock()
_FIRST = "first = {{}}; exec(open({path!r}).read(), first); first['end_with_parent']({parent}, {by_signal}); "


class EndingProcess(SpawnProcess):
    """A spawned process that ends with its parent."""

    @staticmethod
    def _Popen(process_obj):  # noqa: N802 - the name that multiprocessing calls
        with _STARTING:
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
    return functools.partial(_start_data_worker, os.getpid(), _is_main_thread())


def _start_data_worker(parent: int, by_signal: bool, number: int) -> None:
    child_start.end_with_parent(parent, by_signal)


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
