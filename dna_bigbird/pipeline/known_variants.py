"""Variants of known effect, and what score-variants gave them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.errors import InputError

if TYPE_CHECKING:
    from dna_bigbird.genome.variants import Variant

EFFECTS = ("break", "create", "none")
ENDING = "_log_odds"


def key_of(variant: Variant) -> tuple[str, str, str, str]:
    """Return what tells a variant from others, as text."""
    return variant.chrom, str(variant.pos), variant.ref, variant.alts[0]


def read_scores(path: Path) -> tuple[list[str], dict[tuple, list[float]]]:
    """Return the labels of a table of score-variants and the changes of log odds of every row.

    Raises:
        InputError: If it is no such table.
    """
    from dna_bigbird.files import open_text

    with open_text(path) as stream:
        names = stream.readline().rstrip("\n").split("\t")
        columns = [i for i, name in enumerate(names) if name.endswith(ENDING)]
        if names[:5] != ["chrom", "pos", "id", "ref", "alt"] or not columns:
            raise InputError(
                f"{path}:1: expected the columns chrom, pos, id, ref, alt and <label>{ENDING}, as "
                "score-variants writes them"
            )
        found = {}
        for line, text in enumerate(stream, start=2):
            fields = text.rstrip("\n").split("\t")
            try:
                values = [float(fields[i]) for i in columns]
            except (IndexError, ValueError):
                raise InputError(
                    f"{path}:{line}: {len(fields)} columns, the header has {len(names)}, and scores are "
                    "numbers. Run score-variants again"
                ) from None
            found[fields[0], fields[1], fields[3], fields[4]] = values
    return [names[i].removesuffix(ENDING) for i in columns], found


def read_truth(
    path: Path, regions: list[str] | None
) -> tuple[list[Variant], list[str], list[set[str]]]:
    """Return the variants in the regions, their effects, and the labels each is about.

    Raises:
        InputError: If a record has no known EFFECT or several alleles, or nothing is left.
    """
    from dna_bigbird.genome.interval import parse_region
    from dna_bigbird.genome.variants import read_vcf

    try:
        inside = [parse_region(region) for region in regions or []]
    except ValueError as error:
        raise InputError(f"--regions {error}") from error
    variants, effects, named = [], [], []
    for variant in read_vcf(path):
        if regions and not any(region.overlap(variant.interval) for region in inside):
            continue
        info = dict(item.partition("=")[::2] for item in variant.text.split("\t")[7].split(";"))
        if info.get("EFFECT") not in EFFECTS or len(variant.alts) != 1:
            raise InputError(
                f"{path}:{variant.line}: expected one allele and EFFECT={', '.join(EFFECTS)} in INFO, as "
                "in the variants.vcf of demo-data"
            )
        variants.append(variant)
        effects.append(info["EFFECT"])
        named.append(set(info["LABEL"].split(",")) if info.get("LABEL") else set())
    if not variants:
        raise InputError(f"{path}: no variant{' in --regions' if regions else ''} to rank")
    return variants, effects, named
