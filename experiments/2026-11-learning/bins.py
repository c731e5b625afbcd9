"""Heads of chromatin labels at equal processor time: ITC, and ETC with and without a global token per bin.

    python experiments/2026-11-learning/bins.py --itc ITC --etc ETC --genome genome.fa --data set.h5 --kmer kmer.h5 \\
        --folder results/etc-bins --minutes 3

ITC and ETC are pretrained bundles, learned for the same time (`learning.py` with `etc_arms.yaml`), the set is
one of `chromatin-set`, and kmer.h5 its `dna-bigbird baseline`. Every arm has the same recipe and trains for
the processor time of --minutes on one thread: ten steps of every arm are measured first, in turns, because the
learning rate has to reach its end with the last step; the fastest of two rounds counts. Test rows are single bins in
the middle of their windows for every arm, on the forward strand. The table has macro AUROC and AUPRC with 95 %
bootstrap intervals over blocks of the genome, and paired differences to the first arm; then come those of the arms of
ETC to each other. What is in the folder is not computed again.
"""

import argparse
import itertools

from timed_heads import TimedHeads, parse, with_interval

from dna_bigbird.evaluation.evaluate_run import ScoresOnTest
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.metrics.label_areas import compare, label_areas
from dna_bigbird.training.label_config import LabelHeadConfig

RECIPE = {
    "batch_size": 16,
    "learning_rate": 3e-4,
    "head_learning_rate": 1e-2,
    "start_at_base_rates": True,
    "precision": "bf16-mixed",
    "validation_examples": 128,
}
"""That of bins with peaks (docs/tutorials/your-peaks.md); nothing was chosen for an arm."""
ARMS = {
    "itc_centre": ("itc", {"pooling": "centre"}),
    "etc_centre": ("etc", {"pooling": "centre"}),
    "etc_bin": ("etc", {"pooling": "bin"}),
    "etc_bins_at_once": ("etc", {"pooling": "bin", "bins_at_once": True}),
}
AREAS = ("macro_auroc", "macro_auprc")
HEADER = (
    "arm",
    "steps",
    "windows",
    "processor_s",
    "macro AUROC",
    "macro AUPRC",
    "AUROC minus first",
    "AUPRC minus first",
)


def arms(options: argparse.Namespace) -> dict[str, dict]:
    """Return the arguments of `finetune` that arms differ in."""
    return {
        arm: {
            "pretrained": getattr(options, encoder),
            "head": LabelHeadConfig(dropout=0.2, **head),
        }
        for arm, (encoder, head) in ARMS.items()
    }


def main(arguments: list[str] | None = None) -> None:
    """Train, score and print the table."""
    options = parse(__doc__.split("\n")[0], ("itc", "etc"), 3.0, arguments)
    print("seed", *HEADER, sep="\t")
    for seed in range(options.seeds):
        heads = TimedHeads(options, seed, arms(options), RECIPE)
        for arm in ARMS:
            figures = heads.result(arm)
            print(seed, *row(arm, figures), sep="\t", flush=True)
        kmer = [with_interval(figures["metrics"]["baselines"]["kmer"], name) for name in AREAS]
        print(seed, "k-mers", "-", "-", "-", *kmer, "-", "-", sep="\t", flush=True)
        for line in differences(heads):
            print(seed, *line, sep="\t", flush=True)


def differences(heads: TimedHeads) -> list[list[str]]:
    """Return a line for each two arms of ETC: paired differences of both areas, the later one minus the earlier."""
    held_out = ScoresOnTest(
        LabelledSet(heads.options.data), seed=heads.seed, replicates=1000, block_bp=0
    )
    areas = {}
    for arm in list(ARMS)[1:]:
        scores = read_scores(heads.scores(arm)).of(held_out.test)
        areas[arm] = label_areas(held_out.labels[1], scores, held_out.draws)
    lines = []
    for earlier, later in itertools.combinations(areas, 2):
        gains = compare(areas[later], areas[earlier])
        cells = [with_interval(gains, name) for name in ("auroc_gain", "auprc_gain")]
        lines.append([f"{later} minus {earlier}", *cells])
    return lines


def row(arm: str, figures: dict) -> list:
    """Return the cells of an arm."""
    metrics = figures["metrics"]
    gains = [f"{name.removeprefix('macro_')}_gain_over_first" for name in AREAS]
    own = [with_interval(metrics, name) for name in (*AREAS, *gains)]
    windows = figures["steps"] * RECIPE["batch_size"]
    return [arm, figures["steps"], windows, figures["processor_s"], *own]


if __name__ == "__main__":
    main()
