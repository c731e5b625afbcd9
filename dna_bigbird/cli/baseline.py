"""`dna-bigbird baseline`."""

import sys
from pathlib import Path

from dna_bigbird.baselines.kmer import KmerConfig


def baseline(genome: Path, data: Path, output: Path, kmer: KmerConfig, seed: int = 0) -> None:
    """Fit a k-mer (or GC) logistic regression on a labelled set and score its held-out rows.

    Args:
        genome: Plain FASTA that the set was made from.
        data: Labelled set, made by promoter-set or chromatin-set.
        output: Probabilities of every validation and test row, HDF5.
        kmer: What is counted.
        seed: Seed of the choice of training rows, if the set has more than --kmer.max_rows.
    """
    import numpy as np
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    from dna_bigbird.baselines.kmer import KmerBaseline
    from dna_bigbird.datasets.labelled import LabelledSet
    from dna_bigbird.datasets.scores import Scores, write_scores
    from dna_bigbird.errors import InputError
    from dna_bigbird.files import sha256_of
    from dna_bigbird.genome import Genome

    labelled = LabelledSet(data, Genome(genome))
    config = kmer.for_set(
        window_bp=labelled.window_bp,
        bin_bp=labelled.bin_bp,
        oriented=labelled.task == "promoter",
    )
    train, validation = labelled.rows("train"), labelled.rows("validation")
    if not len(train):
        raise InputError(f"{data}: no training row")
    if len(train) > config.max_rows:
        chosen = np.random.default_rng([seed]).choice(train, config.max_rows, replace=False)
        train = np.sort(chosen)
    held_out = np.flatnonzero(labelled.split != 0)

    def progress(rows):
        return tqdm(rows, desc="counting", unit="row", disable=not sys.stderr.isatty())

    model = KmerBaseline(config)
    with threadpool_limits(1):  # sums depend on the number of threads in their last digits
        counted = {
            name: model.features(labelled.sequence(int(i)) for i in progress(rows))
            for name, rows in (("train", train), ("held_out", held_out))
        }
        of_validation = counted["held_out"][np.isin(held_out, validation)]
        model.fit(
            counted["train"], labelled.labels[train], of_validation, labelled.labels[validation]
        )
        values = model.predict(counted["held_out"])
    write_scores(
        output,
        Scores(
            name=config.kind,
            description=config.describe(),
            label_names=labelled.label_names,
            rows=held_out,
            values=values,
            set_sha256=sha256_of(data),
        ),
    )
    print(
        f"{config.kind} baseline: {len(train)} training rows, {counted['train'].shape[1]} "
        f"features, ridge penalty {model.penalty:g}, {len(held_out)} rows scored",
        file=sys.stderr,
    )
