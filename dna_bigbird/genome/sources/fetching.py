"""Fetching an input as its description says: one file, or a table of peak files."""

import csv
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome.sources.download import Progress, download
from dna_bigbird.genome.sources.local_copy import take_local
from dna_bigbird.genome.sources.specs import SAMPLE_COLUMNS, DataSpec, RemoteFile

Meter = Callable[[str], AbstractContextManager[Progress]]
"""Called with a file name; gives the progress of its download."""


def fetch_spec(spec: DataSpec, output: Path, local: Path | None, meter: Meter) -> list[str]:
    """Fetch everything a description names and return notes for the user.

    Args:
        output: The file; for a table of files the sample sheet, and the files are next to it.
        local: A copy on this machine; for a table of files the folder that holds them.

    Raises:
        InputError: As `download` and `take_local` do.
    """
    if not spec.is_sheet:
        sha256 = _fetch_one(spec.files[0], output, local, meter)
        return [] if spec.files[0].sha256 else [_unverified(spec, output, sha256)]
    if local is not None and not local.is_dir():
        raise InputError(f"{local}: expected the folder with the {len(spec.files)} files")
    for file in spec.files:
        target = output.parent / file.filename
        if not target.exists():  # a file under its final name is whole
            _fetch_one(file, target, local / file.filename if local else None, meter)
    write_samples(spec, output)
    unverified = sum(file.sha256 is None for file in spec.files)
    if not unverified:
        return []
    return [f"{output}: {unverified} of {len(spec.files)} files have no checksum in {spec.path}"]


def write_samples(spec: DataSpec, output: Path) -> None:
    """Write the sample sheet that `dna-bigbird chromatin-set` reads; paths are next to it."""
    with atomic_path(output) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(SAMPLE_COLUMNS)
        for file in spec.files:
            writer.writerow((*(file.labels or ("", "", "")), file.filename))


def _fetch_one(file: RemoteFile, output: Path, local: Path | None, meter: Meter) -> str:
    if local is not None:
        return take_local(file, local, output)
    with meter(file.filename) as progress:
        return download(file, output, progress=progress)


def _unverified(spec: DataSpec, output: Path, sha256: str) -> str:
    return (
        f"{output}: {spec.path} has no checksum to compare with; this file has sha256 {sha256}. "
        "Write it there once you have reason to trust it"
    )
