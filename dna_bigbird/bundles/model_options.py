"""Options that name models; imports no torch."""

import typing
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from dna_bigbird.core.paths import InputPath

if typing.TYPE_CHECKING:
    from dna_bigbird.bundles.bundle import Bundle

    # Declared: within the cycle of imports through the stub of the package mypy takes them for variables.
    ModelBundle: TypeAlias = Path | str | Bundle
    ModelBundles: TypeAlias = Sequence[Path | str | Bundle] | Path | str | Bundle
else:
    ModelBundle = InputPath
    """A bundle; Python callers may also give a loaded one."""
    ModelBundles = list[InputPath] | InputPath
