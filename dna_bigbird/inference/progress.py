"""How far a long run is: a bar on standard error, and only on a terminal."""

import contextlib
from collections.abc import Callable, Iterator

from tqdm import tqdm


@contextlib.contextmanager
def progress_bar(
    shown: bool, total: int | None, done: int = 0, unit: str = "windows"
) -> Iterator[Callable[[int], object]]:
    """Yield a function that is told how many more are done.

    Args:
        shown: False draws nothing anywhere (the Python API's default).
        total: How many there will be, for the remaining time; None if nobody knows.
        done: How many an interrupted run had finished.
    """
    with tqdm(
        total=total, initial=done, unit=f" {unit}", smoothing=0.05, disable=None if shown else True
    ) as bar:
        yield bar.update
