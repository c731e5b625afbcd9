"""Processor time and memory of gkm-SVM by the number of training rows.

    python -m benchmarks.speed gkm                         2,000 and 50,000 rows of 300 bp, one label
    python -m benchmarks.speed gkm --rows 2000 --bp 1000 --word_length 11 --informative 7

Rows are random bases; half of them have a planted word with a gap of three bases, on either strand. Times
are processor time of one thread: counting the training rows, fitting all costs that are tried
(validation: 1,000 rows), scoring 1,000 rows. `peak_gb` is the largest memory of the process. Each
line has a process of its own.
"""

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.lib.timing import header
from dna_bigbird.baselines.config import GkmConfig
from dna_bigbird.baselines.gkm import GkmBaseline
from dna_bigbird.genome import reverse_complement

OTHER_ROWS = 1_000
WORD = "TGACNNNTCA"
COLUMNS = "rows\tbp\tword_length\tinformative\tcost\tcount_s\tfit_s\tscore_s\tpeak_gb"


def planted_rows(number: int, bp: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Return sequences, every second one with the word, and their labels (N, 1)."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(number):
        row = bytearray(np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, bp)].tobytes())
        if i % 2 == 0:
            start = int(rng.integers(0, bp - len(WORD)))
            for offset, base in enumerate(WORD):
                if base != "N":
                    row[start + offset] = ord(base)
        text = row.decode()
        rows.append(reverse_complement(text) if rng.random() < 0.5 else text)
    return rows, (np.arange(number) % 2 == 0).astype(float)[:, None]


def timed(call: Callable[[], object]) -> tuple[object, float]:
    """Return the result of a call and its processor time in seconds."""
    started_at = time.process_time()
    return call(), time.process_time() - started_at


def measure(rows: int, bp: int, config: GkmConfig) -> str:
    """Return a line of the table."""
    model = GkmBaseline(config)
    sequences, labels = planted_rows(rows, bp, 0)
    others, truth = planted_rows(OTHER_ROWS, bp, 1)
    with threadpool_limits(1):
        counted, count_s = timed(lambda: model.count(sequences))
        known = model.count(others)
        _, fit_s = timed(lambda: model.fit(counted, labels, known, truth))
        _, score_s = timed(lambda: model.predict(model.count(others)))
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return (
        f"{rows}\t{bp}\t{config.word_length}\t{config.informative}\t{model.cost:g}\t{count_s:.0f}"
        f"\t{fit_s:.0f}\t{score_s:.1f}\t{peak_gb:.1f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line per number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 50_000])
    parser.add_argument("--bp", type=int, default=300)
    parser.add_argument("--word_length", type=int, default=10)
    parser.add_argument("--informative", type=int, default=6)
    options = parser.parse_args(arguments)
    config = GkmConfig(options.word_length, options.informative, read_bp=0)
    print("\n".join(header("cpu")))
    print(COLUMNS)
    for rows in options.rows:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(measure, (rows, options.bp, config)), flush=True)


if __name__ == "__main__":
    main()
