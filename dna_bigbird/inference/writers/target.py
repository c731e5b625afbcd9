"""Where predictions go: which format, into which file or folder, and who writes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dna_bigbird.choices import check_fields, checked
from dna_bigbird.errors import InputError
from dna_bigbird.inference.spool_file import Spool
from dna_bigbird.inference.writers.base import WriteContext, Writer, check_replaceable
from dna_bigbird.writing import check_can_write

Format = Literal["tsv", "bed", "bigwig", "hdf5"]
SUFFIXES: dict[str, Format] = {
    ".tsv": "tsv", ".txt": "tsv", ".bed": "bed", ".bw": "bigwig", ".bigwig": "bigwig",
    ".h5": "hdf5", ".hdf5": "hdf5",
}  # fmt: skip
TRACKS = ("bed", "bigwig")
"""Formats with one value per base and label: windows that overlap are averaged."""
COMPRESSED = (".gz", ".bgz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True)
class Target:
    """A file to write in a format; with `folder`, a folder."""

    path: Path
    format: Format
    folder: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def is_track(self) -> bool:
        """Whether overlapping windows are averaged."""
        return self.format in TRACKS

    def check_labels(self, names: Sequence[str]) -> None:
        """Raise InputError for several labels in one bigWig file, with the way to write them."""
        if self.format == "bigwig" and not self.folder and len(names) > 1:
            raise InputError(
                f"{self.path}: a bigWig file holds one label, and these are {len(names)}; choose one "
                "with --labels, or name a folder: --format bigwig --output tracks"
            )


def write(target: Target, spool: Spool, context: WriteContext) -> None:
    """Write finished rows (frames of `frame_of`), whole or not at all.

    Raises:
        OutputError: If the disk is full.
    """
    writer_of(target)(target.path, spool, context)


def writer_of(target: Target) -> Writer:
    """Return the writer of a format; its libraries are imported only now."""
    if target.format == "tsv":
        from dna_bigbird.inference.writers.tsv import write_tsv

        return write_tsv
    if target.format == "bed":
        from dna_bigbird.inference.writers.bed import write_bed

        return write_bed
    if target.format == "hdf5":
        from dna_bigbird.inference.writers.hdf5 import write_hdf5

        return write_hdf5
    from dna_bigbird.inference.writers.bigwig import write_bigwig, write_bigwig_folder

    return write_bigwig_folder if target.folder else write_bigwig


@checked()
def chosen_target(output: Path | str, format: Format | None = None) -> Target:
    """Return the file that `output` and `format` describe; unknown suffixes are TSV.

    Raises:
        InputError: If they contradict each other, or the file cannot be written.
    """
    path = Path(output)
    suffix = path.suffix.lower()
    if suffix in COMPRESSED:
        raise InputError(
            f"--output {path}: files are written uncompressed; leave out {path.suffix} and compress "
            "the file afterwards"
        )
    by_name = SUFFIXES.get(suffix)
    check_same_format(path, by_name, format)
    chosen = format or by_name or "tsv"
    folder = chosen == "bigwig" and by_name != "bigwig"
    check_can_write(path, folder=folder)
    if folder:
        check_replaceable(path)
    return Target(path, chosen, folder)


def check_same_format(path: Path, by_name: str | None, format: str | None) -> None:
    """Raise InputError if the suffix of an output and `format` name two formats."""
    if format and by_name and format != by_name:
        raise InputError(
            f"--output {path} has the suffix of {by_name}, but --format is {format}; change one of them"
        )
