"""Variants in the tables of a suite, and checks of their cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.plain_numbers import whole_number

LABELS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
BASES = frozenset("ACGT")


@dataclass(frozen=True)
class TableVariant:
    """One row as the file has it, its position counted from 1."""

    where: str
    chrom: str
    pos: int
    ref: str
    alt: str
    label: bool
    group: str = ""

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What identifies a variant."""
        return self.chrom, self.pos, self.ref, self.alt

    @property
    def is_substitution(self) -> bool:
        """Whether one base replaces another."""
        return len(self.ref) == len(self.alt) == 1


def position(text: str, column: str, where: str, *, least: int) -> int:
    """Return a position.

    Raises:
        InputError: If it is not a whole number from `least` on.
    """
    number = whole_number(text)
    if number is None or number < least:
        raise InputError(
            f"{where}: {column} is {shortened(text)!r}; expected a whole number, counted from {least}"
        )
    return number


def label_of(text: str, where: str) -> bool:
    """Return whether a variant is positive.

    Raises:
        InputError: If the label is not 0, 1, True or False.
    """
    if text.lower() not in LABELS:
        raise InputError(
            f"{where}: label is {shortened(text)!r}; expected True or False, or 1 or 0: is this the "
            "column of another name?"
        )
    return LABELS[text.lower()]


def allele(text: str, column: str, where: str) -> str:
    """Return the bases of an allele in upper case.

    Raises:
        InputError: If it is not spelt in A C G T.
    """
    if not text or not BASES.issuperset(text.upper()):
        raise InputError(f"{where}: {column} is {shortened(text)!r}; expected bases, A C G T")
    return text.upper()


def check_both_labels(variants: Sequence[TableVariant], path: Path) -> None:
    """Raise InputError if the positives or the negatives are missing."""
    positives = sum(variant.label for variant in variants)
    if not 0 < positives < len(variants):
        raise InputError(
            f"{path}: {positives} of {len(variants)} variants have the label True; expected both labels. Is the "
            "copy complete?"
        )
