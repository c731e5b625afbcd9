"""Promoters with BigBird-ETC at equal processor time: [CLS], the mean of the tokens, one global token.

    python benchmarks/promoter_heads.py --genome tata.fa --data set.h5 --kmer kmer.h5 --folder results/etc-promoters \\
        --minutes 1.5 --seeds 2

The set is one of `promoter-set`, kmer.h5 its `dna-bigbird baseline`. Every head sits on the same small encoder with
fresh weights, of attention etc and a token per base, and trains for the processor time of --minutes on one
thread; a step of every head is timed first. AUROC on the test rows, forward strand, with 95 % bootstrap intervals, and
paired differences to [CLS]. What is in the folder is not computed again.
"""

import argparse
import functools
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bins import MEASURED, SKIPPED, with_interval
from learning_run import ProcessorClock

from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.etc_config import EtcChanges
from dna_bigbird.pipeline import label_training
from dna_bigbird.pipeline.evaluate import evaluate
from dna_bigbird.pipeline.finetune import finetune
from dna_bigbird.tasks.label_config import LabelHeadConfig, LabelTrainConfig
from dna_bigbird.writing import atomic_path, json_text

ARMS = {
    "cls": {"pooling": "cls"},
    "mean": {"pooling": "mean"},
    "bin": {"pooling": "bin", "bin_bp": 300},
}
"""One bin: the whole promoter of 300 bp."""
ENCODER = EncoderChanges(
    hidden_size=64,
    ffn_size=256,
    attention="etc",
    etc=EtcChanges(radius=32, tokens_per_global=32),
)
BATCH = 16
HEADER = ("seed", "head", "steps", "processor_s", "AUROC", "AUROC minus cls", "k-mers", "n")


@dataclass(frozen=True)
class Run:
    """What all heads share."""

    options: argparse.Namespace
    seed: int

    def train(self, arm: str, steps: int, output: Path) -> ProcessorClock:
        """Train a head and its encoder for some steps, with a clock."""
        clock = ProcessorClock()
        usual = label_training.fit
        label_training.fit = functools.partial(usual, callbacks=(clock,))
        try:
            finetune(
                genome=self.options.genome,
                data=self.options.data,
                tokenizer=Path("bases"),
                model=ENCODER,
                output=output / "bundle",
                checkpoints=output / "checkpoints",
                seed=self.seed,
                dropout=0.0,
                head=LabelHeadConfig(**ARMS[arm]),
                training=LabelTrainConfig(
                    batch_size=BATCH,
                    learning_rate=1e-3,
                    max_steps=steps,
                    validate_every=steps,
                    warmup_steps=steps // 10,
                    precision="32-true",
                    measure_speed=False,
                ),
                threads=1,
                progress=False,
            )
        finally:
            label_training.fit = usual
        return clock

    def step_s(self, arm: str) -> float:
        """Return the processor seconds of a step; measure them if they are not in the folder."""
        path = self.options.folder / f"{arm}-step.json"
        if not path.exists():
            with tempfile.TemporaryDirectory() as scratch:
                ends = self.train(arm, SKIPPED + MEASURED, Path(scratch)).ends
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(path) as temporary:
                temporary.write_text(json_text((ends[-1] - ends[SKIPPED - 1]) / MEASURED))
        return json.loads(path.read_text())

    def result(self, arm: str) -> dict:
        """Return the figures of a head; train and score it if they are not in the folder."""
        folder = self.options.folder / f"{arm}-seed{self.seed}"
        path = folder / "result.json"
        if path.exists():
            return json.loads(path.read_text())
        steps = max(1, int(60 * self.options.minutes / self.step_s(arm)))
        clock = self.train(arm, steps, folder)
        first = next(iter(ARMS))
        scores = self.options.folder / f"{first}-seed{self.seed}" / "report/scores.h5"
        scored = evaluate(
            genome=self.options.genome,
            model=folder / "bundle",
            data=self.options.data,
            output=folder / "scored",
            report=folder / "report",
            baselines={"kmer": self.options.kmer} | ({} if arm == first else {first: scores}),
            strand="forward",
            seed=self.seed,
            threads=1,
            progress=False,
        )
        figures = {
            "steps": steps,
            "processor_s": round(clock.ends[-1], 1),
            "metrics": json.loads((scored.output / "metrics.json").read_text()),
        }
        with atomic_path(path) as temporary:
            temporary.write_text(json_text(figures))
        return figures


def main() -> None:
    """Train, score and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("genome", "data", "kmer", "folder"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=1.5)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    print(*HEADER, sep="\t")
    for seed in range(options.seeds):
        for arm in ARMS:
            figures = Run(options, seed).result(arm)
            metrics = figures["metrics"]
            cells = [with_interval(metrics, x) for x in ("auroc", "auroc_gain_over_cls")]
            cells.append(with_interval(metrics["baselines"]["kmer"], "auroc"))
            counts = (figures["steps"], figures["processor_s"])
            print(seed, arm, *counts, *cells, metrics["n"], sep="\t", flush=True)


if __name__ == "__main__":
    main()
