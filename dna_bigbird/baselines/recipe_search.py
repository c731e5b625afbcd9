"""Trying several recipes on the validation rows: what is tried, what each gave, which is kept."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.parts import read_json_part, write_json_part
from dna_bigbird.core.tables import Table
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.models.train_config import TrainConfig

TABLE = "search.tsv"
_RECIPE = 5
"""Part of the seed of recipes."""
WIDEST = 4.0
"""Rates are drawn between a WIDEST-th and WIDEST times the given one, evenly on a logarithmic scale."""
WEIGHT_DECAYS = (0.0, 0.01, 0.1)
DROPOUTS = (0.0, 0.1, 0.2, 0.3)


@dataclass(frozen=True)
class Recipe:
    """Settings of one trial."""

    training: TrainConfig
    dropout: float | None
    """None keeps the one of the model."""
    values: dict[str, float | None]
    """What differs between trials, by name; None is the model's own."""


def draw_recipes(
    training: TrainConfig, dropout: float | None, count: int, seed: int
) -> list[Recipe]:
    """Return the recipes of a search: the given one, then random ones around it.

    Trial n depends on the seed and n only, so a longer search begins with the trials of a shorter one.
    """
    names = ["learning_rate"]
    names += ["muon_learning_rate"] if training.optimizer == "muon" else []
    names += ["head_learning_rate"] if training.head_learning_rate else []
    first_values = {name: getattr(training, name) for name in (*names, "weight_decay")}
    recipes = [Recipe(training, dropout, first_values | {"dropout": dropout})]
    for trial in range(1, count):
        rng = np.random.default_rng([seed, _RECIPE, trial])
        rates = {x: _shortened(first_values[x] * WIDEST ** rng.uniform(-1, 1)) for x in names}
        decay, share = (float(rng.choice(values)) for values in (WEIGHT_DECAYS, DROPOUTS))
        changes = rates | {"weight_decay": decay}
        recipes.append(Recipe(replace(training, **changes), share, changes | {"dropout": share}))
    return recipes


def _shortened(rate: float) -> float:
    return float(f"{rate:.3g}")


@dataclass(frozen=True)
class Trial:
    """One recipe with its score on the validation rows."""

    number: int
    values: dict[str, object]
    score: float
    step: int
    """Of the training, whose weights have this score; 0 where there are no steps."""


@dataclass(frozen=True)
class Search:
    """All trials of a search."""

    monitor: str
    """Name of the score, higher is better."""
    trials: list[Trial]

    @property
    def best(self) -> Trial:
        """The first trial with the highest score; trials without one come last."""
        return max(self.trials, key=lambda x: -math.inf if math.isnan(x.score) else x.score)

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row per trial: its number, its recipe, its score on validation, its step."""
        return [
            {"trial": x.number, **x.values, f"validation_{self.monitor}": _rounded(x.score)}
            | {"step": x.step, "is_chosen": x is self.best}
            for x in self.trials
        ]

    @property
    def table(self) -> str:
        """The rows as tab-separated text."""
        return Table(self.rows).to_tsv()


def _rounded(score: float) -> float | None:
    return None if math.isnan(score) else round(score, 6)


def search(
    recipes: Sequence[dict[str, object]],
    run: Callable[[int], tuple[float, int]],
    identify: Callable[[int], dict],
    folder: Path,
    *,
    monitor: str = "macro_auroc",
) -> Search:
    """Run every trial that is not finished yet, and write search.tsv.

    Args:
        recipes: What differs between trials.
        run: Trains the recipe of a number and returns its score on validation, and the step.
        identify: Everything that decides the result of a trial; a finished trial with the same is kept.
        folder: To it search.tsv and a file per finished trial are written.
    """
    trials = []
    for number, values in enumerate(recipes):
        path = trial_folder(folder, number) / "result.json"
        identity = identify(number)
        finished = read_json_part(path, identity)
        if finished is None:
            score, step = run(number)
            finished = {"score": _rounded(score), "step": step}
            write_json_part(path, identity, finished)
        score = math.nan if finished["score"] is None else finished["score"]
        trials.append(Trial(number, values, score, finished["step"]))
        note(f"search: trial {number} of {len(recipes)}: {monitor} {score:.4f} on validation")
    result = Search(monitor, trials)
    with atomic_path(folder / TABLE) as path:
        path.write_text(result.table)
    return result


def trial_folder(folder: Path, number: int) -> Path:
    """Return the folder of a trial, for its checkpoints and its result."""
    return folder / f"trial{number:03d}"


def check_search(count: int, training: TrainConfig | None = None) -> None:
    """Raise InputError for a search that cannot be done."""
    if count and training is not None and training.processes > 1:
        raise InputError("--search with several processes is not supported; train on one device")
