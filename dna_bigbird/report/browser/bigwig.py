"""The values of a bigWig file in some stretches of a genome."""

import math
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dna_bigbird.errors import InputError, note, shortened
from dna_bigbird.files import check_readable, check_utf8_name
from dna_bigbird.genome.chromosome_names import ChromosomeNames
from dna_bigbird.report.browser.extents import Extents


class Value(NamedTuple):
    """One value of a stretch of bases: 0-based, half-open."""

    chrom: str
    start: int
    end: int
    value: float
    """With as few digits as float32, the type in the file, needs."""


def read_values(path: Path, extents: Extents) -> list[Value]:
    """Return the values in the stretches, cut at their ends, sorted by position in each stretch.

    Values that are not finite are left out.

    Raises:
        InputError: If the file is missing, not a bigWig, or lacks a chromosome of the stretches.
    """
    import pyBigWig

    check_readable(path)
    check_utf8_name(path, "the library for bigWig files")
    try:
        file = pyBigWig.open(os.fspath(path))
    except RuntimeError as error:
        raise InputError(f"{path}: this is not a bigWig file, or it is damaged") from error
    with file:
        if not file.isBigWig():
            raise InputError(f"{path}: this is a bigBed file; expected a bigWig. Turn it into BED")
        lengths = file.chroms()
        names = {chrom: _name_in(lengths, chrom, path) for chrom in extents.spans}
        _note_other_lengths(path, lengths, names, extents)
        try:
            return [
                value
                for stretch in extents
                for value in _of_stretch(file, names[stretch.chrom], lengths, stretch)
            ]
        except RuntimeError as error:
            raise InputError(
                f"{path}: cannot read its values; it is damaged. Copy it again"
            ) from error


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


def _note_other_lengths(
    path: Path, lengths: dict[str, int], names: dict[str, str], extents: Extents
) -> None:
    for chrom, name in names.items():
        if lengths[name] != extents.genome.lengths[chrom]:
            note(
                f"{path}: {name} has {lengths[name]:,} bases in this file and {extents.genome.lengths[chrom]:,} in "
                f"{extents.genome.path.name}; is it on another assembly?"
            )
