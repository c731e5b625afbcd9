"""Whether `dna-bigbird design` writes the planted motifs into random sequence: docs/how-to/design.md.

    python experiments/2026-11-base-effects/designed.py --results results --output results/designs-measured

Needs the results of `make demo`. Random sequences, of which only the FREE bases in the middle may change, are designed
for each label of LABELS with the demo's chromatin model and with a control, whose labels were shuffled among the rows
of the training split (CONTROL_STEPS steps of the same fine-tuning). Counted are sequences in which the planted matrix
has a site as good as a planted one, in the middle, before and after. Folders that are there are kept. Prints Markdown.
"""

import argparse
import csv
from pathlib import Path

import motifs as base_effects
import numpy as np

from dna_bigbird import design
from dna_bigbird.bundles.choice import load_models
from dna_bigbird.demo.grammar import LEAST_SHARE
from dna_bigbird.genome.fasta_stream import read_fasta
from dna_bigbird.genome.motif_files import LETTERS
from dna_bigbird.genome.motifs import load_motifs
from dna_bigbird.prediction.compute import Compute, exact
from dna_bigbird.prediction.marginalise import insert, log_odds
from dna_bigbird.prediction.predictor import Predictor

LABELS = ("JUN", "TEAD1", "CEBPB", "CTCF")
"""Whose rule is sites of one matrix."""
FREE = (486, 515)
"""From 1, of 1,000 bases: the bin of the model is 401 to 600."""
SHOWN = slice(FREE[0] - 20, FREE[1] + 19)
"""Where sites are looked for: all that overlap a free base."""
EDITS = 10
CONTROL_STEPS = 240


def designed(model: Path, label: str, folder: Path, count: int, seed: int) -> None:
    """Design sequences, if the folder is not there."""
    if not folder.exists():
        design(
            label, folder, random=count, random_gc=0.45, model=model, edits=EDITS, seed=seed, strand="forward",
            fixed=[f"1-{FREE[0] - 1}", f"{FREE[1] + 1}-1000"], threads=1,
        )  # fmt: skip


def best_shares(fasta: Path, label: str) -> list[float]:
    """Return the share of the best score of the best site of each sequence."""
    motif = load_motifs()[label]
    return [motif.best_share(record.letters[SHOWN]) for record in read_fasta(fasta)]


def gains(folder: Path, label: str) -> list[float]:
    """Return the change of the log odds of each sequence."""
    ends: dict[str, list[float]] = {}
    with (folder / "trace.tsv").open(newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            ends.setdefault(row["sequence"], []).append(float(row[f"{label}_log_odds"]))
    return [values[-1] - values[0] for values in ends.values()]


def inserted(model: Path, fasta: Path, label: str) -> list[float]:
    """Return the mean change of the log odds by one and by two consensus sites in the same starts."""
    predictor = Predictor(
        load_models(model), compute=exact(Compute(threads=1)), strand="forward", raw=True
    )
    column, site = predictor.label_names.index(label), consensus(label)
    plain = [record.letters for record in read_fasta(fasta)]
    one = [insert(text, site, 496) for text in plain]
    two = [insert(insert(text, site, 487), site, 502) for text in plain]
    values = [log_odds(predictor, texts)[:, column] for texts in (plain, one, two)]
    return [float((changed - values[0]).mean()) for changed in values[1:]]


def consensus(label: str) -> str:
    """Return the best site of a planted matrix."""
    return "".join(LETTERS[i] for i in load_motifs()[label].log_odds.argmax(axis=0))


def main() -> None:
    """Design with both models, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--output", type=Path, required=True, help="folder of the measurement")
    parser.add_argument("--labels", nargs="+", default=LABELS)
    parser.add_argument("--count", type=int, default=4, help="random sequences per label")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    base_effects.RECIPE = base_effects.RECIPE.replace("max_steps 480", f"max_steps {CONTROL_STEPS}")
    control = base_effects.control_model(asked.results, asked.output, asked.seed)
    models = {"model": asked.results / "models/chromatin", "control": control}
    print(
        "| label | model | with a planted site: before, after | mean best share | mean change of log odds |"
    )
    print("|---|---|---|---|---|")
    for label in asked.labels:
        for name, model in models.items():
            folder = asked.output / f"{label}_{name}"
            designed(model, label, folder, asked.count, asked.seed)
            before, after = (
                best_shares(folder / file, label) for file in ("start.fa", "designed.fa")
            )
            counts = [sum(x >= LEAST_SHARE for x in shares) for shares in (before, after)]
            print(
                f"| {label} | {name} | {counts[0]}, {counts[1]} of {len(after)} | {np.mean(before):.2f}, "
                f"{np.mean(after):.2f} | {np.mean(gains(folder, label)):.1f} |",
                flush=True,
            )
        one, two = inserted(models["model"], asked.output / f"{label}_model/start.fa", label)
        print(f"{label}: one consensus site {one:.1f}, two {two:.1f}", flush=True)


if __name__ == "__main__":
    main()
