"""Scores of the bundled promoter model and of its baselines on parts of the test rows.

The set has one negative of each type per promoter, so a type of negatives is a part of its rows: each
promoter with its negative of this type. All sources are scored on the same rows.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dna_bigbird.baselines.kmer import KmerBaseline, KmerConfig
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.sites.reading import read_sites
from dna_bigbird.labelled.labelled_set import LabelledSet, block_units
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.labelled.shared_rows import find_leaks, rows_of_set
from dna_bigbird.labelled.splits import SPLITS
from dna_bigbird.metrics.bootstrap import draw_units
from dna_bigbird.metrics.sources import Source, score_source
from dna_bigbird.prediction.predictor import Predictor
from tools.bundled_card import PARTS

KEPT = ("auroc", "auroc_low", "auroc_high", "f1", "f1_low", "f1_high", "mcc", "threshold")
Scorer = Callable[[np.ndarray], np.ndarray]
"""Numbers of rows to probabilities, (rows, 1)."""
SCAN = "chr22", 19_500_000, 20_000_000
SCAN_STRIDE_BP, NEAR_BP = 100, 500


class PromoterRows:
    """The rows of a promoter set with several types of negatives.

    Raises:
        SystemExit: If a split has a row that knows something of a row of another one.
    """

    def __init__(self, labelled: LabelledSet) -> None:
        self.labelled = labelled
        self.negatives = labelled.negatives.split(",")
        starts = np.flatnonzero(labelled.labels[:, 0])
        self._groups = starts[:, None] + np.arange(1 + len(self.negatives))
        self._on_pieces = np.array(
            [labelled.interval(int(i)).chrom.startswith("chr") for i in starts]
        )
        if leaks := find_leaks(rows_of_set(labelled)).leaks:
            sys.exit(f"{len(leaks)} rows know something of another split: {leaks[0]}")

    def of(self, part: str, split: str) -> np.ndarray:
        """Return the numbers of the rows of one of `PARTS`, in a split."""
        negatives, on_pieces = PARTS[part]
        columns = [0, 1 + self.negatives.index(negatives)]
        kept = self.labelled.split[self._groups[:, 0]] == SPLITS.index(split)
        return self._groups[kept & (self._on_pieces == on_pieces)][:, columns].flatten()

    def sequences(self, rows: np.ndarray) -> list[str]:
        """Return the bases of some rows as their strand reads them."""
        return [self.labelled.sequence(int(i)) for i in rows]

    def judged(self, scorer: Scorer, part: str, seed: int) -> Source:
        """Score the test rows of a part; the threshold is chosen on its validation rows."""
        rows = [self.of(part, split) for split in ("validation", "test")]
        units, _ = block_units(self.labelled, rows[1])
        draws = draw_units(len(rows[1]), replicates=1000, seed=seed, units=units)
        splits = [(self.labelled.labels_of(x), scorer(x)) for x in rows]
        return score_source(*splits, self.labelled.label_groups, draws)

    def kmer(self, part: str = "", *, method: str = "kmer") -> Scorer:
        """Return word counts fitted on all training rows, or on those of one part."""
        splits = [self.labelled.rows(split) for split in ("train", "validation")]
        if part:
            splits = [self.of(part, split) for split in ("train", "validation")]
        config = KmerConfig().for_set(window_bp=self.labelled.window_bp, bin_bp=0, oriented=True)
        model = KmerBaseline(config, method=method)
        with threadpool_limits(1):  # sums depend on the number of threads in their last digits
            fitted = [
                (model.features(self.sequences(x)), self.labelled.labels_of(x)) for x in splits
            ]
            model.fit(*(x for pair in fitted for x in pair))
        return lambda rows: model.predict(model.features(self.sequences(rows)))

    def read(self, path: Path) -> Scorer:
        """Return the scores of a file of `dna-bigbird baseline` on this set."""
        table = read_scores(path).to_dataframe().set_index("row")
        return lambda rows: table.loc[rows].to_numpy()


def named(source: Source, part: str) -> dict[str, float]:
    """Return what is kept of the metrics of one part."""
    return {f"{key}_{part}": source.metrics[key] for key in KEPT}


def scan(predictor: Predictor, genome: Genome, seen: LabelledSet, sites: Path, threshold: float):
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
    tss = np.array([x.interval.start for x in read_sites(sites) if x.interval.chrom == chrom])
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


def mean_of(scorers: Sequence[Scorer]) -> Scorer:
    """Return the mean of the probabilities of several trainings."""
    return lambda rows: np.mean([scorer(rows) for scorer in scorers], axis=0)
