"""Taking over what a checkpoint has: a training state at the start, the best weights at the end."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.training.checkpoint_files import DamagedError, read_checkpoint
from dna_bigbird.training.checkpoints import Checkpoints
from dna_bigbird.training.objective import Objective


@contextlib.contextmanager
def whole_restore(resume_from: Path | None, keeper: Checkpoints) -> Iterator[None]:
    """Turn what Lightning raises while it takes a training state over into one line.

    Only a state of an earlier version gets there with a part missing; others have a checksum of
    their parts.

    Raises:
        InputError: If training could not begin from `resume_from`.
    """
    try:
        yield
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if resume_from is None or keeper.has_begun:
            raise
        raise InputError(
            f"{resume_from}: cannot continue from it: {_shortened(error)}. Move it to another "
            "folder, and the same command goes on from the state before"
        ) from error


def load_best(task: Objective, path: Path) -> None:
    """Give a task the best weights of its run, verified.

    Raises:
        InputError: If they are damaged or cannot be read now; the caller writes no model then.
    """
    try:
        weights = read_checkpoint(path)["state_dict"]
        try:
            task.cpu().load_state_dict(task.with_frozen(weights))
        except RuntimeError as error:
            raise DamagedError(f"{path}: damaged: {_shortened(error)}") from error
    except DamagedError as error:
        raise InputError(
            f"{error}. These are the best weights of the run, so no model was written. Start the "
            "same command again: it goes on from the newest state whose best weights are whole, or "
            "else from the beginning"
        ) from error


def _shortened(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
