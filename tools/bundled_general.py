"""The model of all promoters that comes with the package: its training and its held-out scores.

    python -m tools.bundled_general           # compare the scores with its card
    python -m tools.bundled_general --ship    # make the trained model the bundled one

Trains config/bundled-promoter.yaml's `any_promoter` five times, each time with another fifth of the promoters held out,
and scores each on its own; the first one is bundled. Intervals are over promoters and blocks of the genome within the
folds, of the mean AUROC of the folds. What the folder of work has is not made again. Reads ../shared/data; six minutes
of one core.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import yaml

from dna_bigbird.baselines.kmer import KmerBaseline, KmerConfig, gc_content
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.bundled import ANY_PROMOTER
from dna_bigbird.bundles.seen_sequences import SEQUENCES
from dna_bigbird.cli.main import main as dna_bigbird
from dna_bigbird.core.rounding import rounded
from dna_bigbird.core.writing import json_text
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet, block_units
from dna_bigbird.metrics.binary import RankedLabel
from dna_bigbird.metrics.bootstrap import draw_units, percentile_interval
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from tools import bundled_card
from tools.bundled import (
    CHECKOUT,
    RECIPE,
    build_promoters,
    build_sources,
    differences,
    settings_of,
)
from tools.bundled_scores import PromoterRows, Scorer, scan

NAME = "any_promoter"
FOLDS = range(5)
REPLICATES = 1000


def trained(recipe: dict, folder: Path, fold: int) -> Path:
    """Return the model of a fold, trained on its set if the folder does not have it."""
    data, output = folder / f"{NAME}{fold}.h5", folder / f"{NAME}{fold}"
    if not data.exists():
        build_promoters(recipe, folder, data, NAME, fold)
    if not output.exists():
        settings = settings_of(recipe, NAME)
        training = {
            key: json.dumps(value).strip('"') for key, value in settings["training"].items()
        }
        dna_bigbird(
            [
                "finetune",
                f"--genome={folder / 'genome.fa'}",
                f"--data={data}",
                "--pretrained=bundled-encoder",
                f"--output={output}",
                f"--seed={recipe['seed']}",
                "--threads=1",
                f"--freeze={settings['freeze']}",
                f"--head.pooling={settings['head']['pooling']}",
                *(f"--training.{key}={value}" for key, value in training.items()),
            ]
        )
    return output


def composition(rows: PromoterRows) -> dict[str, Scorer]:
    """Return what counts of bases explain: GC content, the number of CG, and a regression on both."""

    def counts(numbers: np.ndarray) -> np.ndarray:
        windows = rows.sequences(numbers)
        return np.array([[gc_content(x), x.count("CG")] for x in windows])

    model = KmerBaseline(KmerConfig(strands="together", centre_bp=0), method="gc")
    parts = [rows.of("sites", split) for split in ("train", "validation")]
    model.fit(*(x for part in parts for x in (counts(part), rows.labelled.labels_of(part))))
    return {
        "gc": lambda numbers: counts(numbers)[:, :1],
        "cg": lambda numbers: counts(numbers)[:, 1:],
        "gc_cg": lambda numbers: model.predict(counts(numbers)),
    }


def areas_of(folder: Path, fold: int, predictor: Predictor, seed: int) -> dict:
    """Return AUROC and its draws on the test rows of a fold by part and source, and the numbers of rows."""
    rows = PromoterRows(LabelledSet(folder / f"{NAME}{fold}.h5", Genome(folder / "genome.fa")))
    sources = {"": rows.known(predictor.probabilities), **composition(rows)}
    sources["kmer"] = rows.kmer(oriented=False)
    areas: dict = {}
    for part in bundled_card.BACKGROUND_PARTS:
        tested = rows.of(part, "test")
        units, _ = block_units(rows.labelled, tested)
        draws = draw_units(len(tested), replicates=REPLICATES, seed=seed + fold, units=units)
        labels = rows.labelled.labels_of(tested)[:, 0]
        areas[part] = {"n": len(tested)}
        for name, scorer in sources.items():
            ranked = RankedLabel(labels, scorer(tested)[:, 0])
            areas[part][name] = float(np.ravel(ranked.areas()[0])[0]), ranked.areas(draws)[0]
    return areas


def summary(folds: list[dict]) -> tuple[dict, dict]:
    """Return scores of the model and of the baselines: means over the folds."""
    metrics: dict = {}
    baselines: dict[str, dict] = {}
    for part in bundled_card.BACKGROUND_PARTS:
        means = {
            name: [np.mean([fold[part][name][i] for fold in folds], axis=0) for i in (0, 1)]
            for name in folds[0][part]
            if name != "n"
        }
        metrics[f"n_{part}"] = sum(fold[part]["n"] for fold in folds)
        metrics |= _named("auroc", part, *means[""])
        for name in filter(None, means):
            baselines.setdefault(name, {}).update(_named("auroc", part, *means[name]))
            gain = [mine - other for mine, other in zip(means[""], means[name], strict=True)]
            metrics |= _named(f"auroc_gain_over_{name}", part, *gain)
    return metrics, baselines


def _named(score: str, part: str, value: float, drawn: np.ndarray) -> dict[str, float]:
    low, high = percentile_interval(drawn)  # each fold has draws of its own
    return {
        f"{score}_{part}": float(value),
        f"{score}_low_{part}": low,
        f"{score}_high_{part}": high,
    }


def measure(recipe: dict, folder: Path) -> dict:
    """Return metrics.json of the model, trained and scored in a folder that has the sources."""
    seed, compute = recipe["seed"], Compute(precision="32-true")
    bundles = [load_bundle(trained(recipe, folder, fold)) for fold in FOLDS]
    predictors = [Predictor(bundle, compute=compute) for bundle in bundles]
    folds = [areas_of(folder, fold, predictors[fold], seed) for fold in FOLDS]
    metrics, baselines = summary(folds)
    genome = Genome(folder / "genome.fa")
    labelled = LabelledSet(folder / f"{NAME}0.h5", genome)
    rows = PromoterRows(labelled)
    promoters = np.concatenate([rows.of(x, "test")[::2] for x in bundled_card.BACKGROUND_PARTS])
    called = predictors[0].probabilities(rows.sequences(promoters))[:, 0]
    metrics |= scan(predictors[0], genome, labelled, folder / "sites.bed", called)
    metrics |= {"n": metrics["n_sites"] + metrics["n_tata"], "seed": seed}
    metrics |= {"split": "test", "strand": "both", "step": bundles[0].config.chosen_step}
    return rounded(metrics | {"baselines": baselines})


def main() -> None:
    """Train and score, then ship or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=CHECKOUT.parent / "shared" / "data")
    parser.add_argument("--work", type=Path, default=CHECKOUT / "results" / "bundled-general")
    parser.add_argument("--ship", action="store_true", help="make it the bundled model")
    asked = parser.parse_args()
    recipe = yaml.safe_load(RECIPE.read_text())
    if not (asked.work / "sites.bed").exists():
        build_sources(settings_of(recipe, NAME), asked.data, asked.work)
    metrics = measure(recipe, asked.work)
    print(bundled_card.general_table(metrics))
    if asked.ship:
        bundle = load_bundle(asked.work / f"{NAME}0")
        for name in ("config.json", "model.safetensors", "tokenizer.model", SEQUENCES):
            shutil.copyfile(bundle.folder / name, ANY_PROMOTER / name)
        (ANY_PROMOTER / "metrics.json").write_text(json_text(metrics))
        (ANY_PROMOTER / "README.md").write_text(bundled_card.general_card(bundle.config, metrics))
        print(f"written: {ANY_PROMOTER}")
        return
    if wrong := differences(metrics, json.loads((ANY_PROMOTER / "metrics.json").read_text())):
        sys.exit("\n".join(["not what the card says:", *wrong]))
    print("as the card says")


if __name__ == "__main__":
    main()
