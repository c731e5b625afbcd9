"""Which planted motifs `dna-bigbird motifs` finds in the demo's chromatin model: docs/how-to/motifs.md.

    python experiments/2026-11-base-effects/motifs.py --results results --output results/motifs-measured

Needs the extra [motifs] and the results of `make demo`. For each label of LABELS it attributes windows of 1,000 bases
around the peaks, in all regions, those of training included: the question is what the model reads, not how well it
predicts. It does the same with a control, whose labels were shuffled among the rows of the training split (the
same fine-tuning, some minutes of one core), and again for the control without a limit of the contribution.

A planted matrix counts as named if the best match of a pattern, with q < 0.05, is that matrix in any version, or one
that is similar to it: Tomtom with q < 0.05, over all pairs of a planted matrix and a matrix of the database. "own": of
patterns that raise a label whose rule names the matrix; "any": of all patterns of all labels, of either sign. Files
that are there are kept. Prints Markdown.
"""

import argparse
import csv
import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np

from dna_bigbird import attribute
from dna_bigbird.cli.main import main as main_of_commands
from dna_bigbird.core.hdf5 import DATASETS, HEADER, TEXTS, dataset_digests, write_checksums
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.motifs import load_motifs
from dna_bigbird.prediction.motif_patterns import Database, match_all, read_database
from dna_bigbird.prediction.motifs import motifs

LABELS = {
    **{name: (name,) for name in ("SP1", "NRF1", "NFYA", "GABPA", "YY1", "TBP", "CTCF", "REST", "JUN", "CEBPB", "TEAD1")},
    "STAT1": ("STAT1", "IRF1"), "GATA1": ("GATA1", "RUNX1"), "FOXA1": ("FOXA1", "HNF4A"), "MEF2A": ("MEF2A", "TEAD1"),
}  # fmt: skip
"""Each label and the matrices that its rule names."""
MAX_Q = 0.05
RUNS = {"model": ("model", 0.1), "control": ("control", 0.1), "control_all": ("control", 0.0)}
"""Each run: whose effects, and --min_contribution."""
RECIPE = (
    "--head.pooling centre --head.centre_tokens 60 --words.max_k 6 --training.max_steps 480 --training.batch_size 32 "
    "--training.learning_rate 0.001 --training.warmup_steps 24 --training.gradient_clip 1.0 "
    "--training.precision 32-true --training.validate_every 80 --training.positive_weight 8"
)
"""Of the section `chromatin` of config/config.yaml."""
TRAIN = 0
"""Number of the training split in a labelled set."""


def shuffled_set(source: Path, output: Path, seed: int) -> None:
    """Write a labelled set whose training rows have the labels of other training rows."""
    shutil.copyfile(source, output)
    with h5py.File(output, "r+") as file:
        train = np.flatnonzero(file["rows/split"][:] == TRAIN)
        bits = file["labels/bits"][:]
        bits[train] = bits[np.random.default_rng(seed).permutation(train)]
        file["labels/bits"][...] = bits
        digests = dataset_digests(file, json.loads(file.attrs[DATASETS]))
        for name in (TEXTS, DATASETS, HEADER):
            del file.attrs[name]
        write_checksums(file, digests)


def control_model(results: Path, output: Path, seed: int) -> Path:
    """Return a model that was fine-tuned on shuffled labels as `make demo` fine-tunes on the true ones."""
    model = output / "control"
    if not model.exists():
        shuffled_set(results / "chromatin/set.h5", output / "shuffled.h5", seed)
        files = {
            "genome": results / "genome/genome.fa", "data": output / "shuffled.h5", "output": model,
            "pretrained": results / "trained/pretrained", "checkpoints": output / "checkpoints",
        }  # fmt: skip
        words = [f"--{name}={path}" for name, path in files.items()]
        main_of_commands(["finetune", *words, f"--seed={seed}", "--threads=1", *RECIPE.split()])
    return model


def attribute_peaks(results: Path, model: Path, folder: Path) -> None:
    """Write an HDF5 file of effects for each label: windows of 1,000 bases whose middle is that of a peak."""
    demo = results / "inputs/demo"
    folder.mkdir(parents=True, exist_ok=True)
    (length,) = Genome(demo / "demo.fa").lengths.values()
    for label in LABELS:
        with (demo / "peaks" / f"{label}.bed").open() as stream:
            peaks = [line.split("\t") for line in stream]
        starts = {(int(start) + int(end)) // 2 - 500 for _, start, end, *_ in peaks}
        inside = sorted(start for start in starts if 0 <= start <= length - 1000)
        bed = folder / f"{label}.bed"
        bed.write_text("".join(f"{peaks[0][0]}\t{start}\t{start + 1000}\n" for start in inside))
        if not (folder / f"{label}.h5").exists():
            attribute(
                demo / "demo.fa", bed, model=model, labels=[label], output=folder / f"{label}.h5",
                assembly="demo22", threads=1,
            )  # fmt: skip


def similar_matrices(database: Database) -> dict[str, set[str]]:
    """Return, for each planted factor, the identifiers of the matrices that count as it."""
    planted = load_motifs()
    factors = sorted({name for names in LABELS.values() for name in names})
    shares = [planted[name].probabilities for name in factors]
    similar = {}
    for name, matches in zip(factors, match_all(shares, database), strict=True):
        base = planted[name].matrix_id.partition(".")[0]
        own = {x.identifier for x in database.matrices if x.identifier.partition(".")[0] == base}
        similar[name] = own | {x.matrix.identifier for x in matches if x.q < MAX_Q}
    return similar


def read_table(folder: Path) -> list[dict[str, str]]:
    """Return the rows of motifs.tsv."""
    with (folder / "motifs.tsv").open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def hits_of(rows: list[dict[str, str]], similar: set[str]) -> list[dict[str, str]]:
    """Return the patterns whose best match counts as a planted matrix."""
    return [
        row
        for row in rows
        if row["matrix"] and float(row["q"]) < MAX_Q and row["matrix"].split()[-1] in similar
    ]


def main() -> None:
    """Run both models, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--output", type=Path, required=True, help="folder of the measurement")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the shuffled labels and of the control"
    )
    asked = parser.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    tables = {}
    for run, (name, min_contribution) in RUNS.items():
        folder = asked.output / f"{run}_motifs"
        if not folder.exists():
            effects = asked.output / f"{name}_effects"
            is_control = name == "control"
            control = control_model(asked.results, asked.output, asked.seed) if is_control else None
            attribute_peaks(asked.results, control or asked.results / "models/chromatin", effects)
            started_at = os.times().user
            motifs([effects], folder, min_contribution=min_contribution, progress=True)
            print(f"{run}: {os.times().user - started_at:.0f} s of processor time for motifs\n")
        tables[run] = read_table(folder)
    print_tables(tables)


def print_tables(tables: dict[str, list[dict[str, str]]]) -> None:
    """Print a row per planted matrix, and the counts."""
    similar = similar_matrices(read_database(None))
    columns = [f"{run}, {which}" for run in tables for which in ("own", "any")]
    print(f"| planted | matrices that count | best match, q | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 3) + "|")
    named = dict.fromkeys(columns, 0)
    for factor, identifiers in similar.items():
        labels = {label for label, names in LABELS.items() if factor in names}
        cells, best = [], "–"
        for run, rows in tables.items():
            matches = hits_of(rows, identifiers)
            own = [row for row in matches if row["label"] in labels and row["sign"] == "+"]
            for which, listed in (("own", own), ("any", matches)):
                cells.append(str(len(listed)))
                named[f"{run}, {which}"] += bool(listed)
            if run == "model" and own:
                first = min(own, key=lambda row: float(row["q"]))
                best = f"{first['matrix']}, {float(first['q']):.1g}"
        print(f"| {factor} | {len(identifiers)} | {best} | {' | '.join(cells)} |")
    print(f"| named of {len(similar)} | | | {' | '.join(map(str, named.values()))} |\n")
    for run, rows in tables.items():
        sizes = [abs(float(row["mean_contribution"])) for row in rows]
        spread = f", contributions {min(sizes):.3f} to {max(sizes):.3f}" if sizes else ""
        print(
            f"{run}: {len(rows)} patterns, {sum(bool(x['matrix']) for x in rows)} with a match{spread}."
        )


if __name__ == "__main__":
    main()
