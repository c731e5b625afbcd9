"""`dna-bigbird baseline`."""

import sys
from pathlib import Path
from typing import Literal

from dna_bigbird.baselines.kmer_config import KmerConfig
from dna_bigbird.baselines.network_config import CnnPromConfig, DeePromoterConfig, DeepSeaConfig
from dna_bigbird.paths import InputPath, OutputFolder, OutputPath
from dna_bigbird.tasks.config import TrainConfig

ROWS_AT_ONCE = 16_384
"""Rows whose word counts (up to 11 KB each) are in memory at once while they are scored."""


def baseline(
    genome: InputPath,
    data: InputPath,
    output: OutputPath,
    kind: Literal["kmer", "gc", "cnnprom", "deepromoter", "deepsea"] = "kmer",
    checkpoints: OutputFolder | None = None,
    kmer: KmerConfig = KmerConfig(),  # noqa: B008 - jsonargparse shows the default
    cnnprom: CnnPromConfig = CnnPromConfig(),  # noqa: B008
    deepromoter: DeePromoterConfig = DeePromoterConfig(),  # noqa: B008
    deepsea: DeepSeaConfig = DeepSeaConfig(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    strand: Literal["both", "forward"] = "both",
    seed: int = 0,
    threads: int = 0,
) -> None:
    """Fit a baseline on a labelled set and score its held-out rows.

    Word counts and GC content go through a logistic regression. The networks are trained by the
    very same task as the model: killed and started again with the same command, they go on.

    Args:
        genome: Plain FASTA that the set was made from.
        data: Labelled set, made by promoter-set, chromatin-set or deepsea-set.
        output: Probabilities of every validation and test row, HDF5.
        kind: Which baseline: word counts, GC content, or a published network (docs/baselines.md).
        checkpoints: Folder for the state of a network's training, not part of the result; by
            default `output` with `.checkpoints` behind it.
        kmer: What is counted; `gc` uses only `centre_bp` and `max_rows`.
        cnnprom: The network of that name.
        deepromoter: The network of that name.
        deepsea: The network of that name.
        training: How a network is trained.
        strand: Strands on which a network is scored: the mean of a window and its reverse complement,
            or the window as the set orients it; as --strand of `evaluate`. Word counts know none.
        seed: Seed of a network's weights, order of windows and dropout; of the choice of training
            rows for word counts, if the set has more than --kmer.max_rows.
        threads: CPU threads of a network; 0 leaves the choice to torch.
    """
    if kind in ("kmer", "gc"):
        fit_words(genome, data, output, kmer, only_gc=kind == "gc", seed=seed)
        return
    from dna_bigbird.tasks import signals

    signals.listen()  # before the imports, which take seconds

    from dna_bigbird.limits import use_threads

    use_threads(threads)
    settings = {"cnnprom": cnnprom, "deepromoter": deepromoter, "deepsea": deepsea}[kind]
    if checkpoints is None:
        checkpoints = output.with_name(output.name + ".checkpoints")
    train_network(
        genome, data, output, settings, training, checkpoints=checkpoints, seed=seed, strand=strand
    )


def train_network(
    genome: Path,
    data: Path,
    output: Path,
    config: CnnPromConfig | DeePromoterConfig | DeepSeaConfig,
    training: TrainConfig,
    *,
    checkpoints: Path,
    seed: int,
    strand: str,
) -> None:
    """Train a published network and write its scores of the held-out rows."""
    from dataclasses import asdict

    import numpy as np
    from tqdm import tqdm

    from dna_bigbird.baselines.networks import build_network
    from dna_bigbird.datasets.bases import BaseTokenizer
    from dna_bigbird.datasets.same_genome import open_labelled_set
    from dna_bigbird.datasets.scores import STRANDS
    from dna_bigbird.datasets.tokenized import RowsOnTheFly
    from dna_bigbird.errors import InputError
    from dna_bigbird.genome import Genome
    from dna_bigbird.pipeline.label_training import train_on_labels
    from dna_bigbird.tasks.label_scores import mean_over_strands
    from dna_bigbird.tasks.peers import is_first_on_node

    if training.head_learning_rate:
        raise InputError(
            "--training.head_learning_rate belongs to models with an encoder; a baseline network has "
            "one rate, --training.learning_rate"
        )
    labelled = open_labelled_set(data, Genome(genome), verify=is_first_on_node())
    try:
        network = build_network(config, labelled.window_bp, len(labelled.label_names), seed=seed)
    except ValueError as error:
        raise InputError(f"{data}: {error}; build the set with a larger window") from error
    task, result, _ = train_on_labels(
        network,
        labelled,
        BaseTokenizer(),
        training,
        max_tokens=labelled.window_bp,
        checkpoints=checkpoints,
        seed=seed,
        settings={"command": f"baseline {config.NAME}", "model": asdict(config)},
    )
    if not result.is_writer:
        return
    held_out = np.flatnonzero(labelled.split != 0)
    values = mean_over_strands(
        task.model,
        RowsOnTheFly(labelled, held_out, BaseTokenizer(), max_tokens=labelled.window_bp),
        strands="+-" if strand == "both" else "+",
        progress=lambda batches: tqdm(batches, desc="score", unit="batch", disable=None),
    )
    parameters = sum(p.numel() for p in task.model.parameters())
    description = (
        f"{config.describe()}, {parameters:,} parameters; step {result.best_step} of "
        f"{training.max_steps}, {training.batch_size * training.accumulate * training.processes} "
        f"windows a step, seed {seed}; {STRANDS[strand]}."
    )
    save_scores(output, labelled, config.NAME, description, held_out, values, strand)
    print(
        f"{config.NAME} baseline: {parameters} parameters, step {result.best_step}, macro AUROC "
        f"{result.best_metrics['macro_auroc']:.4f} on validation, {len(held_out)} rows scored",
        file=sys.stderr,
    )


def fit_words(
    genome: Path, data: Path, output: Path, kmer: KmerConfig, *, only_gc: bool, seed: int
) -> None:
    """Fit a logistic regression on word counts or GC content and write its scores."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from dna_bigbird.datasets.same_genome import open_labelled_set
    from dna_bigbird.genome import Genome

    labelled = open_labelled_set(data, Genome(genome))
    held_out = np.flatnonzero(labelled.split != 0)
    with threadpool_limits(1):  # sums depend on the number of threads in their last digits
        model, fitted = fitted_words(labelled, kmer, only_gc=only_gc, seed=seed)
        parts = np.array_split(held_out, -(-len(held_out) // ROWS_AT_ONCE) or 1)
        values = np.concatenate(
            [model.predict(_counted(model, labelled, part, "held out")) for part in parts]
        )
    name = "gc" if only_gc else "kmer"
    save_scores(output, labelled, name, model.describe(), held_out, values)
    print(
        f"{name} baseline: {fitted[0]} training rows, {fitted[1]} "
        f"features, ridge penalty {model.penalty:g}, {len(held_out)} rows scored",
        file=sys.stderr,
    )


def fitted_words(labelled, kmer: KmerConfig, *, only_gc: bool = False, seed: int = 0):
    """Fit a logistic regression on word counts or GC content of the training rows of a set.

    Returns:
        baselines.kmer.KmerBaseline, and the numbers of its training rows and features.

    Raises:
        InputError: If the set has no training row.
    """
    import numpy as np

    from dna_bigbird.baselines.kmer import KmerBaseline
    from dna_bigbird.errors import InputError

    config = kmer.for_set(
        window_bp=labelled.window_bp,
        bin_bp=labelled.bin_bp,
        oriented=labelled.task == "promoter",
    )
    train, validation = labelled.rows("train"), labelled.rows("validation")
    if not len(train):
        raise InputError(f"{labelled.path}: no training row")
    if len(train) > config.max_rows:
        chosen = np.random.default_rng([seed]).choice(train, config.max_rows, replace=False)
        train = np.sort(chosen)
    model = KmerBaseline(config, only_gc=only_gc)
    features = _counted(model, labelled, train, "train")
    model.fit(
        features,
        labelled.labels_of(train),
        _counted(model, labelled, validation, "validation"),
        labelled.labels_of(validation),
    )
    return model, features.shape


def _counted(model, labelled, rows, name: str):
    """Count the words of some rows of a set."""
    from tqdm import tqdm

    shown = tqdm(rows, desc=f"count {name}", unit="row", disable=None)
    return model.features(labelled.sequence(int(i)) for i in shown)


def save_scores(
    output: Path, labelled, name: str, description: str, rows, values, strand: str = ""
) -> None:
    """Write the probabilities of some rows of a labelled set."""
    from dna_bigbird.datasets.scores import Scores, write_scores
    from dna_bigbird.files import sha256_of

    write_scores(
        output,
        Scores(
            name=name,
            description=description,
            label_names=labelled.label_names,
            rows=rows,
            values=values,
            set_sha256=sha256_of(labelled.path),
            strand=strand,
        ),
    )
