"""Promoters without a TATA box: last layers on the encoder as it is, k-mers and composition, cross-validated.

    PYTHONPATH=. python experiments/2026-11-no-tata/frozen.py --folder results/no-tata
    PYTHONPATH=. python experiments/2026-11-no-tata/frozen.py --folder results/no-tata --test

Ridge logistic regressions of EPDnew sites, with or without all TATA promoters, against all `background` windows of the
training rows, on the folds of no_tata.py; `--tata` is the total weight of the TATA promoters (that of the sites is 1, and
negatives have as much together as the promoters). Differences are to a regression on GC content and the number of CG.
Five minutes of one core.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from no_tata import CHECKOUT, Scores, SiteDraws, area
from no_tata_rows import FOLDS, OWN, POSITIVE, TEST_FOLD, FoldRows, build_sets
from sklearn.linear_model import LogisticRegression

from dna_bigbird.baselines.kmer import gc_content, kmer_frequencies
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.metrics.bootstrap import percentile_interval
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.embedder import Embedder

PENALTIES = (0.1, 0.01, 0.001)
Features = Callable[[list[str]], np.ndarray]


class Means:
    """Mean vectors of the encoder over both strands, of each sequence once."""

    def __init__(self) -> None:
        bundle = load_bundle("bundled-encoder")
        self._embedder = Embedder(bundle, compute=Compute(precision="32-true"), pooling="mean")
        self._known: dict[str, np.ndarray] = {}

    def __call__(self, sequences: list[str]) -> np.ndarray:
        new = [x for x in dict.fromkeys(sequences) if x not in self._known]
        if new:
            self._known |= dict(zip(new, self._embedder.pooled(new), strict=True))
        return np.array([self._known[x] for x in sequences])


def composition(sequences: list[str]) -> np.ndarray:
    """Return GC content and the number of CG."""
    return np.array([[gc_content(x), x.count("CG")] for x in sequences])


def features() -> dict[str, Features]:
    """Return what is tried, by name."""
    means = Means()

    def kmers(k: int) -> Features:
        return lambda texts: np.array([kmer_frequencies(x, k, together=True) for x in texts])

    three = kmers(3)
    return {
        "GC content and number of CG": composition,
        **{f"k-mers of up to {k} bp": kmers(k) for k in (2, 3, 4, 5)},
        "encoder": means,
        "encoder and composition": lambda x: np.hstack([means(x), composition(x)]),
        "encoder and k-mers of up to 3 bp": lambda x: np.hstack([means(x), three(x)]),
    }


def scores(rows: FoldRows, read: Features, tata: float, penalty: float) -> Scores:
    """Return the held-out logits of a regression."""
    sites, own = (rows.sequences(rows.sites[:, x]) for x in (POSITIVE, OWN))
    boxed = rows.sequences(rows.all_tata[:, POSITIVE]) if tata else []
    negatives = own + rows.sequences(rows.all_tata[:, OWN])
    counts = len(sites), len(boxed), len(negatives)
    weights = np.repeat([1.0, tata, 1.0 + tata] / np.maximum(counts, 1), counts)
    weights *= len(weights) / weights.sum()
    labels = np.repeat([1, 1, 0], counts)
    x = read(sites + boxed + negatives)
    mean, std = x.mean(axis=0), x.std(axis=0)
    std = np.where(std > 1e-9, std, np.inf)
    model = LogisticRegression(C=1 / (penalty * len(labels)), max_iter=1000)
    model.fit((x - mean) / std, labels, sample_weight=weights)
    return {
        part: model.decision_function((read(rows.sequences(held)) - mean) / std)
        for part, held in rows.held_out.items()
    }


def row_of(name: str, found: list[Scores], base: list[Scores], draws: list[SiteDraws]) -> str:
    """Return a line of the table."""
    cells = [name]
    for part in draws:
        value, other = (area(x, "site", part.part) for x in (found, base))
        low, high = percentile_interval(part.areas(found) - part.areas(base))
        cells += [f"{value:.3f}", f"{value - other:+.3f} [{low:+.3f}, {high:+.3f}]"]
    cells.append(f"{area(found, 'tata', 'background'):.3f}")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=CHECKOUT.parent / "shared" / "data")
    parser.add_argument("--folder", type=Path, default=CHECKOUT / "results" / "no-tata")
    parser.add_argument("--tata", type=float, nargs="+", default=[0, 1, 20])
    parser.add_argument("--test", action="store_true", help="also read the test fold")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.folder.mkdir(parents=True, exist_ok=True)
    sets = build_sets(asked.data, asked.folder)
    folds = [FoldRows(sets, x, 300) for x in range(FOLDS) if asked.test or x != TEST_FOLD]
    draws = [SiteDraws(folds, part) for part in ("own", "background")]
    base = [scores(x, composition, 0, 0.01) for x in folds]
    print(row_of("GC content", [x.gc() for x in folds], base, draws))
    print(row_of("number of CG", [x.cpg() for x in folds], base, draws))
    for name, read in features().items():
        for tata in asked.tata:
            for penalty in PENALTIES:
                found = [scores(x, read, tata, penalty) for x in folds]
                print(row_of(f"{name}, TATA {tata:g}, penalty {penalty:g}", found, base, draws))


if __name__ == "__main__":
    main()
