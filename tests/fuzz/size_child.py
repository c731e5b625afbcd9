"""Puts huge numbers into a config.json, one after the other, and runs a command on each, with little memory.

`python -m tests.fuzz.size_child CONFIG WRITTEN COMMAND …`: every whole number of CONFIG becomes each of
`HUGE`; WRITTEN is removed after each run. Prints how many were refused and how many were accepted.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import torch  # noqa: F401 - loaded before the limit is set

from tests.fuzz.harness import run
from tests.limited_memory import limit_memory

HUGE = (2**31 - 1, 10**6)
MEBIBYTES = 700
NO_MEMORY = "not enough memory"
"""The line of a size that was believed."""


def whole_numbers(value: object, path: tuple = ()) -> Iterator[tuple]:
    """Yield the place of every whole number of a JSON value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from whole_numbers(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from whole_numbers(item, (*path, number))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path


def replaced(text: str, path: tuple, number: int) -> str:
    """Return a JSON text with another number at a place."""
    value = json.loads(text)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = number
    return json.dumps(value)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def main() -> None:
    config, written, command = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    text = config.read_text()
    assert run(*command, reports=True).status == 0, "the unchanged config"
    remove(written)
    limit_memory(MEBIBYTES)
    statuses = []
    for path in whole_numbers(json.loads(text)):
        for number in HUGE:
            config.write_text(replaced(text, path, number))
            print(f"{'.'.join(map(str, path))} {number}", file=sys.stderr, flush=True)
            outcome = run(*command, reports=True)
            assert NO_MEMORY not in outcome.error, outcome.error
            assert outcome.status == 0 or not written.exists()
            remove(written)
            statuses.append(outcome.status)
    print(json.dumps({"refused": statuses.count(2), "accepted": statuses.count(0)}))


if __name__ == "__main__":
    main()
