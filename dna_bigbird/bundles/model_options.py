"""Options that name models; imports no torch."""

import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.shared_options import Doc

if typing.TYPE_CHECKING:
    from dna_bigbird.bundles.bundle import Bundle

    # Declared: within the cycle of imports through the stub of the package mypy takes them for variables.
    ModelBundle: TypeAlias = Path | str | Bundle
    ModelBundles: TypeAlias = Sequence[Path | str | Bundle] | Path | str | Bundle
    AveragedModels: TypeAlias = ModelBundles | None
else:
    ModelBundle = InputPath
    """A bundle; Python callers may also give a loaded one."""
    ModelBundles = list[InputPath] | InputPath
    AveragedModels = Annotated[
        ModelBundles | None,
        Doc(
            "Model bundle: several (--model A B) give the mean of their probabilities. Default: the bundled model."
        ),
    ]
