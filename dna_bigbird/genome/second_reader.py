"""A second reader of FASTA files, pyfaidx, for rows that are compared with the genome.

`Genome` reads plain files by code and index of its own. A fault there would be the same when a set is
built and when it is checked. pyfaidx indexes and reads the file by other code.
"""

import os
import tempfile
from pathlib import Path

import pyfaidx

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import is_gzip
from dna_bigbird.genome.fasta import Genome

_PACKED = (".gz", ".bgz")
"""By such a name pyfaidx takes any file for a packed one. It reads these with Biopython only."""


def second_reader(genome: Genome) -> Genome:
    """Return a genome of the same file that pyfaidx reads; a bgzip file is read by htslib as before.

    Raises:
        InputError: If pyfaidx cannot read the file, or finds other records or lengths in it.
    """
    if is_gzip(genome.path) or genome.path.suffix.lower() in _PACKED:
        note(f"{genome.path}: read by htslib; pyfaidx, the second reader, is for plain FASTA")
        return genome
    return PyfaidxGenome(genome.path)


class PyfaidxGenome(Genome):
    """A plain FASTA file as `Genome`, whose letters pyfaidx reads.

    pyfaidx makes an index of its own in memory; no file is written next to the genome.

    Raises:
        InputError: As `second_reader`.
    """

    def _open(self) -> None:
        super()._open()
        try:
            with tempfile.TemporaryDirectory() as folder:
                index = Path(os.fsdecode(folder)) / "index.fai"
                self._faidx = pyfaidx.Faidx(str(self.path), indexname=str(index), as_raw=True)
        except (pyfaidx.FastaIndexingError, pyfaidx.IndexNotFoundError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"{self.path}: pyfaidx cannot index it ({reason}). Rewrite it: "
                "dna-bigbird genome --help"
            ) from error
        lengths = {name: entry.rlen for name, entry in self._faidx.index.items()}
        for name in self.lengths | lengths:
            ours, theirs = self.lengths.get(name), lengths.get(name)
            if ours != theirs:
                raise InputError(
                    f"{self.path}: record {name!r} has {_bases(ours)} by its index and "
                    f"{_bases(theirs)} as pyfaidx counts. Delete {self.path.name}.fai to have it "
                    "made again"
                )

    def __del__(self) -> None:
        if hasattr(self, "_faidx"):
            self._faidx.close()
        super().__del__()

    def _read(self, chrom: str, start: int, end: int) -> bytes:
        if start == end:
            return b""
        try:
            letters = self._faidx.fetch(chrom, start + 1, end).encode()
        except (pyfaidx.FetchError, ValueError, OSError) as error:
            raise InputError(f"{self.path}: {chrom}:{start + 1}-{end} cannot be read") from error
        if len(letters) != end - start:
            raise InputError(
                f"{self.path}: {chrom}:{start + 1}-{end} has {len(letters)} letters as pyfaidx "
                "reads it. Is the file damaged, or was it changed meanwhile?"
            )
        return letters


def _bases(length: int | None) -> str:
    return "no bases" if length is None else f"{length:,} bases"
