"""The baselines without a network: regressions on what windows contain, the motif rule, and gkm-SVM."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dna_bigbird.baselines.baseline_scores import BaselineScores, held_out_rows, save_scores
from dna_bigbird.baselines.composition import CENTRE_BINS, CompositionBaseline
from dna_bigbird.baselines.config import GkmConfig, KmerConfig, Method, default_baselines
from dna_bigbird.baselines.gkm import CountedRows, GkmBaseline
from dna_bigbird.baselines.kmer import SMALLEST_SHARE, KmerBaseline
from dna_bigbird.baselines.motif_rule import MotifRule
from dna_bigbird.baselines.recipe_search import search
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledSet, open_labelled_set
from dna_bigbird.metrics.label_objectives import OneClass, Targets, macro_auroc
from dna_bigbird.models.label_types import (
    BINARY,
    MONITORS,
    MULTI_CLASS,
    MULTI_LABEL,
    REGRESSION,
    TRACKS,
)

STRAND_MAX_K = 4
TRIED_LENGTHS = (5, 4, 6, 3, 7, 2, 1)
ROWS_AT_ONCE = 16_384
"""Rows (or bins of tracks) whose k-mer counts (up to 11 KB each) are in memory at once while they are scored."""
AROUND_BP = 500
"""Bases on either side of a bin of a track that are read with it, if windows have them."""


def fit_kmer_baseline(
    genome: Path | None,
    data: Path,
    output: Path,
    config: KmerConfig,
    *,
    method: str,
    seed: int,
    num_recipes: int = 0,
    folder: Path | None = None,
) -> BaselineScores:
    """Fit on the training rows and write the scores of the held-out rows.

    Args:
        num_recipes: k-mer lengths and strands to try on the validation rows; 0 keeps what is given.
        folder: For search.tsv and finished trials.
    """
    labelled = open_labelled_set(data, genome)
    held_out = held_out_rows(labelled)
    with threadpool_limits(1):  # sums depend on the number of threads in their last digits
        config, tried = chosen_recipe(labelled, config, num_recipes, folder, seed=seed)
        model: KmerBaseline | MotifRule
        if method == "motif":
            model, fit = MotifRule.for_set(labelled), "no training"
        else:
            model, shape = fitted_kmers(labelled, config, method=method, seed=seed)
            fit = f"{shape[0]} training rows, {shape[1]} features, {model.chosen}"
        bins = max(1, labelled.num_bins)
        parts = np.array_split(held_out, -(-len(held_out) * bins // ROWS_AT_ONCE) or 1)
        values = np.concatenate(
            [model.predict(kmer_counts(model, labelled, part, "held out")) for part in parts]
        )
        if labelled.num_bins:
            values = values.reshape(len(held_out), bins, -1)
    return save_scores(
        output,
        labelled,
        method,
        model.describe().removesuffix(".") + f"{tried}.",
        held_out,
        values,
        fit=fit,
    )


def is_aligned(labelled: LabelledSet) -> bool:
    """Return True if a position may mean the same in all windows: one length, and no labelled bins."""
    return labelled.has_one_length and not labelled.bin_bp


def baselines_of(labelled: LabelledSet) -> list[Method]:
    """Return the baselines that a model of a set is compared with, if none are named."""
    return default_baselines(is_aligned=is_aligned(labelled), upstream_bp=labelled.upstream_bp)


def training_rows(labelled: LabelledSet, max_rows: int, seed: int) -> np.ndarray:
    """Return the training rows of a set, drawn by the seed if there are more than `max_rows`.

    Of tracks as many windows as have about `max_rows` bins.

    Raises:
        InputError: If there are none.
    """
    train = labelled.rows("train")
    if not len(train):
        raise InputError(f"{labelled.path}: no training row")
    return _drawn(labelled, train, max_rows, seed)


def _drawn(labelled: LabelledSet, rows: np.ndarray, most: int, seed: int) -> np.ndarray:
    most = max(1, most // max(1, labelled.num_bins))
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng([seed]).choice(rows, most, replace=False))


def kmer_recipes(config: KmerConfig, count: int) -> list[KmerConfig]:
    """Return the settings of a search: the given ones, then other lengths and strands in a fixed order.

    Example:
        >>> [(x.max_k, x.strands) for x in kmer_recipes(KmerConfig(), 4)]
        [(5, 'auto'), (5, 'apart'), (5, 'together'), (4, 'apart')]
    """
    others = [
        replace(config, max_k=max_k, strands=strands)
        for max_k in TRIED_LENGTHS
        for strands in ("apart", "together")
    ]
    return [config, *(x for x in others if x != config)][:count]


def _validation_score(labelled: LabelledSet, rows: np.ndarray, values: np.ndarray) -> float:
    """Return the score that chooses the step of a training on the set, of probabilities or targets."""
    labels, unit = labelled.labels_of(rows), np.ones(values.shape[1])
    if labelled.label_type == MULTI_CLASS:
        return OneClass().scores(labels, np.log(values))[OneClass.monitor]
    if labelled.label_type == REGRESSION:
        return Targets(0 * unit, unit).scores(labels, values)[Targets.monitor]
    return macro_auroc(labels, values)


def chosen_recipe(
    labelled: LabelledSet, config: KmerConfig, count: int, folder: Path | None, *, seed: int
) -> tuple[KmerConfig, str]:
    """Return the settings with the highest AUROC on validation rows, and the search in words."""
    if not count or folder is None:
        return config, ""
    recipes = kmer_recipes(config, count)
    rows, checksum = labelled.rows("validation"), sha256_of(labelled.path)
    if not len(rows):
        raise InputError(f"{labelled.path}: no validation row; --search needs some")

    def run(number: int) -> tuple[float, int]:
        model, _ = fitted_kmers(labelled, recipes[number], seed=seed)
        scores = model.predict(kmer_counts(model, labelled, rows, "validation"))
        return _validation_score(labelled, rows, scores), 0

    def identify(number: int) -> dict:
        return {"settings": asdict(recipes[number]), "data": checksum, "seed": seed}

    values = [{"max_k": x.max_k, "strands": x.strands} for x in recipes]
    monitor = MONITORS[labelled.label_type]
    best = search(values, run, identify, folder, monitor=monitor).best.number
    return recipes[best], f", best of {len(recipes)} recipes on validation rows"


def fitted_kmers(
    labelled: LabelledSet, config: KmerConfig, *, method: str = "kmer", seed: int = 0
) -> tuple[KmerBaseline, tuple[int, int]]:
    """Fit a regression on the training rows of a set: logistic for labels and classes, else linear.

    Returns:
        The model, and the numbers of its training rows and features.

    Raises:
        InputError: If the set has no training row, or is not aligned and the method is positional.
    """
    if method == "positional" and not is_aligned(labelled):
        raise InputError(
            f"{labelled.path}: --method positional is for windows of one length that are aligned on "
            "something, so for no set with labelled bins or several lengths; use --method kmer"
        )
    is_composition = method == "composition"
    if labelled.num_bins and config.centre_bp < 0:
        config = replace(config, centre_bp=labelled.bin_bp)
    if is_composition and config.centre_bp < 0:
        config = replace(config, centre_bp=CENTRE_BINS * labelled.bin_bp)
    config = config.for_set(
        window_bp=labelled.window_bp,
        bin_bp=labelled.bin_bp,
        oriented=labelled.task in ("promoter", "sequence"),
    )
    train, validation = training_rows(labelled, config.max_rows, seed), labelled.rows("validation")
    if labelled.num_bins:
        validation = _drawn(labelled, validation, config.max_rows, seed)
    regression = CompositionBaseline if is_composition else KmerBaseline
    label_type = REGRESSION if labelled.label_type == TRACKS else labelled.label_type
    model = regression(config, method=method, label_type=label_type)
    features = kmer_counts(model, labelled, train, "train")
    model.fit(
        features,
        _known_labels(labelled, train),
        kmer_counts(model, labelled, validation, "validation"),
        _known_labels(labelled, validation),
    )
    return model, features.shape


def _known_labels(labelled: LabelledSet, rows: np.ndarray) -> np.ndarray:
    """Return the labels of some rows, of tracks those of their bins: one not measured has the mean of its track."""
    labels = labelled.labels_of(rows)
    if not labelled.num_bins:
        return labels
    bins_NL = labels.reshape(-1, labels.shape[-1])
    return np.where(np.isnan(bins_NL), labelled.track_training.mean, bins_NL)


STRAND_ROWS = 4_000
"""Training rows, and validation rows, of the regressions that choose the strands."""


def reads_one_strand(labelled: LabelledSet) -> tuple[bool, str]:
    """Return whether labels are better known from the given strand than from the mean of both; a note why.

    The regression of the baseline, positional if the set is aligned, is fitted on the training rows as they are, and
    with their reverse complements. One strand is chosen if the loss on the validation rows is lower by
    more than one standard error of the difference. Without two validation rows there is none: both are read.
    """
    train, validation = (
        rows[np.linspace(0, len(rows) - 1, min(len(rows), STRAND_ROWS)).astype(int)]
        for rows in map(labelled.rows, ("train", "validation"))
    )
    if not len(train) or len(validation) < 2:
        return False, ""
    windows, held = ([labelled.sequence(int(x)) for x in rows] for rows in (train, validation))
    labels, truth = labelled.labels_of(train), labelled.labels_of(validation)
    method = "positional" if is_aligned(labelled) else "kmer"
    config = KmerConfig(max_k=STRAND_MAX_K, strands="apart", centre_bp=0)
    losses = []
    for strands in ([str], [str, reverse_complement]):
        model = KmerBaseline(config, method=method, label_type=labelled.label_type)
        forward = model.features(held)
        known = np.concatenate([model.features(map(strand, windows)) for strand in strands])
        model.fit(known, np.tile(labels, (len(strands), 1)), forward, truth)
        read = [model.predict(model.features(map(strand, held))) for strand in strands]
        losses.append(row_losses(truth, np.mean(read, axis=0), labelled.label_type))
    forward_loss, both_loss = losses
    error = (both_loss - forward_loss).std(ddof=1) / np.sqrt(len(forward_loss))
    better = bool((both_loss - forward_loss).mean() > error)
    return better, (
        f"read on {'the given strand' if better else 'both strands'}: loss on validation of the {method} "
        f"baseline {forward_loss.mean():.4f} on the given strand, {both_loss.mean():.4f} on both, standard error of "
        f"the difference {error:.4f} (--training.both_strands decides instead)"
    )


def row_losses(labels_NL: np.ndarray, values_NL: np.ndarray, label_type: str) -> np.ndarray:
    """Return the loss of each row (N,): cross-entropy, or the squared error in variances of the labels."""
    labels_NL, values_NL = labels_NL.astype(np.float64), values_NL.astype(np.float64)
    if label_type == REGRESSION:
        std_L = labels_NL.std(axis=0)
        return (((values_NL - labels_NL) / np.where(std_L > 0, std_L, 1.0)) ** 2).mean(axis=1)
    inside = values_NL.clip(SMALLEST_SHARE, 1 - SMALLEST_SHARE)
    if label_type == MULTI_CLASS:
        return -(labels_NL * np.log(inside)).sum(axis=1)
    return -(labels_NL * np.log(inside) + (1 - labels_NL) * np.log1p(-inside)).mean(axis=1)


def kmer_counts(
    model: KmerBaseline | MotifRule, labelled: LabelledSet, rows: Sequence[int], name: str
) -> np.ndarray:
    """Return the features of some rows of a set, with a progress bar on a terminal."""
    progress = progress_bar(rows, desc=f"count {name}", unit="row")
    windows = (labelled.sequence(int(row)) for row in progress)
    if labelled.num_bins:
        around = min(labelled.crop_bp, AROUND_BP)
        starts = labelled.crop_bp - around + labelled.bin_bp * np.arange(labelled.num_bins)
        length = labelled.bin_bp + 2 * around
        windows = (bases[at : at + length] for bases in windows for at in starts.tolist())
    return model.features(windows)


# --- The baseline gkm-SVM on a labelled set ---


def fit_gkm_baseline(
    genome: Path | None, data: Path, output: Path, config: GkmConfig, *, seed: int
) -> BaselineScores:
    """Fit on the training rows and write the probabilities of the held-out rows.

    Raises:
        InputError: If the set has no training row, nothing to score, or labels other than 0 and 1.
    """
    labelled = open_labelled_set(data, genome)
    if labelled.label_type not in (BINARY, MULTI_LABEL):
        raise InputError(
            f"{data}: --method gkm is for labels of 0 and 1, this set is of type "
            f"{labelled.label_type}; use --method kmer"
        )
    held_out = held_out_rows(labelled)
    train, validation = (
        training_rows(labelled, config.max_rows, seed),
        labelled.rows("validation"),
    )
    config = config.for_set(window_bp=labelled.window_bp, bin_bp=labelled.bin_bp)
    model = GkmBaseline(config)
    with threadpool_limits(1):  # sums depend on the number of threads in their last digits
        counted, known = (
            _counted(model, labelled, rows, name)
            for rows, name in ((train, "train"), (validation, "validation"))
        )
        model.fit(counted, labelled.labels_of(train), known, labelled.labels_of(validation))
        parts = np.array_split(held_out, -(-len(held_out) // ROWS_AT_ONCE))
        values = np.concatenate(
            [model.predict(_counted(model, labelled, part, "held out")) for part in parts]
        )
    return save_scores(
        output,
        labelled,
        "gkm",
        model.describe(),
        held_out,
        values,
        fit=f"{len(train)} training rows, cost of an error {model.cost:g}",
    )


def _counted(model: GkmBaseline, labelled: LabelledSet, rows: np.ndarray, name: str) -> CountedRows:
    progress = progress_bar(rows, desc=f"count {name}", unit="row")
    return model.count([labelled.sequence(int(row)) for row in progress])
