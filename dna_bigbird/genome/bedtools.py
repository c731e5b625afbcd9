"""Operations of bedtools, by pybedtools: a cross-check of what `coverage` and the splits compute.

The program is optional: ask `has_bedtools` first. Everything is 0-based and half-open. Files are
written to a temporary folder, which is always removed.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError

HOW_TO_INSTALL = "apt-get install bedtools, or conda install -c bioconda bedtools"


def has_bedtools() -> bool:
    """Return whether the program bedtools can be run."""
    return shutil.which("bedtools") is not None


def check_has_bedtools(option: str) -> None:
    """Raise InputError if an option of the user needs bedtools and it is not there."""
    if not has_bedtools():
        raise InputError(
            f"{option} needs the program bedtools, which is not on the PATH: {HOW_TO_INSTALL}; "
            "everything else works without it"
        )


def most_shared_bp(
    chrom: NDArray[np.int64],
    start: NDArray[np.int64],
    other_chrom: NDArray[np.int64],
    other_start: NDArray[np.int64],
    length_bp: int,
) -> NDArray[np.int64]:
    """Return for n windows of one length the most bases shared with one of m others, (n,)."""
    shared = np.zeros(len(start), dtype=np.int64)
    if not len(start) or not len(other_start):
        return shared
    lowest = min(start.min(), other_start.min())  # bedtools takes no negative positions
    with _folder() as folder:
        query = _write_windows(folder / "query.bed", chrom, start - lowest, length_bp)
        others = _write_windows(folder / "others.bed", other_chrom, other_start - lowest, length_bp)
        some, largest = folder / "some.bed", folder / "largest.tsv"
        _run(lambda bed: bed(query).intersect(others, u=True, sorted=True, output=str(some)))
        if not some.stat().st_size:
            return shared
        # Piped: where windows overlap a hundredfold, pairs are too many to be written.
        pairs = _run(
            lambda bed: bed(str(some)).intersect(others, wo=True, sorted=True, stream=True)
        )
        _run(lambda _: pairs.groupby(g=4, c=9, o="max", output=str(largest)))
        row, bp = _numbers(largest, (0, 1)).T
    shared[row] = bp
    return shared


def mostly_covered_bins(
    peaks: Iterable[tuple[int, int, int, int]],
    bin_chrom: NDArray[np.int64],
    bin_start: NDArray[np.int64],
    bin_bp: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs (bin, label): the label's merged peaks cover more than half of the bin."""
    nothing = np.empty(0, dtype=np.int64)
    with _folder() as folder:
        raw, merged = folder / "peaks.bed", folder / "merged.bed"
        with open(raw, "w", encoding="utf-8") as stream:
            # A chromosome of its own for each label, so that all are merged by one call.
            for label, chrom, start, end in peaks:
                stream.write(f"{label:08d}c{chrom:08d}\t{start}\t{end}\n")
        if not raw.stat().st_size or not len(bin_start):
            return nothing, nothing
        _run(lambda bed: bed(str(raw)).sort(output=str(folder / "sorted.bed")))
        _run(lambda bed: bed(str(folder / "sorted.bed")).merge(output=str(merged)))
        named, overlaps = folder / "named.bed", folder / "overlaps.tsv"
        with open(merged, encoding="utf-8") as lines, open(named, "w", encoding="utf-8") as stream:
            for line in lines:
                key, start, end = line.split()
                label, _, chrom = key.partition("c")
                stream.write(f"c{chrom}\t{start}\t{end}\t{label}\n")
        bins = _write_windows(folder / "bins.bed", bin_chrom, bin_start, bin_bp)
        _run(lambda bed: bed(str(named)).intersect(bins, wo=True, output=str(overlaps)))
        label, bin_number, bp = _numbers(overlaps, (3, 7, 8)).T
    pair, where = np.unique(np.stack([bin_number, label]), axis=1, return_inverse=True)
    covered = np.bincount(where.ravel(), weights=bp, minlength=pair.shape[1])
    bin_number, label = pair[:, 2 * covered > bin_bp]
    return bin_number, label


def _write_windows(
    path: Path, chrom: NDArray[np.int64], start: NDArray[np.int64], length_bp: int
) -> str:
    """Write windows as BED, sorted, with their places in the arrays as names; return the path."""
    with open(path, "w", encoding="utf-8") as stream:
        for i in np.lexsort((start, chrom)).tolist():
            stream.write(f"c{chrom[i]:08d}\t{start[i]}\t{start[i] + length_bp}\t{i}\n")
    return str(path)


def _numbers(path: Path, columns: tuple[int, ...]) -> NDArray[np.int64]:
    """Read columns of whole numbers, (rows, columns)."""
    if not path.stat().st_size:
        return np.empty((0, len(columns)), dtype=np.int64)
    return np.loadtxt(path, dtype=np.int64, delimiter="\t", usecols=columns, ndmin=2)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Yield a temporary folder; pybedtools writes only there if it is given the folder."""
    with tempfile.TemporaryDirectory(prefix="dna-bigbird-bedtools-") as folder:
        yield Path(os.fsdecode(folder))


def _run(operation: Callable):
    """Call an operation of pybedtools; InputError with the reason if bedtools fails."""
    import pybedtools  # which looks for the program while it is loaded

    try:
        return operation(pybedtools.BedTool)
    except (pybedtools.helpers.BEDToolsError, NotImplementedError, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"bedtools, which checks results a second time, failed: {reason[-300:]}. "
            f"Is the disk full, or the program an old one (2.30 is tested)? {HOW_TO_INSTALL}"
        ) from error
