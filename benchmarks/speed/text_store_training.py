"""Peak memory of each process of `text train` on a large made set.

    python -m benchmarks.speed text_store_training --pretrained BUNDLE --documents 1 14500 --devices 2
    python -m benchmarks.speed text_store_training --pretrained BUNDLE --documents 1 20000 --set arxiv

The pages of Natural Questions are those of text_store.py; papers and patents are made text, 40 documents of it in each.
`text train` runs twice on each file, with rows still to be written, then with the rows of the first run; its other files
are removed in between. A row of one document shows what Python, torch, the model and its training take.

For each process that trains, the high-water mark of its memory (VmHWM) is printed, for the others the highest of them, and
the most memory of all processes together (memory that processes share counts once; what the system caches of files does not
count). Linux only.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

from benchmarks.lib import memory_tree
from benchmarks.lib.timing import header
from benchmarks.speed import text_store
from dna_bigbird.text.made.writing import made_files

SAMPLE_S = 0.2
TRAINING = {"batch_size": 2, "max_steps": 16, "warmup_steps": 1, "precision": "32-true"}
TRAINING["validate_every"] = TRAINING["max_steps"]
VALIDATED = 4
JOINED, DISTINCT = 40, 500
SETS = {
    "natural-questions": (
        ("nq-train-00.jsonl", "nq-dev-00.jsonl"),
        ["--task", "natural-questions", "--options.min_annotators", "1"],
    ),
    "arxiv": (
        ("train.txt", "val.txt"),
        ["--task", "summarization", "--options.set", "arxiv", "--options.max_target_tokens", "64"],
    ),
    "patents": (
        ("train.jsonl", "validation.jsonl"),
        ["--task", "text-classification", "--options.set", "patents"],
    ),
}
"""Files for training and validation, and the options of the task."""
SOURCES = {"arxiv": "arxiv/arxiv-dataset/train.txt", "patents": "patents/train.jsonl"}


def write_documents(name: str, path: Path, count: int) -> None:
    """Write so many documents of a set; from the 500th on they repeat with other ids."""
    if name == "natural-questions":
        text_store.write_pages(path, count)
        return
    rows = [json.loads(line) for line in made_files(0, 240)[SOURCES[name]].splitlines()]
    rng = random.Random(0)
    field = "article_text" if name == "arxiv" else "text"
    identity = "article_id" if name == "arxiv" else "id"
    lines = []
    for _ in range(min(count, DISTINCT)):
        texts = [row[field] for row in rng.choices(rows, k=JOINED)]
        joined = [*chain.from_iterable(texts)] if name == "arxiv" else " ".join(texts)
        lines.append(json.dumps(rng.choice(rows) | {field: joined, identity: "*"}))
    with open(path, "w") as stream:
        for number in range(count):
            stream.write(lines[number % DISTINCT].replace('"*"', f'"US{number}"', 1) + "\n")


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
    parser.add_argument("--set", choices=SETS, default="natural-questions")
    parser.add_argument("--documents", type=int, nargs="+", default=(1, 500))
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="for the data, which are deleted")
    options = parser.parse_args(arguments)
    print("\n".join(header("cpu")))
    print("documents, file, rows: training processes | highest other | all together | seconds")
    for documents in options.documents:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            names, task = SETS[options.set]
            data, validation = (folder / name for name in names)
            write_documents(options.set, data, documents)
            write_documents(options.set, validation, VALIDATED)
            command = [sys.executable, "-m", "dna_bigbird", "text", "train", *task]
            command += ["--train", data, "--validation", validation]
            command += ["--pretrained", options.pretrained, "--checkpoints", folder / "state"]
            command += ["--output", folder / "model", "--threads", options.threads]
            command += ["--training.devices", options.devices]
            for setting, value in TRAINING.items():
                command += [f"--training.{setting}", value]
            for rows in ("written", "there"):
                peaks, highest, together, seconds = watched(list(map(str, command)))
                print(
                    f"{documents:6} {data.stat().st_size / 1e9:5.2f} GB {rows:>8}: "
                    + ", ".join(f"{peak / 1e9:.2f}" for peak in peaks[: options.devices])
                    + f" GB | {highest / 1e9:.2f} GB | {together / 1e9:.2f} GB | {seconds:.0f} s",
                    flush=True,
                )
                remove_all_but_rows(folder / "state")
                shutil.rmtree(folder / "model")


if __name__ == "__main__":
    main()
