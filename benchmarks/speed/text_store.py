"""Peak memory and time of `text train` against the size of a set: rows in memory, and rows in a store.

    python -m benchmarks.speed text_store --tokenizer spiece.model                 both, up to 2,000 pages
    python -m benchmarks.speed text_store --tokenizer spiece.model --pages 14500 --ways store again

Synthetic pages of Natural Questions in the native form (80 paragraphs, about 4,000 tokens and 0.35 MB
each; 500 different ones, repeated) are written, read, made into windows of 4,096 tokens and joined to a
few training batches. Each row of the table is one process:

    memory   all examples and rows at once, as before there was a store
    store    the store is written first, in several processes; the memory is of the one that reads and trains
    again    a later start: the store is there

Nothing is trained: the memory of a model comes on top. Peaks are the high-water mark of the process (VmHWM)
with Python and torch, which a row of 0 pages shows. Linux only.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.lib.timing import header
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.models.text_config import LongAnswerHead
from dna_bigbird.text.data.natural_questions import NaturalQuestionsOptions
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.made.pages import nq_item
from dna_bigbird.text.set_source import SetSource
from dna_bigbird.text.stored_sets import stored_set
from dna_bigbird.text.tasks.natural_questions import NaturalQuestionsTask
from dna_bigbird.text.tasks.task import text_data

PARAGRAPHS, SENTENCES, MAX_TOKENS = 80, 6, 4096
BATCHES, BATCH_SIZE = 16, 8
DISTINCT = 500
PAGES = (0, 250, 500, 1000, 2000)
WAYS = ("memory", "store", "again")


def write_pages(path: Path, count: int) -> None:
    """Write so many pages; without any, one small one. From page `DISTINCT` on they repeat with other ids."""
    rng = random.Random(0)
    size = {"paragraphs": PARAGRAPHS, "sentences": SENTENCES} if count else {}
    distinct = [nq_item(rng, i, "train", **size) for i in range(min(max(count, 1), DISTINCT))]
    lines = [json.dumps(page | {"example_id": "*"}) for page in distinct]
    with open(path, "w") as stream:
        for number in range(max(count, 1)):
            stream.write(lines[number % DISTINCT].replace('"*"', str(number), 1) + "\n")


def rows_of(way: str, source: SetSource, store: Path, threads: int) -> TextSet:
    """Return the training rows of a set."""
    if way != "memory":
        return stored_set(store, source, threads)
    examples, _ = source.task.read(source.path, "train")
    return source.task.rows(list(examples), source.tokenizer, training=True)


def child(way: str, data: Path, tokenizer: Path, threads: int) -> dict[str, float]:
    """Make rows and read batches; return what this process needed."""
    started_at, store = time.perf_counter(), data.with_suffix(".h5")
    task = NaturalQuestionsTask(NaturalQuestionsOptions(max_tokens=MAX_TOKENS), LongAnswerHead())
    vocabulary = TextTokenizer(tokenizer.read_bytes(), tokenizer.name)
    source = SetSource(task, vocabulary, data, "train", MAX_TOKENS, training=True)
    rows = rows_of(way, source, store, threads)
    ready_s = time.perf_counter() - started_at
    stream = text_data(rows, rows, task.collate, seed=0, batch_size=BATCH_SIZE)
    for number in range(BATCHES):
        task.collate([stream.train[i] for i in stream.train_numbers(number)])
    status = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    return {"peak_GB": peak * 1024 / 1e9, "ready_s": ready_s, "windows": len(rows.rows)}


def measure(way: str, data: Path, tokenizer: Path, threads: int) -> dict[str, float]:
    """Run `child` in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.speed.text_store",
        "--child",
        way,
        "--data",
        data,
        "--tokenizer",
        tokenizer,
    ]
    command += ["--threads", str(threads)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--pages", type=int, nargs="+", default=PAGES)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--threads", type=int, default=0, help="processes that make rows; 0: all")
    parser.add_argument("--folder", type=Path, help="for the data, which are deleted")
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(child(options.child, options.data, options.tokenizer, options.threads)))
        return
    print("\n".join(header("cpu")))
    print(
        f"{'pages':>6} {'file':>8} {'windows':>8} {'way':>7} {'peak':>8} {'ready after':>12} {'store':>8}"
    )
    for pages in options.pages:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            data, store = Path(folder, "nq-train-00.jsonl"), Path(folder, "nq-train-00.h5")
            write_pages(data, pages)
            for way in options.ways:
                result = measure(way, data, options.tokenizer, options.threads)
                stored = os.path.getsize(store) / 1e9 if store.is_file() else 0.0
                print(
                    f"{pages:6} {data.stat().st_size / 1e9:5.2f} GB {result['windows']:8} {way:>7} "
                    f"{result['peak_GB']:5.2f} GB {result['ready_s']:10.1f} s {stored:5.2f} GB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
