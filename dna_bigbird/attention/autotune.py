"""Choose a backend: from the environment, from what was measured before, or by measuring now."""

import contextlib
import functools
import hashlib
import json
import logging
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from dna_bigbird.attention.kernels.native.build import cache_folder
from dna_bigbird.core.choices import OLD_CHOICES

DRIVER = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True)
class Device:
    """What a choice of backend is kept for: with any other, it is measured again."""

    name: str
    driver: str
    torch: str

    @classmethod
    def here(cls) -> "Device":
        """Return the GPU that PyTorch computes on now."""
        return cls(torch.cuda.get_device_name(), driver_version(), torch.__version__)


def driver_version(path: Path = DRIVER) -> str:
    """Return the version of the NVIDIA driver, or what CUDA PyTorch was built for if it is unknown."""
    try:
        match = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", path.read_text())
    except OSError:
        match = None
    return match[0] if match else f"CUDA {torch.version.cuda}"


SHORTEST = 128
"""Tokens of the shortest class."""


@dataclass(frozen=True)
class ShapeClass:
    """What the speed of a backend is measured for."""

    dtype: str
    """As of PyTorch: 'bfloat16'."""
    head_dim: int
    block_size: int
    tokens: int
    """A power of two; of sequences up to this length and longer than half of it."""
    training: bool
    """Forward and backward, or forward only."""

    @classmethod
    def of(
        cls, dtype: torch.dtype, head_dim: int, block_size: int, num_tokens: int, training: bool
    ) -> "ShapeClass":
        """Return the class of a problem.

        Example:
            >>> print(ShapeClass.of(torch.bfloat16, 64, 64, 3000, training=False))
            bfloat16, heads of 64, blocks of 64, up to 4,096 tokens, forward
        """
        tokens = max(1 << (max(num_tokens, 1) - 1).bit_length(), SHORTEST)
        return cls(str(dtype).removeprefix("torch."), head_dim, block_size, tokens, training)

    def __str__(self) -> str:
        mode = "forward and backward" if self.training else "forward"
        return (
            f"{self.dtype}, heads of {self.head_dim}, blocks of {self.block_size}, up to "
            f"{self.tokens:,} tokens, {mode}"
        )


# --- Time the backends on a problem of one class, whatever computes it ---

DENSE_UP_TO = 1024
"""Tokens: above, the whole score matrix is never the fastest."""

Call = Callable[[], object]
Make = Callable[[str, ShapeClass], Call]
Timer = Callable[[Call], float]


class Row(NamedTuple):
    """One backend."""

    backend: str
    seconds: float | None
    """Of one call; None if it does not run."""
    reason: str = ""
    """Why it does not, in one line."""


def candidates(shape: ShapeClass) -> list[str]:
    """Return the backends that are tried on a GPU."""
    names = ["triton", "flex", "gather"]
    return [*names, "dense"] if shape.tokens <= DENSE_UP_TO else names


def measure(shape: ShapeClass, make: Make, timer: Timer) -> list[Row]:
    """Return the seconds of a call of each backend, fastest first; last those that do not run."""
    rows = []
    for backend in candidates(shape):
        try:
            rows.append(Row(backend, timer(make(backend, shape))))
        except Exception as error:  # compilers raise any kind
            rows.append(Row(backend, None, first_line(error)))
    return sorted(rows, key=lambda row: (row.seconds is None, row.seconds))


def first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


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
    """Return the backend for a class of problems on a GPU."""
    # `measured` is None for work that would take no longer than measuring.
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
