"""The baselines that are published networks, trained by the same task as the model."""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from torch import nn

from dna_bigbird.baselines.baseline_scores import BaselineScores, save_scores
from dna_bigbird.baselines.config import CnnPromConfig, DeePromoterConfig, DeepSeaConfig
from dna_bigbird.baselines.networks import build_network
from dna_bigbird.baselines.recipe_search import Recipe, draw_recipes, search, trial_folder
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import score_name
from dna_bigbird.genome.alphabet import BASES
from dna_bigbird.labelled.labelled_set import LabelledSet, open_labelled_set
from dna_bigbird.labelled.scores import STRANDS
from dna_bigbird.labelled.tokenized import RowsOnTheFly
from dna_bigbird.models.label_types import MONITORS
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.finetune_run import is_directional
from dna_bigbird.training.fit import FitResult, training_settings
from dna_bigbird.training.label_training import LabelModule, train_on_labels
from dna_bigbird.training.probe import mean_over_strands
from dna_bigbird.training.processes import is_first_on_node

_IDS = np.full(256, len(BASES), dtype=np.uint8)
_IDS[np.frombuffer(BASES.encode(), np.uint8)] = range(len(BASES))


class BaseTokenizer:
    """A C G T N as the ids 0 … 4, filled up with N to `length`; nothing is put before or after."""

    cls_id = None
    sep_id = None
    vocab_size = len(BASES)

    def __init__(self, length: int = 0) -> None:
        self.length = length

    def encode(self, sequence: str) -> np.ndarray:
        """Return the id of every base, shape (bases,) or (length,), uint8.

        Example:
            >>> BaseTokenizer().encode("ACGTN").tolist()
            [0, 1, 2, 3, 4]
        """
        sequence = sequence.ljust(self.length, "N")
        ids = _IDS[np.frombuffer(sequence.encode("latin-1"), np.uint8)]
        if (ids == len(BASES)).any():
            letters = "".join(sorted(set(sequence) - set(BASES)))
            raise ValueError(
                f"letters {letters!r} are not A C G T N; pass them through normalise()"
            )
        return ids


NetworkConfig = CnnPromConfig | DeePromoterConfig | DeepSeaConfig


def fit_network_baseline(
    genome: Path | None,
    data: Path,
    output: Path,
    config: NetworkConfig,
    training: TrainConfig,
    *,
    checkpoints: Path,
    seed: int,
    strand: str | None,
    num_recipes: int = 0,
) -> BaselineScores:
    """Train a published network, the best of several recipes, and write its held-out scores."""
    # `strand` None: the strands that `evaluate` reads by default of a model trained as this one.
    for name, is_set in (
        ("head_learning_rate", training.head_learning_rate),
        ("layer_decay", training.layer_decay < 1),
    ):
        if is_set:
            raise InputError(
                f"--training.{name} belongs to models with an encoder; a baseline network has one rate, "
                "--training.learning_rate"
            )
    labelled = open_labelled_set(data, genome, verify=is_first_on_node())
    if labelled.num_bins:
        raise InputError(
            f"{data}: a network reads whole windows, not bins of tracks; use --method kmer"
        )
    if strand is None:
        strand = "forward" if is_directional(labelled, training.both_strands) else "both"
    trained = NetworkTraining(labelled, config, seed)
    recipe, folder, tried = trained.chosen(training, num_recipes, checkpoints)
    task, result, _ = trained.run(recipe, folder)
    held_out = np.flatnonzero(labelled.split != 0)
    parameters = sum(p.numel() for p in task.model.parameters())
    description = (
        f"{config.describe()}, {parameters:,} parameters; {training_text(training, result)}, seed "
        f"{seed}{tried}; {STRANDS[strand]}."
    )
    if not result.is_writer:
        return BaselineScores(output, config.NAME, description, len(held_out))
    score = result.best_metrics[task.monitor]
    return save_scores(
        output,
        labelled,
        config.NAME,
        description,
        held_out,
        network_scores(task, labelled, held_out, strand),
        fit=f"{parameters} parameters, step {result.best_step}, {score_name(task.monitor)} {score:.4f} on "
        "validation",
        strand=strand,
    )


@dataclass(frozen=True)
class NetworkTraining:
    """The training of a published network on a set."""

    labelled: LabelledSet
    config: NetworkConfig
    seed: int

    def run(self, recipe: Recipe, checkpoints: Path) -> tuple[LabelModule, FitResult, int]:
        """Train with a recipe; what `train_on_labels` returns."""
        network = network_for(self.labelled, self.config, self.seed)
        if recipe.dropout is not None:
            for module in network.modules():
                if isinstance(module, nn.Dropout):
                    module.p = recipe.dropout
        labelled = self.labelled
        tokenizer = BaseTokenizer(0 if labelled.has_one_length else labelled.window_bp)
        return train_on_labels(
            network,
            labelled,
            tokenizer,
            recipe.training,
            max_tokens=labelled.window_bp,
            checkpoints=checkpoints,
            seed=self.seed,
            settings=self._settings(recipe),
        )

    def _settings(self, recipe: Recipe) -> dict:
        dropout = {} if recipe.dropout is None else {"dropout": recipe.dropout}
        command = f"baseline {self.config.NAME}"
        return {"command": command, "model": asdict(self.config) | dropout}

    def chosen(
        self, training: TrainConfig, count: int, checkpoints: Path
    ) -> tuple[Recipe, Path, str]:
        """Return the best recipe, the folder of its checkpoints, and the search in words."""
        recipes = draw_recipes(training, None, count or 1, self.seed)
        if not count:
            return recipes[0], checkpoints, ""
        checksum = sha256_of(self.labelled.path)

        def run(number: int) -> tuple[float, int]:
            task, result, _ = self.run(recipes[number], trial_folder(checkpoints, number))
            return result.best_metrics[task.monitor], result.best_step

        def identify(number: int) -> dict:
            recipe = recipes[number]
            settings = training_settings(recipe.training) | self._settings(recipe)
            return {"settings": settings, "data": checksum, "seed": self.seed}

        values = [recipe.values for recipe in recipes]
        monitor = MONITORS[self.labelled.label_type]
        done = search(values, run, identify, checkpoints, monitor=monitor)
        best = done.best.number
        words = f", best of {count} recipes on validation rows"
        return recipes[best], trial_folder(checkpoints, best), words


def network_for(labelled: LabelledSet, config: NetworkConfig, seed: int) -> nn.Module:
    """Return an untrained network for the windows and labels of a set."""
    try:
        return build_network(config, labelled.window_bp, len(labelled.label_names), seed=seed)
    except ValueError as error:
        raise InputError(f"{labelled.path}: {error}; build the set with a larger window") from error


def network_scores(
    task: LabelModule, labelled: LabelledSet, rows: np.ndarray, strand: str
) -> np.ndarray:
    """Return the probabilities or targets of some rows, with a progress bar on a terminal."""
    tokenizer = BaseTokenizer(0 if labelled.has_one_length else labelled.window_bp)
    return mean_over_strands(
        task.model,
        RowsOnTheFly(labelled, rows, tokenizer, max_tokens=labelled.window_bp),
        activation=task.objective.predictions,
        strands="+-" if strand == "both" else "+",
        progress=lambda batches: progress_bar(batches, desc="score", unit="batch"),
    )


def training_text(training: TrainConfig, result: FitResult) -> str:
    """Return the chosen step and the batch size in words."""
    windows = training.batch_size * training.accumulate * training.processes
    return f"step {result.best_step} of {training.max_steps}, {windows} windows per step"
