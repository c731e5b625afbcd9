"""Variants of a table on the genome that a user gives: lifted base by base, REF compared with the genome."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.bench.suites.genomes import TaskGenome
from dna_bigbird.bench.suites.suite import VariantRow
from dna_bigbird.bench.suites.tables import TableVariant
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval, reverse_complement

NOT_SUBSTITUTION, OTHER_REF = "left_out_not_a_substitution", "left_out_other_ref_after_lift"
MOST_OTHER_REF = 0.1
"""Share of lifted variants whose REF may differ on the new assembly; more are a fault of the positions."""
LOOK_AT = 1000
"""Variants that are read to explain a REF that differs."""
CLEAR_SHARE = 0.9
"""Share of these that must agree for a shift to be the explanation."""


@dataclass(frozen=True)
class Located:
    """A variant of the table and its base on the genome."""

    variant: TableVariant
    base: Interval
    """0-based, one base; on - if the genome has this piece in the other direction."""

    def row(self) -> VariantRow:
        """Return the variant as the forward strand of the genome reads it."""
        variant, alleles = self.variant, (self.variant.ref, self.variant.alt)
        if self.base.strand == "-":
            alleles = tuple(map(reverse_complement, alleles))
        chromosome = variant.chrom.removeprefix("chr")
        return VariantRow(
            self.base.chrom, self.base.start + 1, *alleles, variant.label, variant.where, variant.group, chromosome
        )  # fmt: skip

    def agrees(self, target: TaskGenome, offset: int = 0) -> bool:
        """Return True if REF is on the genome, or would be with an offset added to the position."""
        step = -offset if self.base.strand == "-" else offset
        start = self.base.start + step
        if not 0 <= start < target.genome.lengths[self.base.chrom]:
            return False
        on_reference = target.genome.fetch(
            Interval(self.base.chrom, start, start + 1, self.base.strand)
        )
        return on_reference == self.variant.ref


def on_genome(
    variants: Sequence[TableVariant],
    path: Path,
    target: TaskGenome,
    *,
    column: str,
    counted_from: int,
) -> tuple[list[VariantRow], dict[str, int]]:
    """Return the variants that are on the genome, in their order, and counts of rows.

    Each base is lifted by itself if the genome has another assembly; REF and ALT are complemented
    where the strand changes. Insertions, deletions and longer alleles are left out and counted.
    `column` and `counted_from` are for messages: where positions are, and from what they count.

    Raises:
        InputError: If REF is not on the genome at a position; after a lift-over only if more than
            `MOST_OTHER_REF` differ, and others are counted. If no variant is left.
    """
    counts = Counter({"rows_read": len(variants)})
    located: list[Located] = []
    for variant in variants:
        if not variant.is_substitution:
            counts[NOT_SUBSTITUTION] += 1
            continue
        base = Interval(variant.chrom, variant.pos - 1, variant.pos)
        reached = target.locate(base, variant.where)
        if isinstance(reached, str):
            counts[f"left_out_{reached}"] += 1
        else:
            located.append(Located(variant, reached))
    agreeing = [each for each in located if each.agrees(target)]
    differing = len(located) - len(agreeing)
    allowed = MOST_OTHER_REF * len(located) if target.chain is not None else 0
    if differing > allowed:
        raise InputError(_difference(located, target, column, counted_from))
    if differing:
        counts[OTHER_REF] = differing
    if not agreeing:
        raise InputError(
            f"{path}: none of {len(variants)} variants is on "
            f"{target.genome.path.name}: {', '.join(f'{n} {reason}' for reason, n in counts.items())}"
        )
    return [each.row() for each in agreeing], dict(counts)


def _difference(
    located: Sequence[Located], target: TaskGenome, column: str, counted_from: int
) -> str:
    """Return the line about the first REF that differs, with the likely reason."""
    first = next(each for each in located if not each.agrees(target))
    genome, base, variant = target.genome, first.base, first.variant
    line = (
        f"{variant.where}: ref is {variant.ref!r} at {column} of {variant.chrom}:{variant.pos}, but "
        f"{genome.path.name} has {genome.fetch(base)!r} at {base.chrom}:{base.start + 1}"
    )
    some = located[:LOOK_AT]
    for offset, verb in ((1, "added to"), (-1, "subtracted from")):
        agreeing = sum(each.agrees(target, offset) for each in some)
        if agreeing >= CLEAR_SHARE * len(some):
            counts_from = counted_from - offset
            return (
                f"{line}; with 1 {verb} {column}, {agreeing} of {len(some)} rows agree: is {column} counted "
                f"from {counts_from}? Expected from {counted_from}"
            )
    agreeing = sum(each.agrees(target) for each in some)
    return (
        f"{line}; {agreeing} of {len(some)} rows agree. Is {genome.path.name} {target.assembly}, and is the "
        "table's assembly the one that the suite names?"
    )
