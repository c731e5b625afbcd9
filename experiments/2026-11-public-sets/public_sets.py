"""Two commands on public sets with defaults only, five seeds, next to every baseline.

python experiments/2026-11-public-sets/public_sets.py --data ../shared/data/benchmarks --folder results/public-sets
"""

import argparse
import csv
import gzip
from pathlib import Path

import dna_bigbird
from dna_bigbird.baselines.baseline import baseline
from dna_bigbird.evaluation.compare_seeds import compare_seeds
from dna_bigbird.labelled.sequences.sequence_set import sequence_set

CLASSES = {
    "enhancers": ("ienhancer/layer1_train_enhancers", "ienhancer/layer1_train_nonenhancers"),
    "strong": ("ienhancer/layer2_train_strong_enhancers", "ienhancer/layer2_train_weak_enhancers"),
    "ecoli": ("cnnprom/Ecoli_prom", "cnnprom/Ecoli_non_prom"),
    "arabidopsis": ("cnnprom/Arabidopsis_tata", "cnnprom/Arabidopsis_non_prom"),
}
SAMPLE = "dnabert_sample/dev_6mer.tsv.gz"
METHODS = ("kmer", "gc", "composition", "positional")


def labelled_sequences(data: Path, name: str) -> list[tuple[str, int]]:
    """Return the sequences of a set, positives first."""
    if name == "dnabert":
        with gzip.open(data / SAMPLE, "rt") as file:
            rows = [line.rstrip("\n").split("\t") for line in file][1:]
        return [(x.split()[0] + "".join(w[-1] for w in x.split()[1:]), int(y)) for x, y in rows]
    pairs = []
    for label, part in zip((1, 0), CLASSES[name], strict=True):
        with gzip.open(data / f"{part}.fa.gz", "rt") as file:
            records = file.read().split(">")[1:]
        pairs += [("".join(x.split("\n")[1:]).upper(), label) for x in records]
    return pairs


def main() -> None:
    """Make the sets, train, score and compare; what is finished is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    for name in ("dnabert", *CLASSES):
        folder = options.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        labelled = folder / "set.h5"
        if not labelled.exists():
            with (folder / "sequences.csv").open("w", newline="") as file:
                csv.writer(file).writerows(
                    [("sequence", "label"), *labelled_sequences(options.data, name)]
                )
            sequence_set(input=[folder / "sequences.csv"], output=labelled)
        for method in METHODS:
            if not (folder / f"{method}.h5").exists():
                baseline(method=method, data=labelled, output=folder / f"{method}.h5")
        for seed in range(options.seeds):
            model, scored = folder / f"model{seed}", folder / f"scored{seed}"
            if not model.exists():
                dna_bigbird.finetune(data=labelled, output=model, seed=seed, threads=1)
            if not scored.exists():
                dna_bigbird.evaluate(model=model, data=labelled, output=scored)
        compared = compare_seeds(
            data=labelled,
            scores=[folder / f"scored{x}.report" / "scores.h5" for x in range(options.seeds)],
            output=folder / "compared.json",
            baselines=[f"{x}={folder / x}.h5" for x in METHODS],
        )
        print(name, compared.summary(), sep="\n")


if __name__ == "__main__":
    main()
