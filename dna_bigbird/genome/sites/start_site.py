"""A transcription start site, whatever file it was read from."""

from dataclasses import dataclass

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome.interval import Interval


@dataclass(frozen=True)
class StartSite:
    """One start site: 1 bp (0-based, half-open) with the strand '+' or '-'.

    `gene` is empty where the file does not tell it.
    """

    interval: Interval
    name: str
    gene: str
    line_number: int


def position(text: str, what: str, where: str) -> int:
    """Read a coordinate of a file that counts from 1.

    Raises:
        InputError: Starting with `where`, if the text is not a whole number from 1.
    """
    number = whole_number(text.strip())
    if number is None:
        raise InputError(f"{where}: {what} is {shortened(text)!r}, expected a whole number")
    if number < 1:
        raise InputError(f"{where}: {what} is {number}; this format counts from 1")
    return number
