"""What a longer context is worth where a label depends on a site far away: docs/results/long-range-distance.md.

    python experiments/2026-11-long-range/context.py --output results/long-range [--jobs 2]
    python experiments/2026-11-long-range/context.py --config config/long-range-distance.yaml --output results/distance

Makes the long-range demo (semi-synthetic), builds a set of the same bins at every window of
config/long-range.yaml, trains the same model from the same random weights on each, counts k-mers, and
writes context.tsv (AUROC of every label and window with bootstrap intervals, the difference to the
shortest window and the AUROC of the k-mers on the same rows and draws) and context.png. Steps whose
output is there are left out, so a run that was cut off goes on. What the model reads in the long
window: experiments/2026-11-long-range/shuffled_partner.py.
"""

import argparse
import csv
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import yaml

from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.metrics.bootstrap import draw_units, percentile_interval
from dna_bigbird.metrics.label_areas import LabelAreas, label_areas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REPLICATES = 2000
COLUMNS = (
    "window_bp", "label", "group", "n", "n_positive", "auroc", "auroc_low", "auroc_high",
    "gain", "gain_low", "gain_high", "kmer", "kmer_low", "kmer_high",
)  # fmt: skip

SCORES = ("report/scores.h5", "kmer.h5")
"""Files with the scores of the model and of the counted k-mers, in the folder of a window."""


class Steps:
    """The commands of one run, in a folder."""

    def __init__(self, config: dict, folder: Path, threads: int) -> None:
        self.config, self.folder, self.threads = config, folder, threads
        self.genome = folder / "demo" / "demo.fa"
        self.seed = ["--seed", config["seed"]]

    def call(self, output: Path, *words) -> None:
        """Run one command of `dna-bigbird`, unless its output is there."""
        if output.exists():
            return
        line = [sys.executable, "-m", "dna_bigbird", *map(str, words)]
        print("dna-bigbird", *line[3:], flush=True)
        subprocess.run(line, check=True)

    def prepare(self) -> None:
        """Make the demo, the tokenizer and a bundle that carries the architecture.

        Only the architecture and the tokenizer of the bundle are used: its one step of training
        counts for nothing, every model starts from random weights.
        """
        config, corpus = self.config, self.folder / "corpus"
        self.call(
            self.genome.parent, "demo-data", "--output", self.genome.parent, *self.seed,
            *options("", config["demo"]),
        )  # fmt: skip
        held_out = config["split"]["validation"] + config["split"]["test"]
        at = ["--genome", self.genome, "--documents"]
        beds = {"train": ["--exclude", held_out], "validation": ["--regions", held_out]}
        for name, where in beds.items():
            bed = corpus / f"{name}.bed.gz"
            self.call(
                bed, "documents", "--genome", self.genome, "--output", bed, *where, *self.seed
            )
        bpe = corpus / "bpe.model"
        self.call(
            bpe, "train-tokenizer", *at, corpus / "train.bed.gz", "--output", bpe,
            "--metrics", corpus / "bpe.json", *self.seed, *options("tokenizer", config["tokenizer"]),
        )  # fmt: skip
        store = corpus / "validation.h5"
        self.call(
            store, "tokenize", *at, corpus / "validation.bed.gz", "--tokenizer", bpe,
            "--output", store, "--assembly", "demolong",
        )  # fmt: skip
        one_step = {"max_steps": 1, "batch_size": 1, "validate_every": 1, "validation_examples": 1}
        self.call(
            self.bundle, "pretrain", "--train", store, "--validation", store, "--tokenizer", bpe,
            "--output", self.bundle, "--checkpoints", self.folder / "checkpoints" / "architecture",
            *self.seed, *options("model", config["model"]), *options("training", one_step),
        )  # fmt: skip

    @property
    def bundle(self) -> Path:
        """The untrained model."""
        return self.folder / "architecture"

    def at(self, window: int) -> Path:
        """Return the folder of one window."""
        return self.folder / f"window_{window}"

    def run(self, window: int) -> None:
        """Build the set of one window, fine-tune on it, score the held-out rows."""
        folder, config = self.at(window), self.config
        data = folder / "set.h5"
        self.call(
            data, "chromatin-set", "--genome", self.genome, "--peaks",
            self.genome.parent / "peaks.tsv", "--output", data, "--assembly", "demolong",
            "--window", window, "--require_group", "Anchor", *options("split", config["split"]),
        )  # fmt: skip
        shared = ["--genome", self.genome, "--data", data, *self.seed, "--threads", self.threads]
        self.call(
            folder / "kmer.h5", "baseline", *shared, "--output", folder / "kmer.h5",
            *options("kmer", config["kmer"]),
        )  # fmt: skip
        self.call(
            folder / "trained", "finetune", *shared, "--pretrained", self.bundle, "--from_scratch",
            "true", "--output", folder / "trained", "--checkpoints",
            self.folder / "checkpoints" / f"window_{window}",
            *options("head", config["finetuning"]["head"]),
            *options("words", config["finetuning"].get("words", {})),
            *options("training", config["finetuning"]["training"]),
        )  # fmt: skip
        self.call(
            folder / "model", "evaluate", *shared, "--model", folder / "trained",
            "--output", folder / "model", "--report", folder / "report",
        )  # fmt: skip


def options(prefix: str, values: dict) -> list:
    """Return settings as words of a command line."""
    dot = f"{prefix}." if prefix else ""
    return [word for name, value in values.items() for word in (f"--{dot}{name}", value)]


def table(steps: Steps, windows: list[int]) -> list[dict]:
    """Return one row per label and window: its AUROC, and what it gains over the shortest window.

    Raises:
        ValueError: If the sets do not hold the same bins with the same labels.
    """
    genome = Genome(steps.genome)
    rows: list[dict] = []
    shortest: LabelAreas | None = None
    bins = expected = None
    for window in windows:
        data = LabelledSet(steps.at(window) / "set.h5", genome)
        test = data.rows("test")
        labels, starts = data.labels_of(test), data.bin_starts[test]
        if shortest is None:
            bins, expected = starts, labels
            draws = draw_units(len(test), replicates=REPLICATES, seed=steps.config["seed"])
        elif starts.tolist() != bins.tolist() or (labels != expected).any():
            raise ValueError(f"the set at {window} bp holds other bins than the first")
        areas, kmer = (
            label_areas(labels, read_scores(steps.at(window) / name).of(test), draws)
            for name in SCORES
        )
        shortest = shortest or areas
        for i in np.flatnonzero(~areas.undefined):
            gain = areas.drawn[0, i] - shortest.drawn[0, i]
            names = (window, data.label_names[i], data.label_groups[i], len(test))
            values = [areas.point[0, i], *percentile_interval(areas.drawn[0, i])]
            values += [areas.point[0, i] - shortest.point[0, i], *percentile_interval(gain)]
            values += [kmer.point[0, i], *percentile_interval(kmer.drawn[0, i])]
            rounded = [f"{value:.4f}" for value in values]
            rows.append(
                dict(zip(COLUMNS, [*names, int(areas.positives[i]), *rounded], strict=True))
            )
    return rows


def draw(rows: list[dict], path: Path) -> None:
    """Draw AUROC over context length, one line per label; distant labels solid, controls dashed."""
    from dna_bigbird.core.figures import style as house

    labels = list(dict.fromkeys(row["label"] for row in rows))
    colours = [house.MODEL, house.KMER, house.GREY, house.GREEN, house.PURPLE, house.SKY]
    looks = zip(labels, cycle(colours), cycle("osD^vP"))
    with house.style():
        figure = house.new_figure(
            6.4, 3.8, f"semi-synthetic long-range demo, n = {rows[0]['n']} promoters"
        )
        axes = figure.subplots()
        for label, colour, marker in looks:
            _line(axes, [row for row in rows if row["label"] == label], colour, marker)
        axes.axhline(0.5, color=house.GREY, lw=0.8, zorder=1)
        axes.set_xscale("log", base=2)
        ticks = sorted({int(row["window_bp"]) for row in rows})
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set(xlabel="window (bp)", ylabel="AUROC, held-out promoters", ylim=(0.4, 1.02))
        axes.figure.legend(loc="outside lower center", ncols=3)
    with atomic_path(path) as out:
        out.write_bytes(house.save(figure, "png"))


def _line(axes: "Axes", rows: list[dict], colour: str, marker: str) -> None:
    """Draw one label with its intervals."""
    x, y, low, high = (
        np.array([float(row[key]) for row in rows])
        for key in ("window_bp", "auroc", "auroc_low", "auroc_high")
    )
    is_distant = rows[0]["group"] == "Distant"
    axes.errorbar(
        x, y, [y - low, high - y], color=colour, marker=marker, ms=5, lw=1.6, elinewidth=1.2,
        ls="-" if is_distant else "--",
        label=f"{rows[0]['label']} ({'partner 1-3 kb away' if is_distant else 'control'})",
    )  # fmt: skip


def main() -> None:
    """Run every step, then write and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path("config/long-range.yaml"))
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1, help="windows at the same time")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each")
    arguments = parser.parse_args()
    config = yaml.safe_load(arguments.config.read_text())
    arguments.output.mkdir(parents=True, exist_ok=True)
    steps = Steps(config, arguments.output, arguments.threads)
    steps.prepare()
    windows = sorted(config["windows"])
    with ThreadPoolExecutor(arguments.jobs) as pool:  # the longest first, it takes longest
        list(pool.map(steps.run, reversed(windows)))
    rows = table(steps, windows)
    with atomic_path(arguments.output / "context.tsv") as path, path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, arguments.output / "context.png")
    for row in rows:
        print(*row.values(), sep="\t")


if __name__ == "__main__":
    main()
