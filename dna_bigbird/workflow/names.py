"""Names of trainings, and wildcards that stand for them."""

import re
from collections.abc import Iterable, Sequence


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
