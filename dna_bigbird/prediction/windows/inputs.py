"""What `predict` and `embed` read: sequences in memory, or the source for their arguments."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.several import check_each, several
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of
from dna_bigbird.prediction.windows.files import BedSource, Coordinates, FastaSource
from dna_bigbird.prediction.windows.tiling import Window, WindowSource, tile

SEQUENCE = "sequence_"
"""Names of sequences that have none begin with this."""


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
    model_bp: int | None = None,
    resume: bool = False,
) -> WindowSource:
    """Return the windows of a FASTA file, intervals of it, or sequences in memory, checked."""
    tiles = {"window_bp": window, "stride_bp": stride, "model_bp": model_bp}
    if strand == "interval" and bed is None:
        raise InputError("--strand interval is that of column 6 of a --bed file; none was given")
    check_is_a_file(fasta)
    if (fasta is None) == (sequences is None):
        raise InputError("expected DNA from one source: --fasta, with or without --bed")
    if sequences is not None:
        if bed is not None:
            raise InputError("--bed cuts intervals from a --fasta, not from sequences in memory")
        source: WindowSource = SequenceSource(sequences, **tiles)
    elif bed is not None:
        source = BedSource(bed, fasta, strand=strand, **tiles)
    else:
        source = FastaSource(fasta, coordinates=coordinates, **tiles)
    source.check()
    if resume and source.count is None:
        raise InputError(
            "--resume: standard input cannot be read from the start again; save it as a file"
        )
    return source


def check_is_a_file(fasta: object) -> None:
    """Raise InputError for DNA in memory where the name of a FASTA file is expected."""
    is_text = isinstance(fasta, str) and not os.path.exists(fasta)
    if is_text and len(fasta) > 1 and not fasta.upper().strip("ACGTUN \n"):
        raise InputError(
            f"--fasta {shortened(fasta)}: no such file. If this is the DNA itself: from Python give "
            "sequences=['ACGT...'], otherwise save it as a FASTA file"
        )
    if not isinstance(fasta, str | os.PathLike | None):
        raise InputError(
            f"--fasta is {type(fasta).__name__}; expected the name of a FASTA file. DNA in memory: "
            "sequences=['ACGT...']"
        )


def named_sequences(sequences: object) -> dict[str, str] | None:
    """Return sequences by name: those of a list are sequence_1, sequence_2, ...; None stays.

    Example:
        >>> named_sequences(["ACGT", "GGG"])
        {'sequence_1': 'ACGT', 'sequence_2': 'GGG'}
    """
    # A mapping, one text, or several (`several`): the names of a column of a data frame are those
    # of its rows if these are text; numbers of rows are not used.
    if sequences is None:
        return None
    if isinstance(sequences, Mapping):
        return dict(sequences)
    if isinstance(sequences, os.PathLike) or (
        isinstance(sequences, str) and os.path.exists(sequences)
    ):
        raise InputError(
            f"sequences={sequences!r} is a file; to read it, give fasta={os.fspath(sequences)!r}"
        )
    if isinstance(sequences, str):
        return {f"{SEQUENCE}1": sequences}
    values = several("sequences", sequences)
    if values is None:
        raise InputError(
            f"sequences is {type(sequences).__name__}; expected DNA, such as ['ACGT', 'GGCC'], or by "
            "name, such as {'name': 'ACGT'}"
        )
    check_each("sequences", values, lambda value: isinstance(value, str))
    names = [*getattr(sequences, "index", ())] if hasattr(sequences, "iloc") else []
    if not (names and all(isinstance(name, str) for name in names)):
        names = [f"{SEQUENCE}{number}" for number in range(1, len(values) + 1)]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(
            f"sequences: two rows are named {twice!r}; write frame.reset_index(drop=True) for numbered names"
        )
    return dict(zip(names, values, strict=True))


class SequenceSource(WindowSource):
    """Windows over sequences in memory, by name."""

    def __init__(
        self,
        sequences: Mapping[str, str],
        *,
        window_bp: int,
        stride_bp: int,
        model_bp: int | None = None,
    ) -> None:
        super().__init__({}, window_bp, stride_bp, model_bp)
        if not sequences:
            raise InputError("no sequence given; expected at least one")
        for name, letters in sequences.items():
            if not (isinstance(name, str) and isinstance(letters, str)):
                raise InputError(
                    f"sequence {name!r}: expected a name and letters, both text; found "
                    f"{type(name).__name__} and {type(letters).__name__}"
                )
            if not letters:
                raise InputError(f"sequence {name!r} has no base")
            if len(name.split()) != 1:
                raise InputError(f"sequence {name!r}: a name has no blanks, and is not empty")
        self.sequences = {
            name: dna_of(FastaRecord(name, letters, number), "sequences")
            for number, (name, letters) in enumerate(sequences.items(), start=1)
        }
        self.count = sum(self.num_windows(len(bases)) for bases in self.sequences.values())
        for bases in self.sequences.values():
            self.records.count(len(bases))

    @property
    def lengths(self) -> dict[str, int]:
        return {name: len(bases) for name, bases in self.sequences.items()}

    def check(self) -> None:
        """Do nothing: everything was checked on construction."""

    def windows(self, first: int = 0) -> Iterator[Window]:
        for name, bases in self.sequences.items():
            for start, window in tile([bases], self.window_bp, self.stride_bp, first):
                yield Window(name, start, start + len(window), window)
            first = max(0, first - self.num_windows(len(bases)))
