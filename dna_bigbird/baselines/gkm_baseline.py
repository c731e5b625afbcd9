"""The baseline gkm-SVM on a labelled set."""

from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dna_bigbird.baselines.baseline_scores import BaselineScores, save_scores
from dna_bigbird.baselines.config import GkmConfig
from dna_bigbird.baselines.gkm import CountedRows, GkmBaseline
from dna_bigbird.baselines.kmer_baseline import ROWS_AT_ONCE, held_out_rows, training_rows
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.labelled.labelled_set import LabelledSet, open_labelled_set
from dna_bigbird.models.label_types import BINARY, MULTI_LABEL


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
