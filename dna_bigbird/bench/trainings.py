"""Trainings and baselines of a benchmark task; each writes its scores of the test rows once."""

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dna_bigbird.baselines.config import CnnPromConfig, KmerConfig
from dna_bigbird.baselines.kmer_baseline import fit_kmer_baseline
from dna_bigbird.bench.parts import finish, finished, unfinish
from dna_bigbird.bench.suites.suite import LabelledRows, Suite, Task
from dna_bigbird.bench.task_scores import TaskRun
from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import bundled_encoder
from dna_bigbird.core.errors import InputError, notes_hidden
from dna_bigbird.core.files import sha256_of
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.labelled.labelled_data import LabelledData, write_labelled_set
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import LabelScores, read_scores, write_scores
from dna_bigbird.labelled.sequences.labels import encode_labels
from dna_bigbird.labelled.sequences.sets import SequenceSplit, build_sequences
from dna_bigbird.labelled.set_files import counts_in_words
from dna_bigbird.labelled.splits import SPLITS, SplitConfig
from dna_bigbird.metrics.task_results import MODEL, RANDOM_WEIGHTS
from dna_bigbird.models.kmer_config import KmersConfig
from dna_bigbird.models.lora_config import LoraConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.training.finetune import finetune
from dna_bigbird.training.network_baseline import fit_network_baseline

# The labelled set of a benchmark task, as published: no row is dropped for what another one shows.

SPLIT_SEED = 0
"""Of the validation rows that are taken from the training rows; the same for every training seed."""
MOST_N = 1.0
"""Only sequences without any A, C, G or T are left out."""


def write_task_set(path: Path, suite: Suite, task: Task, rows: LabelledRows) -> LabelledSet:
    """Write the set of a task and open it."""
    data = task_data(task, rows)
    digest = hashlib.sha256()
    for row in rows.rows:
        digest.update(f"{row.sequence}\t{row.labels}\t{row.name}\n".encode())
    genome = _Lengths(data) if data.has_coordinates else None
    write_labelled_set(
        path,
        data,
        genome,
        assembly=rows.assembly,
        command=f"bench {suite.name} --tasks {task.name}",
        inputs={"rows": digest.hexdigest()},
    )
    return LabelledSet(path)


def task_data(task: Task, rows: LabelledRows) -> LabelledData:
    """Return the set of a task; the rows read include those that the reader left out."""
    # Training rows of a suite without validation rows give it a tenth, whole groups of
    # overlapping or equal rows.
    _check_parts(task, rows)
    labels = encode_labels(rows.rows, rows.label_names, label_type=rows.label_type)
    try:
        data = build_sequences(
            rows.rows,
            labels,
            rows.roles,
            SequenceSplit(SplitConfig(), seed=SPLIT_SEED),
            max_n_fraction=MOST_N,
            conflicts="drop",
            duplicates="keep",
        )
    except InputError as error:
        raise InputError(f"{task.name}: {error}") from error
    read = {"rows_read": rows.counts.get("rows_read", len(rows.rows))}
    data.counts = dict(rows.counts) | data.counts | read
    return data


def _check_parts(task: Task, rows: LabelledRows) -> None:
    is_test = rows.roles == SPLITS.index("test")
    for name, number in (("training", int((~is_test).sum())), ("test", int(is_test.sum()))):
        if not number:
            left = counts_in_words(rows.counts) or "none was read"
            raise InputError(f"{task.name}: no {name} row is left ({left})")


class _Lengths:
    """Chromosome lengths as far as the rows show them; all that a set with its own sequences needs."""

    def __init__(self, data: LabelledData) -> None:
        windows = data.intervals
        ends = np.zeros(len(windows.chromosomes), dtype=np.int64)
        np.maximum.at(ends, windows.chrom, windows.end.astype(np.int64))
        # A row that starts at 0 must not look like a sequence without coordinates.
        self.lengths = {
            name: max(int(end), data.window_bp + 1)
            for name, end in zip(windows.chromosomes, ends, strict=True)
        }


CNN = "cnn"
FORWARD, REVERSE = "forward.h5", "reverse.h5"
WORK = ("bundle", "checkpoints")
"""Folders that are needed until the scores are complete."""
LORA = LoraConfig(rank=8)
CNN_BATCH, CNN_PASSES, CNN_FEWEST, CNN_MOST, CNN_VALIDATIONS = 32, 15, 120, 3000, 6
"""Windows per step, passes over the training rows, and bounds of the steps, a multiple of the validations."""


@dataclass(frozen=True)
class Scored:
    """Scores of the test rows by one training, or by a baseline without seeds."""

    forward: np.ndarray
    """(N, L), of the rows as the set has them; of k-mer counts, which have no strand, too."""
    reverse: np.ndarray | None
    """Of their reverse complements; None for a baseline."""
    is_directional: bool
    description: str

    @property
    def values(self) -> np.ndarray:
        """What is scored: the mean of both strands, or the given one."""
        if self.reverse is None or self.is_directional:
            return self.forward
        return (self.forward + self.reverse) / 2


@dataclass(frozen=True)
class TaskTraining:
    """Everything that is trained on the set of one task."""

    run: TaskRun
    labelled: LabelledSet

    @cached_property
    def _set_sha256(self) -> str:
        return sha256_of(self.labelled.path)

    def scored(self, source: str, seed: int) -> tuple[Scored, bool]:
        """Return the scores of a source for one seed, and whether they were there already."""
        folder = self.run.folder / source / f"seed{seed}"
        settings = self._settings(source, seed)
        facts = finished(folder, settings)
        is_stored = facts is not None
        if facts is None:
            unfinish(folder)  # its scores are replaced one by one
            with notes_hidden():
                facts = finish(folder, settings, self._compute(source, seed, folder))
        scored = self._read(folder, facts)
        for name in WORK:  # also of a run that was killed after the part was finished
            shutil.rmtree(folder / name, ignore_errors=True)
        return scored, is_stored

    def _read(self, folder: Path, facts: Mapping[str, Any]) -> Scored:
        test = self.labelled.rows("test")
        reverse = read_scores(folder / REVERSE).of(test) if facts["has_strands"] else None
        forward = read_scores(folder / FORWARD).of(test)
        return Scored(forward, reverse, facts["is_directional"], facts["description"])

    def _settings(self, source: str, seed: int) -> dict[str, Any]:
        settings: dict[str, Any] = {"source": source, "set_sha256": self._set_sha256, "seed": seed}
        if source in (MODEL, RANDOM_WEIGHTS):
            settings |= {
                "checksums": self.run.checksums,
                "method": self.run.choice.method,
                "training": asdict(self.run.training),
                "head": asdict(self.run.choice.head),
            }
        elif source == CNN:
            settings["training"] = asdict(cnn_training(len(self.labelled.rows("train"))))
        return settings

    def _compute(self, source: str, seed: int, folder: Path) -> dict[str, Any]:
        if source in (MODEL, RANDOM_WEIGHTS):
            return self._fine_tune(seed, folder, fresh=source == RANDOM_WEIGHTS)
        baseline = self._cnn if source == CNN else self._kmers
        description = baseline(source, seed, folder)
        return {"has_strands": False, "is_directional": False, "description": description}

    def _fine_tune(self, seed: int, folder: Path, *, fresh: bool) -> dict[str, Any]:
        bundle = folder / WORK[0]
        is_bundled = self.run.model.resolve() == bundled_encoder().resolve()
        trained = finetune(
            data=self.labelled.path,
            pretrained=None if is_bundled else self.run.model,
            output=bundle,
            checkpoints=folder / WORK[1],
            seed=seed,
            from_scratch=fresh,
            freeze="encoder" if self.run.choice.method == "probe" else None,
            lora=LORA if self.run.choice.method == "lora" else LoraConfig(),
            head=self.run.choice.head,
            words=KmersConfig(max_k=0, by_position=False),
            training=self.run.training,
            threads=self.run.choice.threads,
        )
        loaded = load_bundle(bundle)
        self._write_strands(loaded, folder)
        how = {"full": "all weights trained", "lora": "LoRA", "probe": "a regression on its states"}
        start = "random weights" if fresh else "pretrained weights"
        steps = "" if self.run.choice.method == "probe" else f", {trained.max_steps:,} steps"
        return {
            "has_strands": True,
            "is_directional": loaded.config.directional,
            "description": f"BigBird from {start}, {how[self.run.choice.method]}{steps}",
        }

    def _write_strands(self, bundle: Bundle, folder: Path) -> None:
        rows = self.labelled.rows("test")
        sequences = [self.labelled.sequence(int(row)) for row in rows]
        compute = Compute(batch_size=64, precision="32-true", threads=self.run.choice.threads)
        # Corrected on validation rows, a probability of one half would be a threshold that was tuned.
        predictor = Predictor(bundle, compute=compute, strand="forward", raw=True)
        for name, texts in (
            (FORWARD, sequences),
            (REVERSE, [reverse_complement(text) for text in sequences]),
        ):
            values = predictor.probabilities(texts).astype(np.float32)
            names, digest = self.labelled.label_names, self._set_sha256
            scores = LabelScores(MODEL, "one strand", names, rows, values, digest, "forward")
            write_scores(folder / name, scores)

    def _kmers(self, source: str, seed: int, folder: Path) -> str:
        path = folder / FORWARD
        return fit_kmer_baseline(
            None, self.labelled.path, path, KmerConfig(), method=source, seed=seed
        ).description

    def _cnn(self, source: str, seed: int, folder: Path) -> str:
        return fit_network_baseline(
            None,
            self.labelled.path,
            folder / FORWARD,
            CnnPromConfig(),
            cnn_training(len(self.labelled.rows("train"))),
            checkpoints=folder / WORK[1],
            seed=seed,
            strand=None,
        ).description


def cnn_training(num_rows: int) -> TrainConfig:
    """Return how the small CNN is trained on so many rows.

    Example:
        >>> cnn_training(100).max_steps, cnn_training(1_000).max_steps, cnn_training(10**6).max_steps
        (120, 468, 3000)
    """
    steps = min(max(num_rows * CNN_PASSES // CNN_BATCH, CNN_FEWEST), CNN_MOST)
    steps = steps // CNN_VALIDATIONS * CNN_VALIDATIONS
    return TrainConfig(
        max_steps=steps,
        batch_size=CNN_BATCH,
        learning_rate=1e-3,
        warmup_steps=steps // 10,
        validate_every=steps // CNN_VALIDATIONS,
        precision="32-true",
    )
