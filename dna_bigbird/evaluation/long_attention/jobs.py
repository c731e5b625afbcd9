"""Jobs of the comparison by name: each writes one result file, and is not started again once that is there."""

from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from dna_bigbird.core.child_processes import EndingContext
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.parts import read_json_part, write_json_part

RESULT = "result.json"
Job = Callable[[Mapping[str, Any]], dict]
"""From the settings of a job to its result, without the settings; picklable."""


def result_path(folder: Path, name: str) -> Path:
    """Return the file of a job."""
    return folder / "jobs" / name / RESULT


def read_result(folder: Path, name: str, settings: Mapping[str, Any]) -> dict | None:
    """Return the result of a job; None if it must be computed: absent, damaged, of other settings."""
    return read_json_part(result_path(folder, name), settings)


def run_job(job: Job, folder: Path, name: str, settings: Mapping[str, Any]) -> None:
    """Do a job in this process, on one thread, and write its result."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        result = job(settings)
    finally:
        torch.set_num_threads(threads)
    write_json_part(result_path(folder, name), settings, result)


def run_jobs(
    work: Mapping[str, tuple[Job, Mapping[str, Any]]], folder: Path, processes: int
) -> None:
    """Do the jobs that are not complete, in processes that end with this one; 1: in this one."""
    left = [name for name, (_, x) in work.items() if read_result(folder, name, x) is None]
    if work and len(left) < len(work):
        note(f"{folder}: {len(work) - len(left)} of {len(work)} jobs are complete and are kept")
    if processes == 1 or len(left) < 2:
        for number, name in enumerate(left, 1):
            note(f"job {number} of {len(left)}: {name}")
            run_job(work[name][0], folder, name, work[name][1])
        return
    _in_processes(left, work, folder, processes)


def _in_processes(
    names: Sequence[str],
    work: Mapping[str, tuple[Job, Mapping[str, Any]]],
    folder: Path,
    processes: int,
) -> None:
    left, running = list(reversed(names)), {}
    failed: list[tuple[str, int]] = []
    try:
        while running or (left and not failed):
            while left and not failed and len(running) < processes:
                name = left.pop()
                job, settings = work[name]
                note(f"job {name}")
                process = EndingContext().Process(
                    target=run_job, args=(job, folder, name, settings)
                )
                process.start()
                running[process.sentinel] = (name, process)
            for sentinel in wait(list(running)):
                name, process = running.pop(sentinel)
                process.join()
                if process.exitcode:
                    failed.append((name, process.exitcode))
    finally:
        for _, process in running.values():  # Ctrl-C or SIGTERM: what they have saved is kept
            process.kill()
            process.join()
    if failed:
        name, status = failed[0]
        raise InputError(
            f"job {name} ended with status {status}; its message is above. The same command goes on "
            "with the jobs that are left"
        )
