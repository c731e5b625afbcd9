"""Random access to a reference genome."""

from pathlib import Path

import pyfaidx

from dna_bigbird.errors import InputError
from dna_bigbird.files import is_gzip
from dna_bigbird.genome.alphabet import normalise, reverse_complement
from dna_bigbird.genome.interval import Interval


class Genome:
    """A plain FASTA file on disk with its `.fai` index (made beside it if missing).

    Sequences come normalised (upper case, only A C G T N). `chr1` and `1` name the same
    chromosome. The object may be pickled; each process opens the file for itself.

    Raises:
        InputError: If the file is missing, empty, compressed or malformed.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError(f"{path}: no such FASTA file")
        if self.path.stat().st_size == 0:
            raise InputError(f"{path}: the FASTA file is empty")
        if is_gzip(self.path):
            raise InputError(
                f"{path}: a genome is read at random and must be plain FASTA; "
                f"unpack it first: gunzip {path}"
            )
        self._open()

    def _open(self) -> None:
        try:
            self._fasta = pyfaidx.Fasta(
                str(self.path), as_raw=True, sequence_always_upper=True, rebuild=True
            )
        except (pyfaidx.FastaIndexingError, pyfaidx.FastaNotFoundError, ValueError) as error:
            raise InputError(f"{self.path}: cannot read it as FASTA: {error}") from error
        self.lengths: dict[str, int] = {name: len(self._fasta[name]) for name in self._fasta.keys()}  # noqa: SIM118
        if not self.lengths:
            raise InputError(f"{self.path}: no sequence in it; a FASTA record starts with '>'")

    def __getstate__(self) -> dict:
        return {"path": self.path}

    def __setstate__(self, state: dict) -> None:
        self.path = state["path"]
        self._open()

    def resolve(self, chrom: str) -> str:
        """Return the name this genome uses for a chromosome, accepting `1` for `chr1` and back.

        Raises:
            InputError: If the genome has no such chromosome.
        """
        if chrom in self.lengths:
            return chrom
        other = chrom.removeprefix("chr") if chrom.startswith("chr") else f"chr{chrom}"
        if other in self.lengths:
            return other
        some = ", ".join(list(self.lengths)[:5])
        more = ", …" if len(self.lengths) > 5 else ""
        raise InputError(
            f"chromosome {chrom!r} is not in {self.path.name} (it has {some}{more}). "
            "Is this the right genome?"
        )

    def fetch(self, interval: Interval) -> str:
        """Return the bases of an interval, as its strand reads them.

        Bases outside the chromosome come as N, so the result is always `interval.length` long.

        Raises:
            InputError: If the chromosome is missing or the file has letters that are not DNA.
        """
        chrom = self.resolve(interval.chrom)
        length = self.lengths[chrom]
        start, end = max(0, interval.start), min(length, interval.end)
        inside = self._fasta[chrom][start:end] if start < end else ""
        try:
            inside = normalise(inside)
        except ValueError as error:
            raise InputError(
                f"{self.path}: {chrom}:{start + 1}-{end}: {error}; expected a genome over A C G T N"
            ) from error
        left = min(interval.length, max(0, -interval.start))
        sequence = ("N" * left + inside).ljust(interval.length, "N")
        return reverse_complement(sequence) if interval.strand == "-" else sequence
