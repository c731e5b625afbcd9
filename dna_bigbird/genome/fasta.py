"""Random access to a reference genome."""

import zlib
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import check_random_access, is_gzip, looks_like, open_binary
from dna_bigbird.genome.alphabet import IS_UNKNOWN, NOT_DNA, normalise_bytes, reverse_complement
from dna_bigbird.genome.chromosome_names import ChromosomeNames
from dna_bigbird.genome.fasta_index import index_of, read_bytes
from dna_bigbird.genome.interval import Interval, parse_region


class Genome:
    """A FASTA file on disk, plain or bgzip, with its index (`.fai`, `.gzi`; made if missing or wrong).

    Sequences come normalised (upper case, only A C G T N). `chr1` and `1` name the same
    chromosome. The object may be pickled; each process opens the file for itself.

    An index is written next to the file if the folder is writable, else kept by this process.
    Reading a plain file is several times as fast.

    Raises:
        InputError: If the file is missing, empty, compressed otherwise or malformed.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            is_there = self.path.exists() or str(path) == "-"
            raise InputError(
                f"{path}: a genome is read at random and must be a file"
                if is_there
                else f"{path}: no such FASTA file"
            )
        if self.path.stat().st_size == 0:
            raise InputError(f"{path}: the FASTA file is empty")
        is_packed = check_random_access(self.path)
        if not is_packed and is_gzip(self.path):
            raise InputError(
                f"{path}: expected a genome as FASTA, and this looks like {looks_like(self.path)}"
            )
        with open_binary(path):  # names what cannot be FASTA
            pass
        self._index, self._blocks = index_of(self.path, is_packed)
        self._open()

    def _open(self) -> None:
        self._raw = open(self.path, "rb", buffering=0)  # noqa: SIM115 - open as long as the genome
        self.lengths: dict[str, int] = {name: entry.length for name, entry in self._index.items()}
        self._names = ChromosomeNames(self.lengths)

    def __del__(self) -> None:
        if hasattr(self, "_raw"):
            self._raw.close()

    def __getstate__(self) -> dict:
        return {"path": self.path, "_index": self._index, "_blocks": self._blocks}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._open()

    def find(self, chrom: str) -> str | None:
        """Return the name this genome uses for a chromosome (see `resolve`), None if it has none."""
        return self._names.find(chrom)

    def why_not(self, chrom: str) -> str:
        """Return what a message adds about a chromosome that `find` does not give, or ''."""
        return self._names.why_not(chrom)

    def resolve(self, chrom: str) -> str:
        """Return the name this genome uses for a chromosome, accepting other usual ones (see `chromosome_names`).

        Raises:
            InputError: If the genome has no such chromosome.
        """
        name = self.find(chrom)
        if name is not None:
            return name
        some = ", ".join(map(shortened, list(self.lengths)[:5]))
        more = ", …" if len(self.lengths) > 5 else ""
        raise InputError(
            f"chromosome {shortened(chrom)!r} is not in {self.path.name} (it has {some}{more})"
            f"{self.why_not(chrom)}. "
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
        inside = self._read(chrom, start, end) if start < end else b""
        try:
            text = normalise_bytes(inside)
        except ValueError as error:
            raise InputError(
                f"{self.path}: {chrom}:{start + 1}-{end}: {error}; expected a genome over A C G T N"
            ) from error
        if len(text) != interval.length:
            left = min(interval.length, max(0, -interval.start))
            text = ("N" * left + text).ljust(interval.length, "N")
        return reverse_complement(text) if interval.strand == "-" else text

    def unknown_bases(self, interval: Interval) -> bytes:
        """Return a byte for each base in forward order: 1 where `fetch` gives N, else 0.

        Raises:
            InputError: As `letters`, or if the file has letters that are not DNA.
        """
        is_unknown = self.letters(interval).translate(IS_UNKNOWN)
        if NOT_DNA in is_unknown:
            self.fetch(interval)  # raises, and names the letter
        return is_unknown

    def letters(self, interval: Interval) -> bytes:
        """Return the letters of an interval as they are in the file, lower case included.

        They come in forward order on either strand, as ASCII bytes.

        Raises:
            InputError: If the chromosome is missing or the interval is not wholly on it.
        """
        chrom = self.resolve(interval.chrom)
        if not 0 <= interval.start <= interval.end <= self.lengths[chrom]:
            raise InputError(
                f"{chrom}:{interval.start}-{interval.end} is not within {chrom}, which has "
                f"{self.lengths[chrom]:,} bases in {self.path.name}"
            )
        return self._read(chrom, interval.start, interval.end)

    def _read(self, chrom: str, start: int, end: int) -> bytes:
        """Read the letters of bases that are on the chromosome."""
        if start == end:
            return b""
        entry = self._index[chrom]
        try:
            read = read_bytes(
                self._raw.fileno(), self._blocks, entry.byte(start), entry.byte(end - 1) + 1
            )
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"{self.path}: {chrom}:{start + 1}-{end} cannot be read ({error}). Is the file "
                f"damaged? If not, delete {self.path.name}.fai and .gzi to have them rebuilt"
            ) from error
        letters = read.replace(b"\n", b"")
        if entry.line_bytes > entry.line_bases + 1:
            letters = letters.translate(None, b" \t\r")
        if len(letters) != end - start:
            raise InputError(
                f"{self.path}: {chrom}:{start + 1}-{end} has {len(letters)} letters; the file does "
                f"not fit its index. Delete {self.path.name}.fai to have it rebuilt"
            )
        return letters


def find_region(genome: Genome, text: str, option: str = "--region") -> Interval:
    """Return a region in samtools' notation (from 1, ends included) as an interval."""
    try:
        region = parse_region(text)
    except ValueError as error:
        raise InputError(f"{option} {error}") from error
    name = genome.resolve(region.chrom)
    length = genome.lengths[name]
    if region.end > length:
        raise InputError(
            f"{option} {text}: {name} has {length:,} bases in {genome.path.name}. Is this the right genome?"
        )
    return Interval(name, region.start, region.end)
