"""The arms of learning.py: which trainings there are, and the settings of each."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from dna_bigbird.core.errors import InputError

OURS = "ours"
SECTIONS = ("model", "masking", "objective", "training")
KEYS = ("recipe", "seeds", "rates", *SECTIONS)
NOT_COMPARABLE = ("max_tokens", "vocab_size")
"""Settings of the model that decide the validation examples; every arm has the same."""

Settings = dict[str, dict]


@dataclass(frozen=True)
class Arm:
    """One recipe to compare: settings by section, the rates to choose from, the number of seeds."""

    name: str
    settings: Settings
    rates: tuple[float, ...] = ()
    seeds: int = 1
    first_seed: int = 0


@dataclass(frozen=True)
class Training:
    """One training: an arm with a seed and, where the arm chooses, a rate."""

    arm: str
    seed: int
    settings: Settings
    rate: float | None = None

    @property
    def label(self) -> str:
        """The arm and its rate: what shares one measured speed."""
        return self.arm if self.rate is None else f"{self.arm}_{self.rate:g}"

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.label}-seed{self.seed}"


def read_arms(
    path: Path,
    base: Settings,
    chosen: Sequence[str] = (),
    same: Sequence[str] = NOT_COMPARABLE,
) -> list[Arm]:
    """Return the arms of a file, or those of them that are named.

    Args:
        base: Settings by section that recipes and arms change.
        same: Settings of the model that no arm changes.

    Raises:
        InputError: If a name or a setting is unknown.
    """
    file = yaml.safe_load(path.read_text())
    arms = file["arms"]
    for name in chosen:
        if name not in arms:
            raise InputError(f"{path}: no arm {name!r}; expected one of {', '.join(arms)}")
    return [
        _arm(path, name, values or {}, file["recipes"], base, same)
        for name, values in arms.items()
        if not chosen or name in chosen
    ]


def _arm(
    path: Path, name: str, values: dict, recipes: dict, base: Settings, same: Sequence[str]
) -> Arm:
    for key in values:
        if key not in KEYS:
            raise InputError(f"{path}: arm {name}: {key}: expected one of {', '.join(KEYS)}")
    recipe = values.get("recipe", OURS)
    if recipe not in recipes:
        raise InputError(f"{path}: arm {name}: no recipe {recipe!r}; has {', '.join(recipes)}")
    settings = merged(base, recipes[recipe], values)
    for key in same:
        if settings["model"].get(key) != base["model"].get(key):
            raise InputError(
                f"{path}: arm {name}: model.{key} differs from the config's; arms are compared on "
                "the same hidden tokens. Give the config another variant instead"
            )
    return Arm(name, settings, tuple(values.get("rates", ())), values.get("seeds", 1))


def merged(*parts: Mapping[str, dict]) -> Settings:
    """Return settings by section; later parts replace settings of earlier ones."""
    return {
        section: {k: v for part in parts for k, v in (part.get(section) or {}).items()}
        for section in SECTIONS
    }


def base_settings(config: Mapping, variant: str | None = None) -> Settings:
    """Return the settings by section of a workflow's config, with the changes of a variant.

    Raises:
        InputError: If the config has no such variant.
    """
    parts = [config]
    if variant is not None:
        variants = config.get("experiments", {}).get("variants", {})
        if variant not in variants:
            raise InputError(
                f"--variant {variant}: expected one of {', '.join(variants) or 'none'} (section "
                "experiments.variants of the config)"
            )
        parts.append(variants[variant])
    named = [{**part, "training": part.get("pretraining", {})} for part in parts]
    return merged(*named)


def first_trainings(arms: Sequence[Arm]) -> list[Training]:
    """Return the trainings that need no result of others: all seeds, or all rates with seed 0."""
    return [
        training
        for arm in arms
        for training in (
            [_at(arm, 0, rate) for rate in arm.rates]
            or [Training(arm.name, seed, arm.settings) for seed in seeds_of(arm)]
        )
    ]


def trainings_at_best(arm: Arm, rate: float) -> list[Training]:
    """Return all seeds of an arm with rates, at the chosen one."""
    return [_at(arm, seed, rate) for seed in seeds_of(arm)]


def seeds_of(arm: Arm) -> range:
    """Return the seeds of an arm."""
    return range(arm.first_seed, arm.first_seed + arm.seeds)


def _at(arm: Arm, seed: int, rate: float) -> Training:
    settings = copy.deepcopy(arm.settings)
    settings["training"]["learning_rate"] = rate
    return Training(arm.name, seed, settings, rate)
