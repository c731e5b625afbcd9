"""The values of a bigWig file in some stretches of a genome."""

import functools
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dna_bigbird.core.child_processes import StoppedWorkerError, Workers
from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.files import check_readable, check_utf8_name
from dna_bigbird.genome.chromosome_names import ChromosomeNames
from dna_bigbird.genome.interval import Interval
from dna_bigbird.report.browser.extents import Extents

MOST_CPU_S = 60
"""Processor seconds for one file; the stretches of a page take less than one."""


class Value(NamedTuple):
    """One value of a stretch of bases: 0-based, half-open."""

    chrom: str
    start: int
    end: int
    value: float
    """With as few digits as float32, the type in the file, needs."""


Task = tuple[Path, list[Interval]]


def read_values(path: Path, extents: Extents) -> list[Value]:
    """Return the values in the stretches, cut at their ends, sorted by position in each stretch.

    Values that are not finite are left out.

    Raises:
        InputError: If the file is missing, not a bigWig, or lacks a chromosome of the stretches.
    """
    check_readable(path)
    check_utf8_name(path, "the library for bigWig files")
    try:
        ((lengths, values),) = _reader().map([(path, list(extents))])
    except InputError as error:
        _reader.cache_clear()  # a process that failed reads no further file
        if isinstance(error, StoppedWorkerError):
            raise _damaged(path) from error
        raise
    _note_other_lengths(path, lengths, extents)
    return values


@functools.cache
def _reader() -> Workers[Task, tuple[dict[str, int], list[Value]]]:
    """Return a process that reads bigWig files: the library dies of some that are damaged."""
    return Workers(_in_process, 1, does="reads bigWig files")


def _in_process(number: int) -> Callable[[Task], tuple[dict[str, int], list[Value]]]:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # the library prints there
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    return _read


def _read(task: Task) -> tuple[dict[str, int], list[Value]]:
    """Return the lengths of the chromosomes by the genome's names, and the values in the stretches."""
    import pyBigWig

    path, stretches = task
    last_s = int(time.process_time()) + MOST_CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (last_s, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    try:
        file = pyBigWig.open(os.fspath(path))
    except RuntimeError as error:
        raise InputError(f"{path}: this is not a bigWig file, or it is damaged") from error
    with file:
        if not file.isBigWig():
            raise InputError(f"{path}: this is a bigBed file; expected a bigWig. Turn it into BED")
        known = file.chroms()
        names = {x.chrom: _name_in(known, x.chrom, path) for x in stretches}
        try:
            values = [
                value
                for stretch in stretches
                for value in _of_stretch(file, names[stretch.chrom], known, stretch)
            ]
        except (RuntimeError, MemoryError) as error:
            raise _damaged(path) from error
    return {chrom: known[name] for chrom, name in names.items()}, values


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: cannot read its values; it is damaged. Copy it again")


def _of_stretch(file, name: str, lengths: dict[str, int], stretch) -> list[Value]:
    end = min(stretch.end, lengths[name])
    if stretch.start >= end:
        return []
    rows = file.intervals(name, stretch.start, end) or ()
    return [
        Value(
            stretch.chrom, max(first, stretch.start), min(last, end), float(str(np.float32(value)))
        )
        for first, last, value in rows
        if math.isfinite(value)
    ]


def _name_in(lengths: dict[str, int], chrom: str, path: Path) -> str:
    """Return the file's name of a chromosome of the genome."""
    name = ChromosomeNames(lengths).find(chrom)
    if name:
        return name
    some = ", ".join(map(shortened, list(lengths)[:5])) + (", …" if len(lengths) > 5 else "")
    raise InputError(
        f"{path}: chromosome {shortened(chrom)!r} is not in this bigWig file (it has {some}). Is it on another assembly?"
    )


def _note_other_lengths(path: Path, lengths: dict[str, int], extents: Extents) -> None:
    for chrom, length in lengths.items():
        if length != extents.genome.lengths[chrom]:
            note(
                f"{path}: {chrom} has {length:,} bases in this file and {extents.genome.lengths[chrom]:,} in "
                f"{extents.genome.path.name}; is it on another assembly?"
            )
