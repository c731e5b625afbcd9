"""`dna-bigbird` that sends itself a signal when a function is called: no clock tells the moment.

    SIGNALLED="SIGTERM dna_bigbird.training.fit:load_best 1 1" python tests/signalled.py pretrain …

sends it once at the first call, before the function does anything; of several processes the first does.
"""

import functools
import importlib
import os
import signal
from collections.abc import Callable
from typing import Any

VARIABLE, RANK = "SIGNALLED", "SIGNALLED_RANK"


def signalled(function: Callable, number: int, call: int, times: int = 1) -> Callable:
    """Return a function that sends the signal to this process at its `call`-th call, from 1."""
    calls = 0

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            for _ in range(times):
                os.kill(os.getpid(), number)
        return function(*arguments, **options)

    return wrapper


def place_of(name: str) -> tuple[Any, str]:
    """Return the module or class, and the attribute, of `module:Class.method`."""
    module, _, path = name.partition(":")
    owner: Any = importlib.import_module(module)
    *classes, attribute = path.split(".")
    for each in classes:
        owner = getattr(owner, each)
    return owner, attribute


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    if os.environ.get("LOCAL_RANK", "0") == os.environ.get(RANK, "0"):
        name, place, *counts = os.environ[VARIABLE].split()
        owner, attribute = place_of(place)
        function = getattr(owner, attribute)
        setattr(
            owner, attribute, signalled(function, signal.Signals[name], *(int(x) for x in counts))
        )
    from dna_bigbird.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
