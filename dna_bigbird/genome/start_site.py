"""A transcription start site, whatever file it was read from."""

from dataclasses import dataclass

from dna_bigbird.errors import InputError
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


def whole_number(text: str, what: str, where: str, *, least: int = 1) -> int:
    """Read a coordinate of a file that counts from 1.

    Raises:
        InputError: Starting with `where`, if the text is not a whole number or below `least`.
    """
    if not text.strip().isdecimal():
        raise InputError(f"{where}: {what} is {text!r}, expected a whole number")
    number = int(text)
    if number < least:
        raise InputError(f"{where}: {what} is {number}; this format counts from {least}")
    return number
