"""What `predict` and `embed` read: the source of windows for their arguments, and checksums."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError, shortened
from dna_bigbird.files import sha256_of
from dna_bigbird.inference.windows.bed import BedSource
from dna_bigbird.inference.windows.fasta import Coordinates, FastaSource
from dna_bigbird.inference.windows.source import SequenceSource, WindowSource


def check_lengths(**lengths_bp: int | None) -> None:
    """Raise InputError for a window or stride below 1; None stands for the model's own."""
    for name, value in lengths_bp.items():
        if value is not None and value < 1:
            raise InputError(f"--{name} {value}: expected at least 1")


@checked()
def window_source(
    fasta: Path | str | None,
    bed: Path | str | None,
    sequences: Mapping[str, str] | None,
    *,
    window: int,
    stride: int,
    strand: Literal["both", "forward", "interval"] = "both",
    coordinates: Coordinates = "record",
) -> WindowSource:
    """Return the windows of a FASTA file, of intervals of it, or of sequences in memory.

    Raises:
        InputError: If there is no DNA, or two sources of it, or the options contradict each other.
    """
    tiles = {"window_bp": window, "stride_bp": stride}
    if strand == "interval" and bed is None:
        raise InputError("--strand interval is that of column 6 of a --bed file; none was given")
    check_is_a_file(fasta)
    if (fasta is None) == (sequences is None):
        raise InputError("expected DNA from one source: --fasta, with or without --bed")
    if sequences is not None:
        if bed is not None:
            raise InputError("--bed cuts intervals from a --fasta, not from sequences in memory")
        return SequenceSource(sequences, **tiles)
    if bed is not None:
        return BedSource(bed, fasta, strand=strand, **tiles)
    return FastaSource(fasta, coordinates=coordinates, **tiles)


def check_is_a_file(fasta: object) -> None:
    """Raise InputError for DNA in memory where the name of a FASTA file is expected."""
    is_text = isinstance(fasta, str) and not os.path.exists(fasta)
    if is_text and len(fasta) > 1 and not fasta.upper().strip("ACGTUN \n"):
        raise InputError(
            f"--fasta {shortened(fasta)}: no such file. If this is the DNA itself: from Python give "
            "sequences={'name': 'ACGT...'}, otherwise save it as a FASTA file"
        )
    if not isinstance(fasta, str | os.PathLike | None):
        raise InputError(
            f"--fasta is {type(fasta).__name__}; expected the name of a FASTA file. DNA in memory: "
            "sequences={'name': 'ACGT...'}"
        )


def check_resumable(source: WindowSource, resume: bool) -> None:
    """Raise InputError if a run is to be continued whose input can be read only once."""
    if resume and source.count is None:
        raise InputError(
            "--resume: standard input cannot be read from the start again; save it as a file"
        )


def checksums_of(
    bundles: Sequence[Path], sequences: Mapping[str, str] | None
) -> dict[str, str | list[str]]:
    """Return the sha256 of the files of bundles, and of sequences in memory."""
    checksums: dict[str, str | list[str]] = {
        role: [sha256_of(folder / name) for folder in bundles]
        for role, name in (("model", "model.safetensors"), ("model_config", "config.json"))
    }
    if sequences is None:
        return checksums
    digest = hashlib.sha256()
    for name, bases in sequences.items():
        digest.update(f">{name}\n{bases}\n".encode())
    return checksums | {"sequences": digest.hexdigest()}
