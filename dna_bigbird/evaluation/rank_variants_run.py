"""Steps of `rank-variants`: the scores of all sources for the same variants, and its tables."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.core.plain_numbers import decimal_number
from dna_bigbird.core.tables import Table
from dna_bigbird.evaluation.rank_variants_baselines import (
    are_substitutions,
    count_changes,
    gc_changes,
    kmer_changes,
    own_count_changes,
)
from dna_bigbird.genome import Genome
from dna_bigbird.genome.interval import parse_region
from dna_bigbird.genome.variants import Variant, read_vcf
from dna_bigbird.labelled.labelled_set import open_labelled_set
from dna_bigbird.metrics.variant_scores import DIRECTIONS, REFERENCE, KnownVariants

QUESTIONS = [name for effect in DIRECTIONS for name in (effect, f"{effect}_own_label")]


def ranked_table(
    variants: Sequence[Variant],
    known: KnownVariants,
    sources: Mapping[str, np.ndarray],
    without_labels: Collection[str] = (),
) -> str:
    """Return the largest change over all labels, and the signed one of the own label, as TSV."""
    rows = []
    for v, effect, own, *changes in zip(
        variants, known.effects, known.own_labels, *sources.values(), strict=True
    ):
        row = {"chrom": v.chrom, "pos": v.pos, "id": v.id, "ref": v.ref, "alt": v.alts[0]}
        row["effect"] = effect
        for source, values in zip(sources, changes, strict=True):
            row[f"{source}_largest"] = f"{np.abs(values).max():.5g}"
            if source not in without_labels:
                # Of several labels the change that is largest, with its sign.
                largest = max(values[own], key=abs, default=np.nan)
                row[f"{source}_own_label"] = f"{largest:.5g}"
        rows.append(row)
    return Table(rows).to_tsv()


def source_table(metrics: Mapping[str, Mapping[str, float | int]]) -> str:
    """Return a row per source of scores and question, in long form, as TSV."""
    rows = []
    for source, values in metrics.items():
        for question in (x for x in QUESTIONS if f"auroc_{x}" in values):
            row = {"source": source, "question": question, "n": values[f"n_{question}"]}
            row["n_positive"] = values[f"n_{question}_positive"]
            gain = f"auroc_{question}_gain_over_{REFERENCE}"
            for name, key in (("auroc", f"auroc_{question}"), (f"minus_{REFERENCE}", gain)):
                for end in ("", "_low", "_high"):
                    row[f"{name}{end}"] = f"{values.get(f'{key}{end}', np.nan):.6g}"
            rows.append(row)
    return Table(rows).to_tsv()


EFFECTS = ("break", "create", "none")
ENDING = "_log_odds"
ZERO_SHOT = ("embedding_distance", "likelihood_log_ratio")
"""Columns of the scores without labels (prediction/variants/scorers.py)."""


@dataclass(frozen=True)
class Truth:
    """Variants with one allele and a known effect."""

    path: Path
    variants: list[Variant]
    effects: list[str]
    labels: list[set[str]]
    """Of each variant the labels that depend on its site."""

    def for_labels(self, labels: Sequence[str], block_bp: int) -> KnownVariants:
        """Return effects, own labels among `labels` and blocks of the genome, as arrays."""
        blocks = [f"{v.chrom}:{(v.pos - 1) // block_bp}" for v in self.variants]
        return KnownVariants(
            np.array(self.effects),
            np.array([[label in names for label in labels] for names in self.labels]),
            np.unique(blocks, return_inverse=True)[1],
        )


@dataclass(frozen=True)
class ScoreTable:
    """The scores that `score-variants` wrote: changes of log odds, or one column without labels."""

    path: Path
    labels: list[str]
    """Empty for a score without labels."""
    changes: dict[tuple[str, str, str, str], list[float]]
    """By chromosome, position, reference and alternative allele."""

    def of(self, truth: Truth) -> np.ndarray:
        """Return the changes of the variants, (variants, labels); one column without labels."""
        rows = [self.changes.get(key_of(v)) for v in truth.variants]
        if None in rows:
            lacking = truth.variants[rows.index(None)]
            raise InputError(
                f"{truth.path}:{lacking.line}: {lacking.chrom}:{lacking.pos} {lacking.ref}>"
                f"{lacking.alts[0]} is not in {self.path}. Score this VCF with score-variants first, "
                "without --ref_mismatch skip"
            )
        log_odds = np.array(rows).reshape(len(rows), len(self.labels) or 1)
        is_scored = np.isfinite(log_odds).all(axis=1)
        if not is_scored.all():
            bad = truth.variants[int(np.argmin(is_scored))]
            raise InputError(
                f"{self.path}: no score of {bad.chrom}:{bad.pos}; expected one of every variant"
            )
        return log_odds


def key_of(variant: Variant) -> tuple[str, str, str, str]:
    """Return what identifies a variant, as text."""
    return variant.chrom, str(variant.pos), variant.ref, variant.alts[0]


def read_score_table(path: Path) -> ScoreTable:
    """Read a table of `score-variants`."""
    lines = numbered_lines(path)
    names = next(lines, (1, ""))[1].rstrip("\n").split("\t")
    columns = [i for i, name in enumerate(names) if name.endswith(ENDING)]
    labels = [names[i].removesuffix(ENDING) for i in columns]
    columns = columns or [i for i, name in enumerate(names) if name in ZERO_SHOT]
    if names[:5] != ["chrom", "pos", "id", "ref", "alt"] or not columns:
        raise InputError(
            f"{path}:1: expected the columns chrom, pos, id, ref, alt and <label>{ENDING} "
            f"({', '.join(ZERO_SHOT)} without labels), as score-variants writes them"
        )
    changes = {}
    for line, text in lines:
        fields = text.rstrip("\n").split("\t")
        values = (
            [decimal_number(fields[i]) for i in columns] if len(fields) == len(names) else [None]
        )
        if None in values:
            raise InputError(
                f"{path}:{line}: {len(fields)} columns, the header has {len(names)}, and scores are "
                "numbers. Run score-variants again"
            )
        changes[fields[0], fields[1], fields[3], fields[4]] = values
    return ScoreTable(path, labels, changes)


def shared_labels(tables: Mapping[str, ScoreTable]) -> list[str]:
    """Return the labels of the tables that have some, which are the same; [] if none has."""
    with_labels = [table for table in tables.values() if table.labels]
    for table in with_labels[1:]:
        if table.labels != with_labels[0].labels:
            raise InputError(
                f"{table.path}: its labels are not those of {with_labels[0].path}; score both with "
                "models of the same labels, or with the same --labels"
            )
    return with_labels[0].labels if with_labels else []


def read_truth(path: Path, regions: list[str] | None) -> Truth:
    """Read the variants of a VCF that are in the regions (all if there are none)."""
    try:
        inside = [parse_region(region) for region in regions or []]
    except ValueError as error:
        raise InputError(f"--regions {error}") from error
    truth = Truth(path, [], [], [])
    for variant in read_vcf(path):
        if regions and not any(region.overlap(variant.interval) for region in inside):
            continue
        info = dict(item.partition("=")[::2] for item in variant.text.split("\t")[7].split(";"))
        if info.get("EFFECT") not in EFFECTS or len(variant.alts) != 1:
            raise InputError(
                f"{path}:{variant.line}: expected one allele and EFFECT={', '.join(EFFECTS)} in INFO, as "
                "in the variants.vcf of demo-data"
            )
        truth.variants.append(variant)
        truth.effects.append(info["EFFECT"])
        truth.labels.append(set(info["LABEL"].split(",")) if info.get("LABEL") else set())
    if not truth.variants:
        raise InputError(f"{path}: no variant{' in --regions' if regions else ''} to rank")
    return truth


OWN_COUNTS = "own_counts"
"""The k-mer counts of the model, without its network; `counts` are those of bases."""
BASELINES = ("gc", "kmer", "counts", OWN_COUNTS)
"""Names that no table of scores may have."""


@dataclass(frozen=True)
class VariantSources:
    """Scores of the same variants from several sources."""

    labels: list[str]
    changes: dict[str, np.ndarray]
    """(variants, labels) by source, (variants, 1) for sources without labels; the model's first."""
    without_labels: list[str]


def variant_sources(
    scores: Path | Mapping[str, Path],
    truth: Truth,
    genome: Genome,
    data: Path | None,
    model: Path | None = None,
) -> VariantSources:
    """Read the tables of scores and compute the baselines."""
    paths = dict(scores) if isinstance(scores, Mapping) else {"model": scores}
    _check_names(paths)
    tables = {name: read_score_table(path) for name, path in paths.items()}
    labels = shared_labels(tables)
    if not labels and data is not None:
        labels = list(open_labelled_set(data, genome).label_names)
    changes = {name: table.of(truth) for name, table in tables.items()}
    without_labels = [name for name, table in tables.items() if not table.labels]
    own = None if model is None else own_count_changes(truth.variants, genome, model, labels)
    if own is not None:
        changes[OWN_COUNTS] = own
    changes["gc"] = gc_changes(truth.variants)
    without_labels.append("gc")
    if data is not None:
        changes["kmer"] = kmer_changes(truth.variants, genome, data, labels)
        if are_substitutions(truth.variants):
            changes["counts"] = count_changes(truth.variants, genome, data)
            without_labels.append("counts")
        else:
            note("no scores by counting bases: a variant is not a substitution of one base")
    return VariantSources(labels, changes, without_labels)


def _check_names(paths: Mapping[str, Path]) -> None:
    if not paths:
        raise InputError("--scores: expected a table, or NAME=TABLE")
    for name in paths:
        if name in BASELINES or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise InputError(
                f"--scores {name}={paths[name]}: expected a name of letters, digits and _ that is none of "
                f"{', '.join(BASELINES)}"
            )
