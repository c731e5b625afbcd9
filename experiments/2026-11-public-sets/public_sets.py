"""Two commands on public sets with defaults only, five seeds or ten folds, next to every baseline.

    python experiments/2026-11-public-sets/public_sets.py --data ../shared/data/benchmarks --folder results/public-sets
    python experiments/2026-11-public-sets/public_sets.py --data ../shared/data/benchmarks --folder results/public-folds \
        --folds 10

With --parts each model is also compared with its own parts: the network alone and the counts alone; with --before
FOLDER each fold also with its model there, of the same command run with another encoder.
"""

import argparse
import copy
import csv
import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import t
from sklearn.metrics import roc_auc_score

import dna_bigbird
from dna_bigbird.baselines.baseline import baseline
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.files import sha256_of
from dna_bigbird.evaluation.compare_seeds import compare_seeds
from dna_bigbird.evaluation.evaluate_run import model_scores, with_counts
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.sequences.sequence_set import sequence_set
from dna_bigbird.labelled.splits import SplitConfig

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


def scored(folder: Path, labelled: Path, seeds: range, others: dict[str, Path]) -> dict:
    """Train with each seed, score next to every baseline, and compare; what is finished is kept."""
    baselines = {x: folder / f"{x}.h5" for x in METHODS}
    for method, output in baselines.items():
        if not output.exists():
            baseline(method=method, data=labelled, output=output)
    for seed in seeds:
        model, scores = folder / f"model{seed}", folder / f"scored{seed}"
        if not model.exists():
            dna_bigbird.finetune(data=labelled, output=model, seed=seed, threads=1)
        if not scores.exists():
            dna_bigbird.evaluate(model=model, data=labelled, output=scores)
    compared = compare_seeds(
        data=labelled,
        scores=[folder / f"scored{x}.report" / "scores.h5" for x in seeds],
        output=folder / "compared.json",
        baselines=[f"{x}={y}" for x, y in (baselines | others).items()],
    )
    print(folder, compared.summary(), sep="\n", flush=True)
    return compared.values


def print_parts(folder: Path, labelled: LabelledSet, seeds: range, draws: int = 2000) -> None:
    """Print AUROC on the test rows of the models, of their networks and of their counts, means over seeds.

    Intervals of the differences draw test rows, the same ones for all models and parts.
    """
    rows = labelled.rows("test")
    settings = {"batch_size": 32, "checksum": sha256_of(labelled.path)}
    values: dict[str, list[np.ndarray]] = {}
    for seed in seeds:
        bundle = load_bundle(folder / f"model{seed}")
        network = copy.deepcopy(bundle.model)
        network.words = None
        for part, one in (
            with_counts(bundle) | {"network": replace(bundle, model=network)}
        ).items():
            scores = model_scores(
                one, labelled, rows, strand=bundle.config.default_strand, **settings
            )
            values.setdefault(part, []).append(scores.values[:, 0])
    is_positive = labelled.labels[rows, 0] > 0.5
    generator = np.random.default_rng(0)
    drawn = [np.arange(len(rows)), *generator.integers(0, len(rows), (draws, len(rows)))]
    drawn = [x for x in drawn if 0 < is_positive[x].sum() < len(x)]
    aurocs = {
        part: np.array(
            [np.mean([roc_auc_score(is_positive[x], y[x]) for y in of_seed]) for x in drawn]
        )
        for part, of_seed in values.items()
    }
    for part, auroc in aurocs.items():
        minus = aurocs["model"] - auroc
        low, high = np.quantile(minus[1:], (0.025, 0.975))
        print(f"  {part} {auroc[0]:.4f}; model minus it {minus[0]:+.4f} [{low:+.4f}, {high:+.4f}]")


def print_folds(name: str, folds: list[dict]) -> None:
    """Print the mean AUROC of the folds, and paired differences with t intervals over the folds."""
    model = np.array([x["auroc"] for x in folds])
    sources = {
        x: np.array([y["baselines"][x]["auroc"] for y in folds]) for x in folds[0]["baselines"]
    }
    best = max(METHODS, key=lambda x: sources[x].mean())
    print(
        f"{name}: {sum(x['n'] for x in folds)} rows, {len(folds)} folds; model {model.mean():.4f}"
    )
    for source, values in sources.items():
        gain = model - values
        half = t.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / len(gain) ** 0.5
        print(
            f"  {source} {values.mean():.4f}; difference {gain.mean():+.4f} "
            f"[{gain.mean() - half:+.4f}, {gain.mean() + half:+.4f}]{' (best)' * (source == best)}"
        )


def main() -> None:
    """Make the sets, train, score and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--folds", type=int, default=0, help="test every row once: a training per fold"
    )
    parser.add_argument("--before", type=Path, help="with --folds: a folder of another encoder")
    parser.add_argument("--parts", action="store_true", help="score the parts of each model too")
    parser.add_argument("--sets", nargs="*", default=["dnabert", *CLASSES])
    options = parser.parse_args()
    for name in options.sets:
        table = options.folder / name / "sequences.csv"
        table.parent.mkdir(parents=True, exist_ok=True)
        with table.open("w", newline="") as file:
            rows = labelled_sequences(options.data, name)
            csv.writer(file).writerows([("sequence", "label"), *rows])
        folds = []
        for fold in range(options.folds or 1):
            folder = table.parent / f"fold{fold}" if options.folds else table.parent
            folder.mkdir(exist_ok=True)
            labelled = folder / "set.h5"
            if not labelled.exists():
                split = SplitConfig(folds=options.folds, fold=fold)
                sequence_set(input=[table], output=labelled, split=split)
            seeds = range(fold, fold + 1) if options.folds else range(options.seeds)
            others = {}
            if options.before:
                before = options.before / folder.relative_to(options.folder)
                others["before"] = before / f"scored{fold}.report" / "scores.h5"
            folds.append(scored(folder, labelled, seeds, others))
            if options.parts:
                print_parts(folder, LabelledSet(labelled), seeds)
        if options.folds:
            print_folds(name, folds)


if __name__ == "__main__":
    main()
