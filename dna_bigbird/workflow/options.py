"""Settings of a config as words of a command line."""

import json
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

# Names of trainings, and wildcards that stand for them.


def one_of(names: Iterable[str]) -> str:
    """Return the constraint of a wildcard that is one of some names; without any it fits nothing.

    Example:
        >>> one_of(["heads/a.b", "promoter"]), one_of([])
        ('heads/a\\\\.b|promoter', '(?!)')
    """
    return "|".join(map(re.escape, names)) or "(?!)"


def seed_names(name: str, seeds: int | Sequence[int], first: int) -> dict[str, int]:
    """Return the trainings of a model and their seeds, which a config lists, or gives as how many from `first` on.

    Example:
        >>> seed_names("a", 2, first=5), seed_names("a", [11, 4], first=5)
        ({'a/seed5': 5, 'a/seed6': 6}, {'a/seed11': 11, 'a/seed4': 4})
    """
    listed = range(first, first + seeds) if isinstance(seeds, int) else seeds
    return {f"{name}/seed{seed}": seed for seed in listed}


Section = Mapping[str, Any]
"""A section of a checked config."""

_GROUPS = ("etc", "cpc")
"""Nested sections that are settings of the same command."""


def option(name: str, value: object) -> str:
    """Write one option as the command line takes it: lists as JSON, booleans in lower case.

    Example:
        >>> option("regions", ["chr1", "chr2"]), option("pieces", True), option("title", "my run")
        ('--regions \\'["chr1", "chr2"]\\'', '--pieces true', "--title 'my run'")
    """
    text = value if isinstance(value, str) else json.dumps(value)
    return f"--{name} {shlex.quote(text)}"


def options(section: Section, group: str = "", keys: Collection[str] | None = None) -> str:
    """Write a section of the config as options `--group.key value`; without group `--key value`.

    Example:
        >>> options({"max_steps": 9, "cpc": {"weight": 0.5}, "lora": {"rank": 4}}, "training")
        '--training.max_steps 9 --training.cpc.weight 0.5'
    """
    prefix = f"{group}." if group else ""
    return " ".join(
        options(value, prefix + key) if isinstance(value, dict) else option(prefix + key, value)
        for key, value in section.items()
        if (key in _GROUPS or not isinstance(value, dict)) and (keys is None or key in keys)
    )
