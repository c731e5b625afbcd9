"""Step of `rank-variants`: the scores of all sources for the same variants."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.evaluation.known_variants import Truth, read_score_table, shared_labels
from dna_bigbird.evaluation.variant_baselines import (
    are_substitutions,
    count_changes,
    gc_changes,
    kmer_changes,
)
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.same_genome import open_labelled_set

BASELINES = ("gc", "kmer", "counts")
"""Names that no table of scores may have."""


@dataclass(frozen=True)
class VariantSources:
    """Scores of the same variants from several sources."""

    labels: list[str]
    changes: dict[str, np.ndarray]
    """(variants, labels) by source, (variants, 1) for sources without labels; the model's first."""
    without_labels: list[str]


def variant_sources(
    scores: Path | Mapping[str, Path], truth: Truth, genome: Genome, data: Path | None
) -> VariantSources:
    """Read the tables of scores and compute the baselines.

    Raises:
        InputError: If a name or a table does not fit.
    """
    paths = dict(scores) if isinstance(scores, Mapping) else {"model": scores}
    _check_names(paths)
    tables = {name: read_score_table(path) for name, path in paths.items()}
    labels = shared_labels(tables)
    if not labels and data is not None:
        labels = list(open_labelled_set(data, genome).label_names)
    changes = {name: table.of(truth) for name, table in tables.items()}
    without_labels = [name for name, table in tables.items() if not table.labels]
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
