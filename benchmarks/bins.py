"""Heads of chromatin labels at equal processor time: ITC, and ETC with and without a global token per bin.

    python benchmarks/bins.py --itc ITC --etc ETC --genome genome.fa --data set.h5 --kmer kmer.h5 \\
        --folder results/etc-bins --minutes 3

ITC and ETC are pretrained bundles, learned for the same time (`learning.py` with `etc_arms.yaml`), the set is
one of `chromatin-set`, and kmer.h5 its `dna-bigbird baseline`. Every arm has the same recipe and trains for
the processor time of --minutes on one thread: ten steps of every arm are measured first, in turns, because the
learning rate has to reach its end with the last step; the fastest of two rounds counts. Test rows are single bins in the middle of their windows for every
arm, on the forward strand. The table has macro AUROC and AUPRC with 95 % bootstrap intervals over blocks of the
genome, and paired differences to the first arm. What is in the folder is not computed again.
"""

import argparse
import functools
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from learning_run import ProcessorClock

from dna_bigbird.pipeline import label_training
from dna_bigbird.pipeline.evaluate import evaluate
from dna_bigbird.pipeline.finetune import finetune
from dna_bigbird.tasks.label_config import LabelHeadConfig, LabelTrainConfig
from dna_bigbird.writing import atomic_path, json_text

MEASURED, SKIPPED, ROUNDS = 10, 3, 2
VALIDATION_ROWS = 128
RECIPE = {
    "batch_size": 16,
    "learning_rate": 3e-4,
    "head_learning_rate": 1e-2,
    "start_at_base_rates": True,
    "precision": "bf16-mixed",
    "measure_speed": False,
}
"""That of bins with peaks (docs/your-peaks.md); nothing was chosen for an arm."""
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


@dataclass(frozen=True)
class Run:
    """What all arms share."""

    options: argparse.Namespace
    seed: int

    def train(self, arm: str, steps: int, output: Path) -> ProcessorClock:
        """Fine-tune an arm for some steps, with a clock."""
        encoder, head = ARMS[arm]
        clock = ProcessorClock()
        usual = label_training.fit
        label_training.fit = functools.partial(usual, callbacks=(clock,))
        try:
            finetune(
                genome=self.options.genome,
                data=self.options.data,
                pretrained=getattr(self.options, encoder),
                output=output / "bundle",
                checkpoints=output / "checkpoints",
                seed=self.seed,
                dropout=0.0,
                head=LabelHeadConfig(dropout=0.2, **head),
                training=LabelTrainConfig(
                    **RECIPE,
                    max_steps=steps,
                    validate_every=steps,
                    warmup_steps=steps // 10,
                    validation_examples=VALIDATION_ROWS,
                ),
                threads=1,
                progress=False,
            )
        finally:
            label_training.fit = usual
        return clock

    def speeds(self) -> dict[str, float]:
        """Return the processor seconds of a step of each arm; measure them if they are not in the folder."""
        path = self.options.folder / "speeds.json"
        if not path.exists():
            seconds = {arm: [] for arm in ARMS}
            for _ in range(ROUNDS):
                for arm, of_arm in seconds.items():
                    with tempfile.TemporaryDirectory() as scratch:
                        ends = self.train(arm, SKIPPED + MEASURED, Path(scratch)).ends
                    of_arm.append((ends[-1] - ends[SKIPPED - 1]) / MEASURED)
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(path) as temporary:
                temporary.write_text(json_text(seconds))
        return {arm: min(of_arm) for arm, of_arm in json.loads(path.read_text()).items()}

    def result(self, arm: str) -> dict:
        """Return the figures of an arm; train and score it if they are not in the folder."""
        folder = self.options.folder / f"{arm}-seed{self.seed}"
        path = folder / "result.json"
        if path.exists():
            return json.loads(path.read_text())
        steps = max(1, int(60 * self.options.minutes / self.speeds()[arm]))
        clock = self.train(arm, steps, folder)
        first = self.options.folder / f"{next(iter(ARMS))}-seed{self.seed}" / "report/scores.h5"
        others = {} if arm == next(iter(ARMS)) else {"first": first}
        scored = evaluate(
            genome=self.options.genome,
            model=folder / "bundle",
            data=self.options.data,
            output=folder / "scored",
            report=folder / "report",
            baselines={"kmer": self.options.kmer, **others},
            strand="forward",
            seed=self.seed,
            threads=1,
            progress=False,
        )
        figures = {
            "steps": steps,
            "windows": steps * RECIPE["batch_size"],
            "processor_s": round(clock.ends[-1], 1),
            "metrics": json.loads((scored.output / "metrics.json").read_text()),
        }
        with atomic_path(path) as temporary:
            temporary.write_text(json_text(figures))
        return figures


def main(arguments: list[str] | None = None) -> None:
    """Train, score and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("itc", "etc", "genome", "data", "kmer", "folder"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args(arguments)
    print("seed", *HEADER, sep="\t")
    for seed in range(options.seeds):
        for arm in ARMS:
            figures = Run(options, seed).result(arm)
            print(seed, *row(arm, figures), sep="\t", flush=True)
        kmer = [with_interval(figures["metrics"]["baselines"]["kmer"], name) for name in AREAS]
        print(seed, "k-mers", "-", "-", "-", *kmer, "-", "-", sep="\t", flush=True)


def row(arm: str, figures: dict) -> list:
    """Return the cells of an arm."""
    metrics = figures["metrics"]
    gains = [f"{name}_gain_over_first" for name in AREAS]
    own = [with_interval(metrics, name) for name in (*AREAS, *gains)]
    return [arm, figures["steps"], figures["windows"], figures["processor_s"], *own]


def with_interval(metrics: dict, name: str) -> str:
    """Return a figure with its interval.

    Example:
        >>> with_interval({"a": 0.5, "a_low": 0.41, "a_high": 0.6}, "a")
        '0.500 [0.410, 0.600]'
    """
    if name not in metrics:
        return "-"
    return f"{metrics[name]:.3f} [{metrics[f'{name}_low']:.3f}, {metrics[f'{name}_high']:.3f}]"


if __name__ == "__main__":
    main()
