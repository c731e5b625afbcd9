"""Names of patterns: comparison with a database of matrices by Tomtom (Gupta et al. 2007), in memelite."""

# Q queries, T targets, P positions of a matrix

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.core.errors import note
from dna_bigbird.genome.motif_files import MotifMatrix, read_motifs

JASPAR = "JASPAR2024"
FEW_TARGETS = 50
"""Below this many matrices the p values of Tomtom depend much on which ones they are."""


@dataclass(frozen=True, eq=False)
class Database:
    """Matrices that patterns are compared with."""

    name: str
    matrices: list[MotifMatrix]


@dataclass(frozen=True)
class Match:
    """A matrix that is similar to a pattern."""

    matrix: MotifMatrix
    p: float
    q: float
    """p corrected for all comparisons of the run (Benjamini-Hochberg)."""


def read_database(path: Path | str | None) -> Database:
    """Return the matrices of a JASPAR or MEME file, or those of JASPAR 2024, CORE, vertebrates."""
    if path is not None:
        matrices = read_motifs(Path(path))
        if len(matrices) < FEW_TARGETS:
            note(
                f"{path}: {len(matrices)} matrices; Tomtom's p values are reliable from about {FEW_TARGETS} on, "
                "because their background is the columns of all matrices"
            )
        return Database(Path(path).name, matrices)
    from pyjaspar import jaspardb

    motifs = jaspardb(release=JASPAR).fetch_motifs(
        collection="CORE", tax_group="vertebrates", all_versions=False
    )
    return Database(
        "JASPAR 2024 CORE vertebrates",
        [
            MotifMatrix(m.matrix_id, m.name, np.array([m.counts[base] for base in "ACGT"], float))
            for m in motifs
        ],
    )


def match_all(queries_4P: Sequence[NDArray[np.float64]], database: Database) -> list[list[Match]]:
    """Return the matches of each query (4, P) with every matrix of a database, best first."""
    from memelite import tomtom

    if not queries_4P:
        return []
    targets = [matrix.shares for matrix in database.matrices]
    p_QT = np.asarray(tomtom(list(queries_4P), targets, n_jobs=1)[0], np.float64)
    q_QT = q_values(p_QT)
    return [
        [
            Match(database.matrices[i], float(p_T[i]), float(q_T[i]))
            for i in np.argsort(p_T, kind="stable")
        ]
        for p_T, q_T in zip(p_QT, q_QT, strict=True)
    ]


def q_values(p: ArrayLike) -> NDArray[np.float64]:
    """Return p values corrected for the number of all of them (Benjamini & Hochberg 1995).

    Example:
        >>> q_values([[0.01, 0.04], [0.03, 0.5]]).round(4).tolist()
        [[0.04, 0.0533], [0.0533, 0.5]]
    """
    values = np.asarray(p, np.float64)
    flat = values.ravel()
    order = np.argsort(-flat, kind="stable")
    ranks = np.arange(len(flat), 0, -1)
    corrected = np.empty_like(flat)
    corrected[order] = np.minimum.accumulate(flat[order] * len(flat) / ranks)
    return np.minimum(corrected, 1.0).reshape(values.shape)
