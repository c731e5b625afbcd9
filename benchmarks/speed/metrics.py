"""How long the scores of a large labelled set take, and in how much memory.

    python -m benchmarks.speed metrics                     919 labels x 455,024 rows, 100 draws
    python -m benchmarks.speed metrics --draws 1000        as `dna-bigbird evaluate` does by default

The scores are simulated: a share of positives from 0.1 to 10 % drawn for each label, scores float32
as a model's file holds them. Timed apart are the point metrics with DeLong intervals, calibration,
and the point metrics again with the bootstrap of 1-Mb blocks (AUPRC, medians and means by
group). One process with one thread does it all; the peak memory is that of the whole process so
far.
"""

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
from tqdm import tqdm

from benchmarks.lib.timing import header
from dna_bigbird.metrics.bootstrap import draw_units
from dna_bigbird.metrics.calibration import calibrate, fit_scaling
from dna_bigbird.metrics.sources import Source, per_label, score_source
from dna_bigbird.models.label_types import MULTI_LABEL

GROUPS = (("DHS", 125), ("TF", 690), ("HM", 104))
TEST_MB = 288
"""Length of chr8 and chr9 of GRCh37."""
VALIDATION_ROWS = 8000


def simulate(rows: int, labels: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels (uint8) and probabilities (float32), both (rows, labels)."""
    rng = np.random.default_rng(seed)
    truth = np.empty((rows, labels), dtype=np.uint8)
    scores = np.empty((rows, labels), dtype=np.float32)
    for first in range(0, labels, 16):  # a few columns at a time: no large copies
        here = slice(first, min(first + 16, labels))
        share = 10 ** rng.uniform(-3, -1, size=here.stop - first)
        drawn = rng.random((rows, len(share)), dtype=np.float32) < share
        noise = rng.standard_normal((rows, len(share)), dtype=np.float32)
        truth[:, here] = drawn
        scores[:, here] = 1 / (1 + np.exp(4 - noise - np.float32(1.8) * drawn))
    return truth, scores


def groups_of(labels: int) -> list[str]:
    """Return the group of each label, in the proportions of the published 919."""
    published = [name for name, count in GROUPS for _ in range(count)]
    return [published[i * len(published) // labels] for i in range(labels)]


def timed(name: str, work: Callable[[], object]) -> object:
    """Do some work, and print how long it took and the most memory the process ever had."""
    started, cpu_started = time.perf_counter(), time.process_time()
    result = work()
    minutes = (time.perf_counter() - started) / 60
    cpu_minutes = (time.process_time() - cpu_started) / 60
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"{name}\t{minutes:.2f}\t{cpu_minutes:.2f}\t{peak_gb:.2f}", flush=True)
    return result


def main(arguments: list[str] | None = None) -> None:
    """Simulate, score, and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--labels", type=int, default=919)
    parser.add_argument("--rows", type=int, default=455_024)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print("\n".join(header("cpu")))
    print(
        f"# {options.labels} labels x {options.rows} rows, {options.draws} draws of {TEST_MB} blocks"
    )
    print("what\tminutes\tcpu_minutes\tpeak_gb_so_far")
    groups = groups_of(options.labels)
    test, validation = timed(
        "simulating",
        lambda: (
            simulate(options.rows, options.labels, options.seed),
            simulate(min(VALIDATION_ROWS, options.rows), options.labels, options.seed + 1),
        ),
    )
    units = np.arange(options.rows) * TEST_MB // options.rows

    def score(draws: int) -> Source:
        drawn = draw_units(options.rows, replicates=draws, seed=0, units=units)
        return score_source(
            validation, test, groups, drawn, lambda numbers: tqdm(numbers, disable=None)
        )

    point = timed("point metrics and DeLong intervals", lambda: score(0))
    calibration = timed(
        "calibration",
        lambda: calibrate(*test, groups, fit_scaling(*validation, MULTI_LABEL)),
    )
    names = [f"label {i}" for i in range(options.labels)]
    rows = timed("table", lambda: per_label(names, groups, point, {}, calibration))
    metrics = timed(f"the same and {options.draws} draws", lambda: score(options.draws)).metrics
    held = sum(row["auroc_delong_low"] < row["auroc"] < row["auroc_delong_high"] for row in rows)
    print(f"# {held} of {len(rows)} labels have an AUROC inside a DeLong interval")
    for group, _ in GROUPS:
        if f"median_auroc_{group}" in metrics:
            shown = (metrics[f"median_auroc_{group}{end}"] for end in ("", "_low", "_high"))
            print(f"# median AUROC {group}: {'{:.4f} [{:.4f}, {:.4f}]'.format(*shown)}")


if __name__ == "__main__":
    main()
