"""Scores of the bundled promoter model and of its baselines on parts of the test rows.

The set has one negative of each type per promoter, so a type of negatives is a part of its rows: each
promoter with its negative of this type. All sources are scored on the same rows.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
from scipy.stats import chi2
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
from tools.bundled_card import BACKGROUND_PARTS, PARTS

KEPT = ("auroc", "auroc_low", "auroc_high", "f1", "f1_low", "f1_high", "mcc", "threshold")
Scorer = Callable[[np.ndarray], np.ndarray]
"""Numbers of rows to probabilities, (rows, 1)."""
SCANS = ("chr22", 19_500_000, 20_000_000), ("chr22", 20_000_000, 20_500_000)
"""To choose the threshold, and to report what it gives."""
SCAN_STRIDE_BP, NEAR_BP, CALLS_PER_KB = 100, 500, 0.1


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
        negatives, on_pieces = (PARTS | BACKGROUND_PARTS)[part]
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

    def kmer(self, part: str = "", *, method: str = "kmer", oriented: bool = True) -> Scorer:
        """Return word counts fitted on all training rows, or on those of one part."""
        splits = [self.labelled.rows(split) for split in ("train", "validation")]
        if part:
            splits = [self.of(part, split) for split in ("train", "validation")]
        config = KmerConfig().for_set(
            window_bp=self.labelled.window_bp, bin_bp=0, oriented=oriented
        )
        model = KmerBaseline(config, method=method)
        with threadpool_limits(1):  # sums depend on the number of threads in their last digits
            fitted = [
                (model.features(self.sequences(x)), self.labelled.labels_of(x)) for x in splits
            ]
            model.fit(*(x for pair in fitted for x in pair))
        return lambda rows: model.predict(model.features(self.sequences(rows)))

    def known(self, read: Callable[[list[str]], np.ndarray]) -> Scorer:
        """Return probabilities that are computed here, once for each validation and test row."""
        rows = np.flatnonzero(self.labelled.split != SPLITS.index("train"))
        values = np.full((len(self.labelled.split), 1), np.nan)
        values[rows] = read(self.sequences(rows))
        return lambda numbers: values[numbers]

    def read(self, path: Path) -> Scorer:
        """Return the scores of a file of `dna-bigbird baseline` on this set."""
        table = read_scores(path).to_dataframe().set_index("row")
        return lambda rows: table.loc[rows].to_numpy()


def named(source: Source, part: str) -> dict[str, float]:
    """Return what is kept of the metrics of one part."""
    return {f"{key}_{part}": source.metrics[key] for key in KEPT}


def scan(
    predictor: Predictor, genome: Genome, seen: LabelledSet, sites: Path, positives: np.ndarray
) -> dict:
    """Score two stretches that no training row overlaps, as a user who scans a genome would.

    The threshold is the lowest one with at most `CALLS_PER_KB` false calls per kb in the first stretch; what it gives
    is measured in the second. Windows that overlap a training or validation row are left out. A false call is a run
    of windows at the threshold that do not reach within 500 bp of a start site.

    Args:
        positives: Probabilities of the promoters of the test rows.
    """
    choose, report = (_Stretch.scored(predictor, genome, seen, sites, x) for x in SCANS)
    threshold = choose.threshold()
    calls = report.false_calls(threshold)
    # Exact for a Poisson number (Garwood 1936).
    low, high = (
        chi2.ppf((0.025, 0.975), (2 * calls, 2 * calls + 2)) / 2 if calls else (0.0, -log(0.025))
    )
    return {
        "scan_threshold": threshold,
        "n_scan": int(report.far.sum()),
        "scan_calls_per_kb": calls / report.kb,
        "scan_calls_per_kb_low": low / report.kb,
        "scan_calls_per_kb_high": high / report.kb,
        "scan_promoters_called": float((positives >= threshold).mean()),
        "n_scan_promoters": len(positives),
    }


@dataclass(frozen=True)
class _Stretch:
    """Windows of a stretch of the genome in order, with their probabilities."""

    starts: np.ndarray
    values: np.ndarray
    far: np.ndarray
    """Whether no start site is near."""

    @classmethod
    def scored(
        cls,
        predictor: Predictor,
        genome: Genome,
        seen: LabelledSet,
        sites: Path,
        where: tuple[str, int, int],
    ) -> "_Stretch":
        chrom, first, last = where
        rows = [seen.interval(int(i)) for i in np.flatnonzero(seen.split != 2)]
        used = np.array([(x.start, x.end) for x in rows if x.chrom == chrom])
        starts = np.arange(first, last - seen.window_bp + 1, SCAN_STRIDE_BP)
        ends = starts + seen.window_bp
        clear = ~((starts[:, None] < used[:, 1]) & (ends[:, None] > used[:, 0])).any(axis=1)
        starts, ends = starts[clear], ends[clear]
        windows = [Interval(chrom, *x) for x in zip(starts.tolist(), ends.tolist(), strict=True)]
        values = predictor.probabilities([genome.fetch(x) for x in windows])[:, 0]
        tss = np.array([x.interval.start for x in read_sites(sites) if x.interval.chrom == chrom])
        near = ((starts[:, None] - NEAR_BP <= tss) & (ends[:, None] + NEAR_BP > tss)).any(axis=1)
        return cls(starts, values, ~near)

    @property
    def kb(self) -> float:
        """Length of what is far from start sites."""
        return int(self.far.sum()) * SCAN_STRIDE_BP / 1000

    def false_calls(self, threshold: float) -> int:
        """Return the number of runs of windows at the threshold that are far from start sites."""
        called = self.starts[self.far & (self.values >= threshold)]
        return int((np.diff(called, prepend=-np.inf) > SCAN_STRIDE_BP).sum())

    def threshold(self) -> float:
        """Return the lowest threshold above which there are nowhere more false calls than allowed."""
        best = 1.0
        for value in np.unique(self.values[self.far])[::-1]:
            if self.false_calls(value) > CALLS_PER_KB * self.kb:
                break
            best = float(value)
        return best


def mean_of(scorers: Sequence[Scorer]) -> Scorer:
    """Return the mean of the probabilities of several trainings."""
    return lambda rows: np.mean([scorer(rows) for scorer in scorers], axis=0)
