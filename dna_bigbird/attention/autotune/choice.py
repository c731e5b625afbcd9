"""Choose a backend: from the environment, from what was measured before, or by measuring now."""

import contextlib
import functools
import hashlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from dna_bigbird.attention.autotune.measuring import Row
from dna_bigbird.attention.autotune.shape_class import Device, ShapeClass
from dna_bigbird.attention.kernels.native.build import cache_folder
from dna_bigbird.core.choices import OLD_CHOICES

VARIABLE = "DNA_BIGBIRD_ATTENTION_BACKEND"
"""Environment variable that names the backend which 'auto' is on a GPU."""
UNMEASURED = "gather"
"""Runs everywhere and compiles nothing."""
FORMAT = 1

logger = logging.getLogger("dna_bigbird")


@dataclass(frozen=True)
class Choice:
    """A backend and why it was taken."""

    backend: str
    why: str
    rows: tuple[Row, ...] = ()
    """What was measured, now or before."""


def choose(
    shape: ShapeClass,
    device: Device,
    measured: Callable[[ShapeClass], list[Row]] | None,
) -> Choice:
    """Return the backend for a class of problems on a GPU.

    Args:
        measured: Times the backends, if nothing was kept. None for work that would take no longer
            than measuring: without a kept choice it is 'gather'.
    """
    if named := _named():
        return Choice(named, f"{VARIABLE} names it")
    rows = read(shape, device)
    if rows is not None:
        return _fastest(rows, "was the fastest when it was measured here")
    if measured is None:
        return Choice(UNMEASURED, "nothing was measured here; dna-bigbird doctor --measure does it")
    rows = measured(shape)
    keep(shape, device, rows)
    return _fastest(rows, "is the fastest here")


def _fastest(rows: list[Row], how: str) -> Choice:
    running = [row for row in rows if row.seconds is not None]
    if not running:
        return Choice(UNMEASURED, "no backend could be measured", tuple(rows))
    for row in rows:
        if row.seconds is None:
            logger.warning("attention backend %s does not run here: %s", row.backend, row.reason)
    return Choice(min(running, key=lambda row: row.seconds).backend, how, tuple(rows))


def _named() -> str | None:
    name = os.environ.get(VARIABLE)
    return OLD_CHOICES.get(name, name)


def kept(shape: ShapeClass) -> str:
    """Return the backend of 'auto' for a call that must not measure: inside a step, or a short one."""
    return _named() or _kept(shape, Device.here(), str(cache_folder()))


@functools.lru_cache(maxsize=256)
def _kept(shape: ShapeClass, device: Device, _: str) -> str:
    return choose(shape, device, None).backend


def path_of(shape: ShapeClass, device: Device) -> Path:
    """Return the file that holds what was measured, one for each class and device."""
    text = json.dumps([FORMAT, asdict(device), asdict(shape)])
    return cache_folder() / "attention" / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"


def read(shape: ShapeClass, device: Device) -> list[Row] | None:
    """Return what was measured before; None if nothing was, or the file is damaged."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        return [Row(*row) for row in json.loads(path_of(shape, device).read_text())["rows"]]
    return None


def keep(shape: ShapeClass, device: Device, rows: list[Row]) -> None:
    """Keep a measurement; where the cache cannot be written, the next run measures again."""
    path = path_of(shape, device)
    content = {"device": asdict(device), "shape": asdict(shape), "rows": rows}
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(content, indent=2) + "\n")
        partial.replace(path)
    except OSError as error:
        logger.warning("%s: cannot keep what was measured: %s", path, error.strerror or error)
    _kept.cache_clear()
