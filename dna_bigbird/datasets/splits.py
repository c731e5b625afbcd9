"""Splits by genome region: no window of one split shares a base with a window of another."""

import json
import shlex
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.coverage import Spans, covered_bp, merge_spans
from dna_bigbird.genome.interval import parse_region

SPLITS = ("train", "validation", "test")
TRAIN, VALIDATION, TEST = range(3)
STRADDLING = -1
_TO_THE_END = 1 << 40


@dataclass(frozen=True)
class SplitConfig:
    """Which regions are held out; everything else is for training."""

    validation: list[str | int] = field(default_factory=list)
    """Regions such as `chr22:19,000,001-20,000,000` (from 1, both ends included) or whole chromosomes such as `chr7`."""
    test: list[str | int] = field(default_factory=list)
    """Likewise, for the test; no base may be in both."""

    def __post_init__(self) -> None:
        for chrom, test in self._spans(self.test).items():
            validation = self._spans(self.validation).get(chrom)
            if validation and covered_bp(test, *validation).any():
                raise ValueError(
                    f"split: the validation and test regions on chromosome {chrom} overlap"
                )

    @staticmethod
    def _spans(regions: list[str | int]) -> dict[str, Spans]:
        """Merged regions by chromosome name without `chr`."""
        by_chrom: dict[str, list[Interval]] = {}
        for text in map(str, regions):
            region = parse_region(text) if ":" in text else Interval(text, 0, _TO_THE_END)
            by_chrom.setdefault(_bare(region.chrom), []).append(region)
        return {
            chrom: merge_spans([r.start for r in items], [r.end for r in items])
            for chrom, items in by_chrom.items()
        }

    @cached_property
    def _held_out(self) -> tuple[tuple[int, dict[str, Spans]], ...]:
        return (VALIDATION, self._spans(self.validation)), (TEST, self._spans(self.test))

    def check_chromosomes(self, genome: Genome) -> None:
        """Refuse a region on a chromosome that the genome does not have.

        Raises:
            InputError: Naming the region.
        """
        for text in map(str, [*self.validation, *self.test]):
            try:
                genome.resolve(text.rpartition(":")[0] or text)
            except InputError as error:
                hint = (
                    " If it is the rest of a number with thousands commas: inside [...] leave the "
                    "commas out or put the region in double quotes"
                )
                raise InputError(
                    f"split: region {text!r}: {error}{hint if text.isdigit() else ''}"
                ) from None

    def as_options(self) -> str:
        """Return the command-line options that give these settings."""
        lists = {"validation": self.validation, "test": self.test}
        return " ".join(
            f"--split.{key} {shlex.quote(json.dumps(value))}" for key, value in lists.items()
        )

    def split_of(self, interval: Interval) -> int:
        """Return 0 (train), 1 (validation), 2 (test), or -1 for a window across a border."""
        return int(self.splits_of(interval.chrom, [interval.start], [interval.end])[0])

    def splits_of(self, chrom: str, starts: ArrayLike, ends: ArrayLike) -> NDArray[np.int8]:
        """Return the split of many windows of one chromosome; see `split_of`.

        A window is in a held-out split if all its bases are, and in training if none is in
        either. Bases left of the chromosome's first one are not counted.
        """
        starts = np.maximum(0, np.asarray(starts, dtype=np.int64))
        ends = np.asarray(ends, dtype=np.int64)
        result = np.full(len(starts), TRAIN, dtype=np.int8)
        for split, spans in self._held_out:
            if _bare(chrom) in spans:
                shared = covered_bp(spans[_bare(chrom)], starts, ends)
                result[shared > 0] = STRADDLING
                result[shared == ends - starts] = split
        return result


def _bare(chrom: str) -> str:
    return chrom.removeprefix("chr")
