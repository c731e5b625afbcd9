"""The genomes that a user gives for a suite, and where a suite's intervals are on them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.lift_over import Chain, lift_interval, read_chain
from dna_bigbird.genome.sources.assemblies import expected_lengths, guess_assembly, usual_assembly

ABSENT, BEYOND, NOT_LIFTED = "not_in_genome", "beyond_the_end", "not_lifted"
"""Why an interval has no sequence."""


@dataclass(frozen=True)
class Genomes:
    """FASTA files by assembly, and a chain file to the assembly of one of them.

    Args:
        fastas: Assembly to FASTA; names as `genome.sources.assemblies.usual_assembly` gives them.
        chain: Chain file from the suite's assembly to that of the FASTA; None: nothing is lifted.
        pieces: Whether the FASTA files have only parts of the chromosomes, so that intervals may be absent.
    """

    fastas: Mapping[str, Path]
    chain: Path | None = None
    pieces: bool = False

    @cached_property
    def _opened(self) -> dict[str, "TaskGenome"]:
        return {}

    def check_chain(self, assemblies: Collection[str]) -> None:
        """Raise InputError if there is a chain file and nothing on these assemblies would be lifted."""
        if self.chain is not None and assemblies and all(x in self.fastas for x in assemblies):
            names = ", ".join(sorted(assemblies))
            raise InputError(
                f"--chain {self.chain}: --genome has a FASTA for {names}, as the intervals are, so nothing is "
                "lifted; leave --chain out, or name the FASTA's own assembly"
            )

    def open(self, assembly: str) -> "TaskGenome":
        """Return the genome for intervals of an assembly; opened once.

        Raises:
            InputError: If there is no FASTA for it, or one of another assembly and no chain file.
        """
        if assembly not in self._opened:
            self._opened[assembly] = self._open(assembly)
        return self._opened[assembly]

    def _open(self, assembly: str) -> "TaskGenome":
        if assembly in self.fastas:
            return TaskGenome(assembly, Genome(self.fastas[assembly]), None, self.pieces)
        others = [name for name in self.fastas if _species(name) == _species(assembly)]
        if len(others) != 1:
            raise InputError(
                f"--genome: no FASTA for {assembly}; add {assembly}=FILE"
                f"{f' (given: {chr(44).join(self.fastas)})' if self.fastas else ''}"
            )
        if self.chain is None:
            raise InputError(
                f"--genome {others[0]}=FILE: the intervals are on {assembly}; add {assembly}=FILE, or --chain "
                f"with a chain file from {assembly} to {others[0]}"
            )
        check_direction(self.chain, assembly)
        return TaskGenome(others[0], Genome(self.fastas[others[0]]), self.chain, self.pieces)


def check_direction(chain: Path, assembly: str) -> None:
    """Raise InputError if a chain file lifts from another assembly, by its chromosome lengths."""
    lengths: dict[str, int] = {}
    for _, line in numbered_lines(chain):
        words = line.split()
        if words[:1] == ["chain"] and len(words) > 3 and (length := whole_number(words[3])):
            lengths.setdefault(words[2], length)
    known = expected_lengths(assembly)
    source = guess_assembly({name: size for name, size in lengths.items() if name in known})
    if source not in (None, usual_assembly(assembly)):
        raise InputError(
            f"{chain}: lifts from {source}, and the intervals are on {assembly}; expected a chain file from "
            f"{assembly}"
        )


def _species(assembly: str) -> str:
    """Return the letters of an assembly's name: assemblies of one species have the same."""
    return assembly.rstrip("0123456789.p")


@dataclass(frozen=True)
class TaskGenome:
    """One genome, and how intervals come to be on it."""

    assembly: str
    genome: Genome
    chain: Path | None
    pieces: bool

    @cached_property
    def _lifter(self) -> Chain | None:
        return None if self.chain is None else read_chain(self.chain)

    def locate(self, interval: Interval, where: str) -> Interval | str:
        """Return an interval on this genome, or one of `ABSENT`, `BEYOND`, `NOT_LIFTED`.

        Raises:
            InputError: At `where`, if it is not within the genome, unless that has only pieces.
        """
        if self._lifter is not None:
            lifted = lift_interval(interval, self._lifter)
            if lifted is None:
                return NOT_LIFTED
            interval = lifted
        name = self.genome.find(interval.chrom)
        if name is None:
            return self._missing(ABSENT, interval, where)
        if interval.end > self.genome.lengths[name]:
            return self._missing(BEYOND, interval, where)
        return replace(interval, chrom=name)

    def _missing(self, reason: str, interval: Interval, where: str) -> str:
        if self.pieces:
            return reason
        span = f"{interval.chrom}:{interval.start + 1:,}-{interval.end:,}"
        problem = "has no such chromosome" if reason == ABSENT else "ends before"
        raise InputError(
            f"{where}: {span} is not in {self.genome.path.name}, which {problem}. Is it the assembly "
            f"{self.assembly}? If it has only parts of the chromosomes: --pieces true"
        )
