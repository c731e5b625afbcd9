"""Held-out scores of the promoter model that comes with the package, from the data.

    python benchmarks/bundled.py                    # score it and compare the scores with its card
    python benchmarks/bundled.py --model results/bundled-promoter/models/promoter --ship
                                                    # make a trained bundle the bundled one

Builds the labelled sets as config/bundled-promoter.yaml says, shows that no split knows anything of
another, fits the k-mer baseline twice (on all rows the model saw; on one kind of negatives alone),
and scores the test rows once for each kind of negatives. Reads ../shared/data; a minute of one
core.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import bundled_card
import numpy as np
import yaml
from threadpoolctl import threadpool_limits

from dna_bigbird.baselines.kmer import KmerBaseline, KmerConfig
from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import BUNDLED
from dna_bigbird.cli.main import main as dna_bigbird
from dna_bigbird.datasets.blocks import block_units
from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.datasets.leakage import LeakageRows, find_leaks
from dna_bigbird.datasets.splits import SPLITS
from dna_bigbird.datasets.windows import Windows
from dna_bigbird.evaluation.bootstrap import draw_units
from dna_bigbird.evaluation.label_areas import choose_thresholds
from dna_bigbird.evaluation.label_summary import compare
from dna_bigbird.evaluation.rounding import rounded
from dna_bigbird.evaluation.sources import Source, score_source
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.sites import read_sites
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.predictor import Predictor
from dna_bigbird.writing import atomic_directory, json_text

CHECKOUT = Path(__file__).resolve().parents[1]
RECIPE = CHECKOUT / "config" / "bundled-promoter.yaml"
KEPT = ("auroc", "auroc_low", "auroc_high", "f1", "f1_low", "f1_high", "mcc", "threshold")
Scorer = Callable[[list[str]], np.ndarray]
"""Sequences to probabilities, (n, 1)."""
SCAN = "chr22", 19_500_000, 20_000_000
SCAN_STRIDE_BP, NEAR_BP = 100, 500
TOLERANCE = 0.002
"""Of a score that is computed again: another processor rounds a few probabilities the other way."""


def build_sets(recipe: dict, data: Path, folder: Path) -> Path:
    """Write the genome, the set with all negatives and one set for each type of them; return the genome's path."""
    folder.mkdir(parents=True, exist_ok=True)
    genome, sites, avoid = (folder / name for name in ("genome.fa", "tata.bed", "sites.bed"))
    promoters = data / "promoters"
    settings = settings_of(recipe)
    dna_bigbird(
        [
            "promoter-sequences",
            f"--input={promoters / 'human_tata_promoters_300bp.txt.gz'}",
            f"--tss_offset={settings['upstream']}",
            f"--output={folder / 'tata.fa'}",
            f"--output_sites={sites}",
        ]
    )
    pieces = [str(path) for path in sorted((data / "genome").glob("hg19_chr*.fa.gz"))]
    joined = json.dumps([*pieces, str(folder / "tata.fa")])
    dna_bigbird(["genome", f"--inputs={joined}", f"--output={genome}"])
    dna_bigbird(
        [
            "lift-over",
            f"--input={promoters / 'epdnew_human_hg38_without_chr1_chr2.bed.gz'}",
            f"--chain={data / 'chain' / 'hg38ToHg19.over.chain.gz'}",
            f"--output={avoid}",
            f"--unlifted={folder / 'unlifted.tsv'}",
        ]
    )
    splits = [f"--split.{key}={value}" for key, value in settings["splits"].items()]
    for negatives in (settings["negatives"], *bundled_card.TYPES):
        dna_bigbird(
            [
                "promoter-set",
                f"--genome={genome}",
                f"--sites={sites}",
                f"--avoid=[{avoid}]",
                f"--output={set_path(folder, negatives)}",
                f"--assembly={recipe['assembly']}",
                f"--pieces={str(recipe['pieces']).lower()}",
                f"--seed={recipe['seed']}",
                f"--upstream={settings['upstream']}",
                f"--downstream={settings['downstream']}",
                f"--negatives={negatives}",
                *splits,
            ]
        )
    return genome


def settings_of(recipe: dict) -> dict:
    """Return how the recipe builds and trains the promoter model."""
    return recipe["experiments"]["heads"]["tata"]["promoter"]


def set_path(folder: Path, negatives: str) -> Path:
    """Return the path of the set with these negatives."""
    return folder / f"{negatives.replace(',', '-')}.h5"


def kmer_baseline(labelled: LabelledSet) -> Scorer:
    """Fit word counts on the training rows of a set, the penalty chosen on its validation rows."""
    config = KmerConfig().for_set(window_bp=labelled.window_bp, bin_bp=0, oriented=True)
    model = KmerBaseline(config)
    parts = [labelled.rows("train"), labelled.rows("validation")]
    with threadpool_limits(1):  # sums depend on the number of threads in their last digits
        model.fit(
            *(
                x
                for part in parts
                for x in (model.features(sequences(labelled, part)), labelled.labels_of(part))
            )
        )
    return lambda texts: model.predict(model.features(texts))


def sequences(labelled: LabelledSet, rows: np.ndarray) -> list[str]:
    """Return the bases of some rows as their strand reads them."""
    return [labelled.sequence(int(i)) for i in rows]


def check_held_out(seen: LabelledSet, data: LabelledSet) -> None:
    """Make sure that no training row of one set knows anything of a test row of another."""
    train, test = seen.rows("train"), data.rows("test")
    texts = sequences(seen, train) + sequences(data, test)
    letters = np.frombuffer("".join(texts).encode(), np.uint8).reshape(len(texts), -1)
    intervals = [*(seen.interval(int(i)) for i in train), *(data.interval(int(i)) for i in test)]
    split = np.repeat([0, 2], [len(train), len(test)])
    windows = Windows.of(intervals, seen.window_bp)
    rows = LeakageRows(windows, split, np.arange(len(texts)), lambda numbers: letters[numbers])
    if leaks := find_leaks(rows).leaks:
        sys.exit(f"{len(leaks)} training rows know something of the test: {leaks[0]}")


def judged(data: LabelledSet, scorer: Scorer, seed: int) -> Source:
    """Judge the test rows of a set with one kind of negatives.

    The threshold is chosen on its validation rows, as in Table 6.
    """
    rows = [data.rows(split) for split in ("validation", "test")]
    units, _ = block_units(data, rows[1])
    draws = draw_units(len(rows[1]), replicates=1000, seed=seed, units=units)
    splits = [(data.labels_of(part), scorer(sequences(data, part))) for part in rows]
    return score_source(*splits, data.label_groups, draws)


def named(source: Source, negatives: str) -> dict[str, float]:
    """Return what is kept of the metrics of one kind of negatives."""
    return {f"{key}_{negatives}": source.metrics[key] for key in KEPT}


def scan(predictor: Predictor, genome: Genome, seen: LabelledSet, avoid: Path, threshold: float):
    """Score a stretch that no training row overlaps, as a user who scans a genome would.

    Windows that overlap a training or validation row are left out. A call is near a start site if
    its window reaches within 500 bp of one.
    """
    chrom, first, last = SCAN
    rows = [seen.interval(int(i)) for i in np.flatnonzero(seen.split != 2)]
    used = np.array([(x.start, x.end) for x in rows if x.chrom == chrom])
    starts = np.arange(first, last - seen.window_bp + 1, SCAN_STRIDE_BP)
    ends = starts + seen.window_bp
    clear = ~((starts[:, None] < used[:, 1]) & (ends[:, None] > used[:, 0])).any(axis=1)
    starts, ends = starts[clear], ends[clear]
    bases = [
        genome.fetch(Interval(chrom, int(a), int(b))) for a, b in zip(starts, ends, strict=True)
    ]
    called = predictor.probabilities(bases)[:, 0] >= threshold
    tss = np.array([x.interval.start for x in read_sites(avoid) if x.interval.chrom == chrom])
    near = ((starts[:, None] - NEAR_BP <= tss) & (ends[:, None] + NEAR_BP > tss)).any(axis=1)
    far = ~near
    runs = np.flatnonzero(called & far)
    apart = 1 + int((np.diff(starts[runs]) > SCAN_STRIDE_BP).sum()) if len(runs) else 0
    mbp = len(np.unique(starts[far] // SCAN_STRIDE_BP)) * SCAN_STRIDE_BP / 1e6
    return {
        "scan_threshold": threshold,
        "n_scan": int(far.sum()),
        "scan_called_share": float(called[far].mean()),
        "scan_calls_per_mbp": apart / mbp,
        "n_scan_near_start_sites": int(near.sum()),
        "scan_called_share_near_start_sites": float(called[near].mean()),
    }


def measure(bundle: Bundle, recipe: dict, data: Path, folder: Path) -> dict:
    """Return metrics.json of the bundled model."""
    genome = build_sets(recipe, data, folder)
    reference, seed = Genome(genome), recipe["seed"]
    seen = LabelledSet(set_path(folder, settings_of(recipe)["negatives"]), reference)
    predictor = Predictor(bundle, compute=Compute(precision="32-true"))
    same_rows = kmer_baseline(seen)
    metrics: dict = {}
    baselines: dict[str, dict] = {"kmer_same_rows": {}, "kmer_one_kind": {}}
    for negatives in bundled_card.TYPES:
        labelled = LabelledSet(set_path(folder, negatives), reference)
        check_held_out(seen, labelled)
        own = judged(labelled, predictor.probabilities, seed)
        metrics |= named(own, negatives) | {f"n_{negatives}": own.metrics["n"]}
        for name, scorer in (
            ("kmer_same_rows", same_rows),
            ("kmer_one_kind", kmer_baseline(labelled)),
        ):
            other = judged(labelled, scorer, seed)
            baselines[name] |= named(other, negatives)
            gain = compare(own.areas, other.areas)
            for end in ("", "_low", "_high"):
                metrics[f"auroc_gain_over_{name}{end}_{negatives}"] = gain[f"auroc_gain{end}"]
    validation = seen.rows("validation")
    threshold = choose_thresholds(
        seen.labels_of(validation), predictor.probabilities(sequences(seen, validation))
    )
    metrics |= scan(predictor, reference, seen, folder / "sites.bed", float(threshold[0]))
    for split in SPLITS:
        metrics[f"n_promoters_{split}"] = int(seen.labels_of(seen.rows(split)).sum())
    test = seen.rows("test")
    metrics |= {"n": len(test), "n_positive": int(seen.labels_of(test).sum()), "seed": seed}
    metrics |= {"split": "test", "strand": "both", "step": bundle.config.chosen_step}
    return rounded(metrics | {"baselines": baselines})


def ship(bundle: Bundle, metrics: dict) -> None:
    """Write the bundled model: weights, settings and tokenizer as they are, scores and card new."""
    with atomic_directory(BUNDLED) as partial:
        for name in ("config.json", "model.safetensors", "tokenizer.model"):
            shutil.copyfile(bundle.folder / name, partial / name)
        (partial / "metrics.json").write_text(json_text(metrics))
        (partial / "README.md").write_text(bundled_card.card(bundle.config, metrics))


def differences(measured: dict, recorded: dict, where: str = "") -> list[str]:
    """Name every figure that is not what the card's metrics.json says."""
    lines = []
    for key in sorted(measured.keys() | recorded.keys()):
        a, b = measured.get(key), recorded.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += differences(a, b, f"{key}.")
        elif isinstance(a, float) and isinstance(b, float | int):
            # Calls in a scan are few, and one more is a larger step than one more row.
            near = TOLERANCE if "scan" not in key else 0.05 * abs(b) + TOLERANCE
            lines += [f"{where}{key}: {a} here, {b} on the card"] if abs(a - b) > near else []
        elif a != b:
            lines.append(f"{where}{key}: {a} here, {b} on the card")
    return lines


def main() -> None:
    """Score, then ship or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=BUNDLED)
    parser.add_argument("--data", type=Path, default=CHECKOUT.parent / "shared" / "data")
    parser.add_argument("--work", type=Path, default=CHECKOUT / "results" / "bundled-scores")
    parser.add_argument("--ship", action="store_true", help="make --model the bundled model")
    asked = parser.parse_args()
    bundle = load_bundle(asked.model)
    metrics = measure(bundle, yaml.safe_load(RECIPE.read_text()), asked.data, asked.work)
    print(bundled_card.score_table(metrics))
    if asked.ship:
        ship(bundle, metrics)
        print(f"written: {BUNDLED}")
        return
    if wrong := differences(metrics, json.loads((BUNDLED / "metrics.json").read_text())):
        sys.exit("\n".join(["not what the card says:", *wrong]))
    print("as the card says")


if __name__ == "__main__":
    main()
