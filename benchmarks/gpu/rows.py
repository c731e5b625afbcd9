"""Rows of measurements that are saved one by one, so that a call which is cut loses one at most.

A part is a list of rows with one file, DIR/part_a.json. A row that fails is saved with its reason, and
the others go on. A row during which the process ended is tried again in the next call, once.
"""

import datetime
import gc
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from benchmarks.lib.timing import reason
from dna_bigbird.core.writing import atomic_path, json_text

OUT_OF_TIME = "out of time"
TRIES = 2
Values = dict[str, str | int | float | bool | None]


@dataclass(frozen=True)
class Row:
    """One row of a part's table."""

    key: Values
    """Its first columns; they distinguish it."""
    measure: Callable[[], Values]
    """Returns the other columns."""
    expected_s: float = 0.0
    """What it probably takes: it does not begin if less time is left."""
    priority: int = 1
    """Rows of 1 run first, in all parts."""


@dataclass
class Part:
    """What is saved of a part."""

    letter: str
    path: Path
    settings: dict
    machine: dict
    done: list[dict] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    @classmethod
    def open(cls, letter: str, folder: Path, settings: dict, machine: dict) -> "Part":
        """Read the rows that were saved with the same settings on such a machine."""
        part = cls(letter, folder / f"part_{letter}.json", settings, machine)
        stored = json.loads(part.path.read_text()) if part.path.is_file() else {}
        expected = json.loads(json_text({"settings": settings, "versions": machine["versions"]}))
        if all(stored.get(name) == value for name, value in expected.items()):
            part.done = stored["rows"]
        return part

    def saved(self, row: Row) -> dict | None:
        """Return what is saved of a row, or None if it is to be run."""
        entry = self._entry(row)
        if entry is None or (entry.get("started") and entry["started"] < TRIES):
            return None
        return entry

    @property
    def is_complete(self) -> bool:
        """True if no row is left to run."""
        return all(self.saved(row) for row in self.rows)

    def _entry(self, row: Row) -> dict | None:
        key = json.loads(json.dumps(row.key))
        return next((entry for entry in self.done if entry["key"] == key), None)

    def save(self, row: Row, **values: object) -> None:
        """Save a row, in place of what was saved of it before."""
        before = self._entry(row)
        entry = {"key": row.key, **values}
        if before is None:
            self.done.append(entry)
        else:
            self.done[self.done.index(before)] = entry
        self._write()

    def _write(self) -> None:
        versions = self.machine["versions"]
        text = {"part": self.letter, "settings": self.settings, "versions": versions}
        text |= {"rows": self.done}
        with atomic_path(self.path) as path:
            path.write_text(json_text(text))

    def tries(self, row: Row) -> int:
        """Return how often the process ended while the row ran."""
        return (self._entry(row) or {}).get("started", 0)


def run_rows(
    parts: Iterable[Part],
    deadline: float,
    report: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Run the rows that are not saved, important ones first, as long as there is time.

    Args:
        deadline: Reading of `clock` after which nothing begins.
    """
    waiting = [(part, row) for part in parts for row in part.rows if not part.saved(row)]
    for part, row in sorted(waiting, key=lambda pair: pair[1].priority):
        name = f"({part.letter}) {', '.join(f'{k} {v}' for k, v in row.key.items())}"
        if clock() + row.expected_s >= deadline:
            report(f"{name}: not run: {OUT_OF_TIME}")
            continue
        part.save(row, started=part.tries(row) + 1)
        began_at = clock()
        values = _measured(row)
        spent_s = round(clock() - began_at, 1)
        now = datetime.datetime.now(datetime.UTC)
        at = {"at": f"{now:%Y-%m-%d %H:%M}", "commit": part.machine["commit"]}
        part.save(row, **values, seconds=spent_s, **at)
        report(f"{name}: {values.get('failed', 'done')} ({spent_s} s)")
        if not _device_answers():
            report("the device gives errors after this row; call again for the rest")
            return


def _measured(row: Row) -> dict:
    """Return the values of a row, or why it failed."""
    try:
        return {"values": row.measure()}
    except Exception as error:  # any: a kernel that does not compile has errors of its own
        return {"failed": f"{type(error).__name__}: {reason(error)}"}


def _device_answers() -> bool:
    """Free what a row took of the GPU; return False if the GPU is lost to this process.

    It is after an illegal memory access, for instance.
    """
    if torch.cuda.is_available():
        gc.collect()
        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except RuntimeError:
            return False
    return True
