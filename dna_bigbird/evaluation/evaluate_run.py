"""Steps of `evaluate`: the held-out rows of a labelled set, and the scores of model and baselines."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.tables import Table
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.labelled.labelled_set import LabelledSet, block_units
from dna_bigbird.labelled.scores import STRANDS, LabelScores, read_scores
from dna_bigbird.metrics.bootstrap import draw_units
from dna_bigbird.metrics.calibration import Calibration, calibrate, fit_scaling
from dna_bigbird.metrics.curves import CHANCE, CurvePoint, curve_rows, write_curves
from dna_bigbird.metrics.sources import (
    Source,
    per_label,
    per_target,
    repeated,
    score_classes,
    score_source,
    score_targets,
    score_tracks,
    trivial_scores,
)
from dna_bigbird.models.classifier import counting_part
from dna_bigbird.models.label_types import (
    MULTI_CLASS,
    NUMBERS,
    RECORDED,
    REGRESSION,
    TRACKS,
    TRIVIAL,
)
from dna_bigbird.models.scaling import Scaling
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.windows.bins import BinRows

MODEL = "model"
COUNTS = "counts"
"""The k-mer counts of a model that has them, without its network."""
ROWS_AT_ONCE, LEAST_ROWS = 1024, 64
"""Windows that are read from the set at once."""
PROFILE_BINS = 256
"""Bins of a track in profiles.tsv, about."""
UPDATES = 50
"""Steps of the progress bar, about: with few rows it would otherwise move once."""


class ScoresOnTest:
    """Labels of the held-out rows, the draws of the bootstrap, and the results by source."""

    def __init__(
        self,
        labelled: LabelledSet,
        *,
        seed: int,
        replicates: int,
        block_bp: int,
        scaling: Scaling | None = None,
    ) -> None:
        self.validation, self.test = labelled.rows("validation"), labelled.rows("test")
        if not len(self.test):
            raise InputError(
                f"{labelled.path}: no row in the test split; build the set with other regions for its splits"
            )
        self.seed, self.scaling = seed, scaling
        self.names, self.groups = labelled.label_names, labelled.label_groups
        self.label_type = labelled.label_type
        self.labels = labelled.labels_of(self.validation), labelled.labels_of(self.test)
        self.labelled = labelled
        self.profiles: list[dict[str, str | float]] = []
        units, self.block_bp = block_units(labelled, self.test, block_bp)
        self.draws = draw_units(len(self.test), replicates=replicates, seed=seed, units=units)
        self.sources: dict[str, Source] = {}
        self.descriptions: dict[str, dict[str, str]] = {}
        self.curves: list[CurvePoint] = []
        self.calibration: Calibration | None = None

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the held-out rows, rising."""
        return np.sort(np.concatenate([self.validation, self.test]))

    def score(self, scores: LabelScores, name: str = MODEL) -> None:
        """Measure one source of scores; the model first, also before its correction."""
        validation = self.labels[0], scores.of(self.validation)
        test = self.labels[1], scores.of(self.test)
        # The correction of the whole model is not that of its counts: they have one of their own.
        own = fit_scaling(*validation, self.label_type) if name == COUNTS and self.scaling else None
        if own:
            validation, test = (
                (x, own.probabilities(np.float64(y))) for x, y in (validation, test)
            )

        def progress(numbers):
            return progress_bar(numbers, desc=f"score {name}", unit=" labels")

        strand = {"strand": scores.strand} if scores.strand else {}
        self.descriptions[name] = {"description": scores.description} | strand
        if self.label_type in NUMBERS:
            score = score_targets if self.label_type == REGRESSION else score_tracks
            self.sources[name] = score(*test, self.draws)
            if name == MODEL and self.label_type == TRACKS:
                self.profiles = profile_rows(self.labelled, self.test, *test)
            return
        if self.label_type == MULTI_CLASS:
            self.sources[name] = score_classes(*test, self.draws, progress)
        else:
            self.sources[name] = score_source(validation, test, self.groups, self.draws, progress)
        calibration = calibrate(*test, self.groups, self.scaling if name == MODEL else None)
        self.sources[name].metrics.update(calibration.metrics())
        if name == MODEL:
            self.calibration = calibration
        points = curve_rows(test[0], {name: test[1]}, self.names)
        self.curves += [p for p in points if name == MODEL or p.source != CHANCE]

    def score_trivial(self, labelled: LabelledSet, checksum: str) -> None:
        """Measure what the training rows' labels alone give; for classes and targets."""
        name = TRIVIAL.get(self.label_type)
        if name is None or name in self.sources:
            return
        if self.label_type == TRACKS:
            self._score_other_tracks(labelled, checksum)
            what, values = "mean profile", repeated(mean_profile(labelled), len(self.rows))
        else:
            train = labelled.labels_of(labelled.rows("train"))
            what = "shares of the classes" if self.label_type == MULTI_CLASS else "mean"
            values = trivial_scores(train, len(self.rows))
        self._score_known(
            name, f"The {what} of the training rows, for every row.", values, checksum
        )

    def _score_other_tracks(self, labelled: LabelledSet, checksum: str) -> None:
        """Measure the mean of the other tracks, each divided by its mean: what one measurement tells of another."""
        if len(self.names) == 1:
            return
        means_L = labelled.track_training.mean
        shares_NPL = labelled.labels_of(self.rows) / means_L
        known_NPL = ~np.isnan(shares_NPL)
        shares_NPL[~known_NPL] = 0
        others_NPL = shares_NPL.sum(axis=-1, keepdims=True) - shares_NPL
        count_NPL = known_NPL.sum(axis=-1, keepdims=True) - known_NPL
        values = others_NPL / np.maximum(count_NPL, 1) * means_L
        description = (
            "The mean of the other tracks as they were measured, each divided by its mean."
        )
        self._score_known("other_tracks", description, values, checksum)

    def _score_known(self, name: str, description: str, values: np.ndarray, checksum: str) -> None:
        scores = LabelScores(name, description, self.names, self.rows, values, checksum)
        self.score(scores, name)

    def metrics(self) -> dict:
        """Return the test metrics of the model, those of each baseline, and the gain over it."""
        bootstrap = {
            "block_bp": self.block_bp,
            "n_blocks": len(self.draws.times),
            "seed": self.seed,
            "split": "test",
        }
        own = self.sources[MODEL]
        metrics = own.metrics | bootstrap
        for name, source in self._baselines().items():
            for key, value in own.gains_over(source).items():
                metrics[key.replace("gain", f"gain_over_{name}")] = value
        baselines = {
            name: source.metrics | bootstrap | self.descriptions[name]
            for name, source in self._baselines().items()
        }
        return metrics | {"baselines": baselines}

    def label_aurocs(self, most: int) -> list[tuple[str, dict[str, float]]]:
        """Return every label with the AUROC of each source; nothing if there are one or too many."""
        if not 1 < len(self.names) <= most or self.label_type in NUMBERS:
            return []
        return [
            (label, {name: float(x.areas.point[0, number]) for name, x in self.sources.items()})
            for number, label in enumerate(self.names)
        ]

    def write(self, folder: Path) -> None:
        """Write per_label.tsv, calibration.tsv and curves.tsv; for targets only the first, of tracks also profiles.tsv."""
        own, others = self.sources[MODEL], self._baselines()
        if self.label_type in NUMBERS:
            rows = per_target(self.names, len(self.test), own, others)
            tables = {"profiles.tsv": Table(self.profiles).to_tsv()} if self.profiles else {}
        else:
            rows = per_label(self.names, self.groups, own, others, self.calibration)
            tables = {"calibration.tsv": Table(self.calibration.table()).to_tsv()}
            tables["curves.tsv"] = write_curves(self.curves)
        for name, text in {"per_label.tsv": Table(rows).to_tsv(), **tables}.items():
            with atomic_path(folder / name) as path:
                path.write_text(text)

    def _baselines(self) -> dict[str, Source]:
        return {name: source for name, source in self.sources.items() if name != MODEL}


def profile_rows(
    labelled: LabelledSet, rows: np.ndarray, truth_NPL: np.ndarray, predicted_NPL: np.ndarray
) -> list[dict[str, str | float]]:
    """Return measured and predicted bins of each track along neighbouring windows, around that with its highest sum."""
    windows, middle_bp = labelled.intervals[rows], labelled.num_bins * labelled.bin_bp
    is_new = (np.diff(windows.chrom) != 0) | (np.diff(windows.start) != middle_bp)
    stretch_N = np.concatenate([[0], np.cumsum(is_new)])
    most = max(1, PROFILE_BINS // labelled.num_bins)
    bins: list[dict[str, str | float]] = []
    for track, label in enumerate(labelled.label_names):
        highest = int(np.nansum(truth_NPL[..., track], axis=1).argmax())
        same = np.flatnonzero(stretch_N == stretch_N[highest])
        first = int(np.clip(highest - most // 2, same[0], max(same[0], same[-1] + 1 - most)))
        for row in range(first, min(first + most, int(same[-1]) + 1)):
            window = windows[row]
            start = window.start + labelled.crop_bp
            starts = range(start, start + middle_bp, labelled.bin_bp)
            values = zip(truth_NPL[row, :, track], predicted_NPL[row, :, track], strict=True)
            bins += [
                {"label": label, "chrom": window.chrom, "start": at, "end": at + labelled.bin_bp}
                | {"measured": "" if np.isnan(x) else float(x), "predicted": float(y)}
                for at, (x, y) in zip(starts, values, strict=True)
            ]
    return bins


def mean_profile(labelled: LabelledSet) -> np.ndarray:
    """Return the mean of each bin of a window over the training rows, (P, L); a bin without any is 0."""
    total_PL, count_PL = np.zeros((2, labelled.num_bins, len(labelled.label_names)))
    train = labelled.rows("train")
    for first in range(0, len(train), ROWS_AT_ONCE):
        values_NPL = labelled.labels_of(train[first : first + ROWS_AT_ONCE])
        total_PL += np.nansum(values_NPL, axis=0, dtype=np.float64)
        count_PL += (~np.isnan(values_NPL)).sum(axis=0)
    return total_PL / np.maximum(count_PL, 1)


def check_labels(bundle: Bundle, labelled: LabelledSet) -> None:
    """Raise InputError if a model reads text, or has other labels or windows than the set."""
    bundle.check_reads_dna()
    if bundle.config.task == PRETRAINING:
        raise InputError(
            f"{bundle.folder}: a pretrained model without a label head; fine-tune it first"
        )
    # Sequences of a user are of any length; windows of a genome are not.
    keys = ("label_names", "label_type", "window_bp", "bin_bp")
    for key in keys[: 4 if labelled.num_bins else 3 if labelled.needs_genome else 2]:
        of_model, of_set = getattr(bundle.config, key), getattr(labelled, key)
        if of_model != of_set:
            raise InputError(
                f"{labelled.path}: its {key} is {shortened(of_set)}, that of {bundle.folder} "
                f"{shortened(of_model)}; is it the set the model was fine-tuned on?"
            )


def check_baselines(
    baselines: Mapping[str, Path], held_out: ScoresOnTest, data: Path, checksum: str, strand: str
) -> None:
    """Read the score files of the baselines once, before hours of prediction."""
    for name, part in {MODEL: "the model itself", COUNTS: "the model's own counts"}.items():
        if name in baselines:
            raise InputError(f"--baselines: {name!r} is the name of {part}; take another")
    for path in baselines.values():
        scores = read_scores(path)
        scores.check_belongs(path, data, checksum)
        scores.of(held_out.rows)
        if scores.strand in STRANDS and scores.strand != strand:
            note(
                f"{path}: {STRANDS[scores.strand]}, the model: {STRANDS[strand]}. To compare the "
                f"same, score the baseline again: dna-bigbird baseline --strand {strand}"
            )


def with_counts(bundle: Bundle) -> dict[str, Bundle]:
    """Return a model by its name, and its k-mer counts alone if it has them."""
    counts = counting_part(bundle.model)
    return {MODEL: bundle} | ({} if counts is None else {COUNTS: replace(bundle, model=counts)})


@checked()
def model_scores(
    bundle: Bundle,
    labelled: LabelledSet,
    rows: np.ndarray,
    *,
    batch_size: int,
    checksum: str,
    strand: Literal["both", "forward"],
    name: str = MODEL,
) -> LabelScores:
    """Return the probabilities of a model for some rows; `checksum` is the sha256 of the set."""
    # The same precision on every processor, so that reported scores do not depend on it.
    compute = Compute(batch_size=batch_size, precision="32-true")
    bins = BinRows.for_bundles([bundle], labelled.window_bp) if labelled.num_bins else None
    predictor = Predictor(bundle, compute=compute, strand=strand, bins=bins)
    of_row = ((labelled.num_bins,) if bins else ()) + (len(labelled.label_names),)
    values = np.empty((len(rows), *of_row), dtype=np.float32)
    rows_at_once = min(max(len(rows) // UPDATES, LEAST_ROWS), ROWS_AT_ONCE)
    with progress_bar(total=len(rows), desc="evaluate", unit=" windows") as progress:
        for first in range(0, len(rows), rows_at_once):
            chunk = rows[first : first + rows_at_once]
            probabilities = predictor.probabilities([labelled.sequence(int(i)) for i in chunk])
            probabilities = probabilities.reshape(len(chunk), *of_row)
            _check_has_bases(probabilities, labelled, chunk)
            values[first : first + len(chunk)] = probabilities
            progress.update(len(chunk))
    for line in predictor.notes():
        note(line)
    what = "targets" if labelled.label_type in NUMBERS else "probabilities"
    whose = (
        "the model" if name == MODEL else "the counts of the model alone, its network at weight 0"
    )
    return LabelScores(
        name=name,
        description=f"{what} of {whose}, {strand_text(bundle, strand)}",
        label_names=labelled.label_names,
        rows=rows,
        values=values,
        set_sha256=checksum,
        strand=strand,
    )


def strand_text(bundle: Bundle, strand: str) -> str:
    """Return which strands are read, in words."""
    if not bundle.config.directional or strand == "forward":
        return STRANDS[strand]
    no_higher = bundle.config.label_type in RECORDED
    return STRANDS["forward"] if no_higher else "the higher of both strands"


def _check_has_bases(probabilities: np.ndarray, labelled: LabelledSet, rows: np.ndarray) -> None:
    empty = np.flatnonzero(np.isnan(probabilities.reshape(len(rows), -1)).any(axis=1))
    if len(empty):
        raise InputError(
            f"{labelled.path}: row {rows[empty[0]]} has no A, C, G or T, so it has no score; build "
            "the set with a smaller max_n_fraction"
        )
