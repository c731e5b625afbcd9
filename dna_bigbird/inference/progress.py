"""A progress bar on standard error, only if that is a terminal."""

import contextlib
from collections.abc import Callable, Iterator

from tqdm import tqdm


@contextlib.contextmanager
def progress_bar(
    shown: bool, total: int | None, done: int = 0, unit: str = "windows"
) -> Iterator[Callable[[int], object]]:
    """Yield a function to call with the number of items finished since the last call.

    Args:
        shown: False draws nothing anywhere (the Python API's default).
        total: Number of items, for the remaining time; None if unknown.
        done: Items that an interrupted run had finished.
    """
    with tqdm(
        total=total, initial=done, unit=f" {unit}", smoothing=0.05, disable=None if shown else True
    ) as bar:
        yield bar.update
