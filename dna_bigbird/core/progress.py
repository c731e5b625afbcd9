"""Progress bars: on a terminal and in a notebook; a pipe, a log file or a script's output has none."""

import contextlib
import functools
import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from tqdm import tqdm

TICK_S = 1.0
NOTEBOOK_COLUMNS = 110
"""A notebook does not tell its width."""
Function = TypeVar("Function", bound=Callable)

_shown: ContextVar[bool] = ContextVar("shown", default=True)


def is_shown() -> bool:
    """Return False within a call that was asked for no progress."""
    return _shown.get()


@contextlib.contextmanager
def progress_shown(shown: bool) -> Iterator[None]:
    """Show the progress bars of a block, or none of them."""
    before = _shown.set(shown and is_shown())
    try:
        yield
    finally:
        _shown.reset(before)


def shows_progress(function: Function) -> Function:
    """Make a decorator's function: its argument `progress` decides whether bars are shown."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        with progress_shown(bound.arguments["progress"]), warnings.catch_warnings():
            # Of a library that looks for widgets, which our bars do not need.
            warnings.filterwarnings("ignore", message="IProgress not found")
            return function(*args, **kwargs)

    return cast(Function, call)


def progress_bar(items: Iterable | None = None, **options: Any) -> "tqdm":
    """Return a bar of `tqdm` with these options, shown as `progress_shown` and the output decide."""
    from tqdm import tqdm

    if not is_shown():
        options["disable"] = True
    elif not options.get("disable"):
        options |= _output()
    return tqdm(items, **options)


@contextlib.contextmanager
def ticking(bar: "tqdm") -> Iterator[None]:
    """Redraw a bar every second in a block whose items take minutes each, so that its time goes on."""
    is_done = threading.Event()

    def tick() -> None:
        while not is_done.wait(TICK_S):
            bar.refresh()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


def in_notebook() -> bool:
    """Return True in the kernel of a notebook, which shows bars though its streams have no terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def _output() -> dict[str, object]:
    # A notebook shows standard error on red.
    if in_notebook():
        return {"disable": False, "file": sys.stdout, "ncols": NOTEBOOK_COLUMNS}
    return {"disable": None}
