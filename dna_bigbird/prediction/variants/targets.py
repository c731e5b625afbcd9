"""Where the scores of variants go: files and their formats."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dna_bigbird.core.choices import check_fields, checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.suffixes import Form, check_known
from dna_bigbird.core.writing import check_can_write
from dna_bigbird.prediction.variants.writers import (
    AnnotatingWriter,
    Origin,
    TableWriter,
    VariantWriter,
    Write,
    open_output,
)

STDOUT = "-"
VCF_ENDINGS = (".vcf", ".vcf.gz")
TABLES: dict[str, str] = {".tsv": "tsv", ".txt": "tsv", ".csv": "csv"}
Format = Literal["tsv", "csv", "vcf"]


@dataclass(frozen=True)
class VariantTarget:
    """One file to write, or standard output (`path` None)."""

    path: Path | None
    format: Format

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def is_indexed(self) -> bool:
        """Whether it is compressed and gets an index."""
        return self.path is not None and self.path.suffix == ".gz"


@checked()
def choose_targets(
    output: Path | str | None, format: Format | None, tsv: Path | str | None
) -> list[VariantTarget]:
    """Return the files to write, `output` first; none if it is None.

    Raises:
        InputError: If names and formats contradict each other.
    """
    if output is None:
        if tsv is not None:
            raise InputError("--tsv names a second file; name the first one with --output")
        return []
    path = None if str(output) == STDOUT else Path(output)
    has_vcf_name = path is not None and path.name.endswith(VCF_ENDINGS)
    if path is not None and format == "vcf" and not has_vcf_name:
        raise InputError(f"--output {path}: the name of a VCF file ends in .vcf or .vcf.gz")
    if path is None:
        format = format or "tsv"
    elif format is None and has_vcf_name:
        format = "vcf"
    elif format != "vcf":
        format = _table_format("--output", path, format)
    targets = [VariantTarget(path, format)]
    if tsv is not None:
        if format != "vcf":
            raise InputError(
                "--tsv is a table in addition to an annotated VCF; --output is a table already"
            )
        _table_format("--tsv", Path(tsv), "tsv")
        targets.append(VariantTarget(Path(tsv), "tsv"))
    return targets


def _table_format(option: str, path: Path, format: str | None) -> str:
    """Return the format of a table: the one named, or else that of the suffix.

    Raises:
        InputError: If the suffix is that of another format.
    """
    if path.suffix == ".gz" or path.name.endswith(VCF_ENDINGS):
        raise InputError(f"{option} {path}: a table is plain text; end its name in .tsv or .csv")
    check_known(option, path, (*TABLES, *VCF_ENDINGS), format)
    format = format or TABLES.get(path.suffix.lower(), "tsv")
    Form(format.upper(), (f".{format}",)).check(option, path)
    return format


def check_targets(targets: Sequence[VariantTarget]) -> None:
    """Raise OutputError early for a file that cannot be written."""
    for target in targets:
        if target.path:
            check_can_write(target.path)


@contextlib.contextmanager
def open_writers(
    targets: Sequence[VariantTarget],
    *,
    labels: Sequence[str],
    columns: Sequence[str],
    origin: Origin,
    longest_bp: int,
) -> Iterator[list[VariantWriter]]:
    """Open all targets; each file is whole or absent.

    Args:
        columns: Which effects a table has for every label.
        longest_bp: Length of the longest chromosome.

    Raises:
        OutputError: If one cannot be written.
    """
    with contextlib.ExitStack() as stack:
        writers: list[VariantWriter] = []
        for target in targets:
            write: Write = sys.stdout.write
            if target.path is not None:
                write = stack.enter_context(open_output(target.path, longest_bp))
            if target.format == "vcf":
                writers.append(AnnotatingWriter(write, labels, origin))
            else:
                writers.append(TableWriter(write, labels, columns, target.format))
        yield writers
