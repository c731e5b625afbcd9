"""Peak memory of each process of `text train` on a large made set of Natural Questions.

    python benchmarks/text_store_training.py --pretrained BUNDLE --pages 0 14500 --devices 2

The pages are those of text_store.py. `text train` runs twice on each file, with the rows still to be
written, then with the rows of the first run; its other files are removed in between. A row of 0 pages shows
what Python, torch, the model and its training take. For each process that trains, the high-water mark of its
memory (VmHWM) is printed, for the others the highest of them, and the most memory of all processes together
(memory that processes share counts once; what the system caches of files does not count). Linux only.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import memory_tree
import text_store
from timing import header

SAMPLE_S = 0.2
TRAINING = {"batch_size": 2, "max_steps": 16, "warmup_steps": 1, "precision": "32-true"}
TRAINING["validate_every"] = TRAINING["max_steps"]
VALIDATION_PAGES = 4


def processes(process: int) -> list[int]:
    """Return a process and its descendants. Linux only."""
    threads = Path("/proc", str(process), "task").glob("*/children")
    try:
        children = [int(child) for thread in threads for child in thread.read_text().split()]
    except OSError:
        return [process]
    return [process, *(below for child in children for below in processes(child))]


def high_water_bytes(process: int) -> int:
    """Return the most memory that a process had so far; 0 for one that has ended."""
    try:
        status = Path("/proc", str(process), "status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def trains(process: int) -> bool:
    """Return True for a process of the training: it has the command's own arguments."""
    try:
        arguments = Path("/proc", str(process), "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"--checkpoints" in arguments


def watched(command: list[str]) -> tuple[list[int], int, int, float]:
    """Run a command.

    Returns:
        Peaks of its training processes, highest peak of the others, highest sum (bytes), seconds.

    Raises:
        subprocess.CalledProcessError: If the command fails.
    """
    training: dict[int, int] = {}
    others = {0: 0}
    together, started_at = 0, time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        while running.poll() is None:
            for process in processes(running.pid):
                peaks = training if process in training or trains(process) else others
                peaks[process] = max(peaks.get(process, 0), high_water_bytes(process))
            together = max(together, memory_tree.proportional_bytes(running.pid))
            time.sleep(SAMPLE_S)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    peaks = sorted(training.values(), reverse=True)
    return peaks, max(others.values()), together, time.perf_counter() - started_at


def remove_all_but_rows(folder: Path) -> None:
    """Remove everything from a folder of checkpoints except stored rows."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.name.startswith("rows-"):
            path.unlink()


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pretrained", type=Path, required=True)
    parser.add_argument("--pages", type=int, nargs="+", default=(0, 500))
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="for the data, which are deleted")
    options = parser.parse_args(arguments)
    print("\n".join(header("cpu")))
    print("pages, file, rows: training processes | highest other | all together | seconds")
    for pages in options.pages:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            data, validation = folder / "nq-train-00.jsonl", folder / "nq-dev-00.jsonl"
            text_store.write_pages(data, pages)
            text_store.write_pages(validation, VALIDATION_PAGES)
            command = [sys.executable, "-m", "dna_bigbird", "text", "train"]
            command += ["--task", "natural-questions", "--train", data, "--validation", validation]
            command += ["--pretrained", options.pretrained, "--checkpoints", folder / "state"]
            command += ["--output", folder / "model", "--threads", options.threads]
            command += ["--options.min_annotators", 1, "--training.devices", options.devices]
            for setting, value in TRAINING.items():
                command += [f"--training.{setting}", value]
            for rows in ("written", "there"):
                peaks, highest, together, seconds = watched(list(map(str, command)))
                print(
                    f"{pages:6} {data.stat().st_size / 1e9:5.2f} GB {rows:>8}: "
                    + ", ".join(f"{peak / 1e9:.2f}" for peak in peaks)
                    + f" GB | {highest / 1e9:.2f} GB | {together / 1e9:.2f} GB | {seconds:.0f} s",
                    flush=True,
                )
                remove_all_but_rows(folder / "state")
                shutil.rmtree(folder / "model")


if __name__ == "__main__":
    main()
