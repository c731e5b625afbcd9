"""Does the model of the long window read the partner? docs/results/long-range-distance.md.

    python experiments/2026-11-long-range/shuffled_partner.py --run results/long-range [--window 8000]

Reads the folder of experiments/2026-11-long-range/context.py. For every held-out promoter with a label of the group
Distant, it shuffles the bases of the partner cluster (truth.tsv), or of an equally long stretch
without a planted site at the same distance on the other side (else elsewhere in the window), and
predicts again. Writes shuffled.tsv: the mean change of the log odds with bootstrap intervals, and
the AUROC of the label when all its positives are changed so; the unchanged negatives are the same.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from dna_bigbird import load_bundle, predict
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.metrics.bootstrap import draw_units, percentile_interval
from dna_bigbird.metrics.label_areas import label_areas

PARTNERS = {"POLR2A": "JUN", "H3K27me3": "REST"}
"""The cluster that decides each label."""
RIGHT_BP = (1000, 3000)
MARGIN_BP = 50
"""Least distance of the stretch elsewhere from any planted site and from the promoter's flank."""
REPLICATES = 2000
COLUMNS = (
    "label", "n_positive", "n_negative", "version", "change", "change_low", "change_high",
    "auroc", "auroc_low", "auroc_high",
)  # fmt: skip

Stretch = tuple[int, int]


def read_truth(path: Path) -> dict[str, list]:
    """Return clusters as (factor, start, end), flanks and starts of a long-range demo."""
    truth: dict[str, list] = {"cluster": [], "flank": [], "promoter": []}
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            at = (int(row["start"]), int(row["end"]))
            if row["kind"] == "element":
                truth["cluster"].append((row["name"].rstrip("0123456789"), *at))
            elif row["kind"] in truth:
                truth[row["kind"]].append(at)
    return truth


def partner_of(factor: str, truth: dict[str, list], window: Stretch) -> tuple[Stretch, int]:
    """Return the cluster of a factor 1 to 3 kb from the start of a window's promoter, and that start.

    Raises:
        ValueError: If there is none.
    """
    middle = (window[0] + window[1]) // 2
    tss = min((start for start, _ in truth["promoter"]), key=lambda start: abs(start - middle))
    for name, start, end in truth["cluster"]:
        if name == factor and RIGHT_BP[0] <= abs((start + end) // 2 - tss) <= RIGHT_BP[1]:
            return (start, end), tss
    raise ValueError(f"the promoter at {tss} has no {factor} cluster 1 to 3 kb away")


def elsewhere(
    partner: Stretch, tss: int, truth: dict[str, list], window: Stretch, rng: np.random.Generator
) -> Stretch:
    """Return an equally long stretch with nothing planted: the mirror image of the partner, or random."""
    length = partner[1] - partner[0]
    planted = [(start, end) for _, start, end in truth["cluster"]] + truth["flank"]
    start = 2 * tss - partner[1]
    while not (
        window[0] <= start
        and start + length <= window[1]
        and all(start >= b + MARGIN_BP or start + length <= a - MARGIN_BP for a, b in planted)
    ):
        start = int(rng.integers(window[0], window[1] - length))
    return start, start + length


def shuffled(text: str, stretch: Stretch, first: int, rng: np.random.Generator) -> str:
    """Return a sequence that begins at position `first` with the bases of a stretch shuffled."""
    start, end = stretch[0] - first, stretch[1] - first
    bases = rng.permutation(list(text[start:end]))
    return text[:start] + "".join(bases) + text[end:]


def versions(data: LabelledSet, rows: np.ndarray, factor: str, truth: dict, seed: int) -> dict:
    """Return the sequences of rows as they are, with the partner and with another stretch shuffled."""
    texts: dict[str, dict[str, str]] = {"intact": {}, "partner": {}, "elsewhere": {}}
    rng = np.random.default_rng([seed, 31])
    for row in rows:
        interval, text = data.interval(int(row)), data.sequence(int(row))
        window = (interval.start, interval.end)
        partner, tss = partner_of(factor, truth, window)
        other = elsewhere(partner, tss, truth, window, rng)
        texts["intact"][str(row)] = text
        for name, stretch in (("partner", partner), ("elsewhere", other)):
            texts[name][str(row)] = shuffled(text, stretch, window[0], rng)
    return texts


def log_odds(bundle: object, texts: dict[str, str], label: str) -> np.ndarray:
    """Return the log odds of a label for sequences, from the mean probability of both strands."""
    result = predict(sequences=texts, model=bundle, labels=[label], strand="both")
    share = result.probabilities[:, 0].astype(np.float64)
    return np.log(share / (1 - share))


def rows_of(label: str, scores: dict[str, np.ndarray], is_positive: np.ndarray, seed: int) -> list:
    """Return the rows of the table for one label.

    Args:
        scores: Log odds of all held-out promoters by version; only those of positives differ.
        is_positive: Of the same promoters.
    """
    draws = draw_units(len(is_positive), replicates=REPLICATES, seed=seed)
    drawn = np.random.default_rng([seed, 32]).integers(
        0, is_positive.sum(), (REPLICATES, is_positive.sum())
    )
    counts = (int(is_positive.sum()), int((~is_positive).sum()))
    rows = []
    for version, values in scores.items():
        change = (values - scores["intact"])[is_positive]
        areas = label_areas(is_positive[:, None], values[:, None], draws)
        figures = [change.mean(), *percentile_interval(change[drawn].mean(axis=1))]
        figures += [areas.point[0, 0], *percentile_interval(areas.drawn[0, 0])]
        names = (label, *counts, version)
        rows.append(dict(zip(COLUMNS, [*names, *(f"{x:.4f}" for x in figures)], strict=True)))
    return rows


def table(run: Path, window: int, seed: int, bundle: object | None = None) -> list[dict]:
    """Return what the two shuffles change, for every distant label of a run."""
    folder = run / f"window_{window}"
    data = LabelledSet(folder / "set.h5", Genome(run / "demo" / "demo.fa"))
    truth = read_truth(run / "demo" / "truth.tsv")
    bundle = bundle or load_bundle(folder / "model")
    test = data.rows("test")
    labels = data.labels_of(test)
    rows = []
    for label, factor in PARTNERS.items():
        is_positive = labels[:, data.label_names.index(label)] > 0
        others = {str(row): data.sequence(int(row)) for row in test[~is_positive]}
        unchanged = log_odds(bundle, others, label)
        scores = {}
        for name, texts in versions(data, test[is_positive], factor, truth, seed).items():
            scores[name] = np.empty(len(test))
            scores[name][is_positive] = log_odds(bundle, texts, label)
            scores[name][~is_positive] = unchanged
        rows += rows_of(label, scores, is_positive, seed)
    return rows


def main() -> None:
    """Write and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--run",
        type=Path,
        required=True,
        help="folder of experiments/2026-11-long-range/context.py",
    )
    parser.add_argument("--window", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = table(arguments.run, arguments.window, arguments.seed)
    path = arguments.run / "shuffled.tsv"
    with atomic_path(path) as out, out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(*row.values(), sep="\t")


if __name__ == "__main__":
    main()
