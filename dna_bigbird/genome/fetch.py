"""`dna-bigbird fetch`."""

import csv
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, OutputPath
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import Written
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome.sources.download import Progress, download, take_local
from dna_bigbird.genome.sources.specs import SAMPLE_COLUMNS, DataSpec, RemoteFile

Meter = Callable[[str], AbstractContextManager[Progress]]
"""Called with a file name; gives the progress of its download."""


def fetch_spec(spec: DataSpec, output: Path, local: Path | None, meter: Meter) -> list[str]:
    """Fetch all that a description names (files of a table next to its sheet); return notes."""
    if not spec.is_sheet:
        sha256 = _fetch_one(spec.files[0], output, local, meter)
        if spec.files[0].sha256:
            return []
        return [
            f"{output}: {spec.path} has no checksum to compare with; this file has sha256 {sha256}. "
            "Write it there once you have reason to trust it"
        ]
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


@checked()
def fetch(spec: InputPath, output: OutputPath, local: InputPath | None = None) -> Written:
    """Download one input named in data_specs/, or take a local copy, and verify it.

    An interrupted download continues where it stopped.

    Examples:
        dna-bigbird fetch --spec hg38_to_hg19_chain --output hg38_to_hg19.chain.gz
        dna-bigbird fetch --spec hg38_to_hg19_chain --local hg38ToHg19.over.chain.gz \\
            --output hg38_to_hg19.chain.gz

    Args:
        spec: Description of the input: a name in data_specs/, such as hg38_to_hg19_chain, or the
            path of a YAML file.
        output: Result to write: the file. For a table of peak files: the sample sheet; the files go
            into its folder.
        local: Copy on this machine to take instead (no network): a file; for a table of peak
            files the folder that has them.
    """
    import contextlib

    from dna_bigbird.core.errors import note
    from dna_bigbird.genome.sources.specs import find_spec, read_spec

    @contextlib.contextmanager
    def meter(name: str):
        with progress_bar(desc=name, unit="B", unit_scale=True) as bar:

            def show(present: int, total: int | None) -> None:
                bar.total = total
                bar.update(present - bar.n)

            yield show

    is_name = spec.name == str(spec) and not spec.suffix and not spec.exists()
    described = read_spec(find_spec(spec.name) if is_name else spec)
    for line in fetch_spec(described, output, local, meter):
        note(line)
    return Written(output)
