"""Patterns of bases with high effects, by tfmodisco-lite (Shrikumar et al. 2018, Schreiber 2022).

Seqlets are short stretches with effects above a threshold; similar seqlets, aligned on either strand, are a pattern.
Its names come from a database of matrices: Tomtom (Gupta et al. 2007), in memelite.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.settings import Positive, Range
from dna_bigbird.genome.motif_files import MotifMatrix, read_motifs

if TYPE_CHECKING:
    from dna_bigbird.prediction.writers.attributions import AttributedWindows

# n windows, W bases of a window, P positions of a pattern or matrix, Q queries, T targets

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


TRIM_SHARE = 0.3
"""Positions outside those whose mean contribution, with the sign of the pattern, is at least this share of the
largest are cut off. The report of tfmodisco-lite has the same share, of contributions of either sign."""
MOST_CORE_BP = 30
"""Bases of a pattern before flanks are added, at most: the default of tfmodisco-lite."""
LEAST_BITS = 0.5
"""Positions with less information are cut off at the ends: Tomtom finds columns without information similar to those
of wide matrices."""
LEAST_WIDTH = 4
"""Bases that a trimmed pattern has at least."""
LETTERS = "ACGT"


@dataclass(frozen=True)
class SearchSettings:
    """How seqlets are chosen and clustered. The defaults suit from about 100 windows on."""

    seqlet_bp: Annotated[int, Range(5)] = 15
    flank_bp: Positive = 5
    max_fdr: Annotated[float, Range(above=0, below=1)] = 0.05
    min_seqlets: Positive = 20
    min_pattern_seqlets: Annotated[int, Range(2)] = 10
    max_seqlets: Annotated[int, Range(20)] = 2000

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def least_window_bp(self) -> int:
        """Bases that a window must have: of two seqlets with their flanks."""
        return 2 * (self.seqlet_bp + 2 * self.flank_bp)


@dataclass(frozen=True)
class Hit:
    """A stretch of a window that belongs to a pattern."""

    window: int
    start: int
    """First base within the window, counted from 0."""
    end: int
    is_reverse: bool
    """Whether the reverse strand reads as the pattern."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Aligned seqlets, cut to the positions that contribute."""

    label: str
    name: str
    """pattern_1, pattern_2 and so on: of a label, positive before negative, by falling number of seqlets."""
    sign: str
    """"+" if it raises the log odds of the label, "-" if it lowers them."""
    shares: NDArray[np.float64]
    """(4, P), share of A, C, G and T among the seqlets."""
    contributions: NDArray[np.float64]
    """(4, P), mean contribution to the log odds: of the base that is there."""
    hits: list[Hit]

    @property
    def identifier(self) -> str:
        """Label and name, without blanks."""
        return f"{'_'.join(self.label.split())}:{self.name}"

    @property
    def consensus(self) -> str:
        """The most frequent base of each position; in lower case where it has less than half."""
        bases = (LETTERS[column.argmax()] for column in self.shares.T)
        shares = self.shares.max(axis=0)
        return "".join(
            b if share >= 0.5 else b.lower() for b, share in zip(bases, shares, strict=True)
        )

    @property
    def mean_contribution(self) -> float:
        """Mean over the seqlets of the summed contribution, in log odds."""
        return float(self.contributions.sum())


def find_patterns(windows: "AttributedWindows", settings: SearchSettings) -> list[Pattern]:
    """Return the patterns of a label; none if there are too few seqlets."""
    from modiscolite.tfmodisco import TFMoDISco  # compiles: seconds

    width = windows.bases.shape[1]
    if width < settings.least_window_bp:
        raise InputError(
            f"{windows.label}: windows of {width} bases; expected at least {settings.least_window_bp}, two seqlets of "
            f"--seqlet_bp {settings.seqlet_bp} with --flank_bp {settings.flank_bp} on both sides"
        )
    if not np.any(windows.scores):
        return []
    groups = TFMoDISco(
        one_hot=windows.bases,
        hypothetical_contribs=windows.effects,
        **_options(settings),
    )
    patterns = []
    for sign, group in zip("+-", groups, strict=True):
        for each in sorted(group or [], key=lambda x: -len(x.seqlets)):
            patterns.append(_trimmed(each, windows, f"pattern_{len(patterns) + 1}", sign))
    return patterns


def _options(settings: SearchSettings) -> dict[str, int | float]:
    """Return the arguments of tfmodisco-lite; docs/how-to/motifs.md compares them with its defaults."""
    return {
        "sliding_window_size": settings.seqlet_bp,
        "flank_size": settings.flank_bp,
        "target_seqlet_fdr": settings.max_fdr,
        "min_metacluster_size": settings.min_seqlets,
        "final_min_cluster_size": settings.min_pattern_seqlets,
        "min_num_to_trim_to": settings.min_pattern_seqlets,
        "max_seqlets_per_metacluster": settings.max_seqlets,
        "trim_to_window_size": min(MOST_CORE_BP, settings.seqlet_bp + 2 * settings.flank_bp),
        "initial_flank_to_add": settings.flank_bp,
        "n_leiden_runs": 4,
    }


def _trimmed(pattern: object, windows: "AttributedWindows", name: str, sign: str) -> Pattern:
    """Return a pattern of tfmodisco-lite cut to the positions that contribute, with its seqlets cut in the same way."""
    contributions_P4 = np.asarray(pattern.contrib_scores, np.float64)
    shares_P4 = np.asarray(pattern.sequence, np.float64) + 1e-9  # a column of N alone adds up to 0
    shares_P4 /= shares_P4.sum(axis=1, keepdims=True)
    first, end = kept_positions(
        contributions_P4.sum(axis=1) * (1 if sign == "+" else -1), shares_P4
    )
    width = len(contributions_P4)
    hits = []
    for seqlet in pattern.seqlets:
        left, right = (width - end, first) if seqlet.is_revcomp else (first, width - end)
        hits.append(
            Hit(
                int(seqlet.example_idx),
                int(seqlet.start) + left,
                int(seqlet.end) - right,
                bool(seqlet.is_revcomp),
            )
        )
    return Pattern(
        windows.label, name, sign, shares_P4[first:end].T, contributions_P4[first:end].T, hits
    )


def information(shares_P4: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bits of each position, (P,): 2 minus its entropy.

    Example:
        >>> information(np.array([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])).tolist()
        [2.0, 1.0, 0.0]
    """
    logs_P4 = np.log2(np.where(shares_P4 > 0, shares_P4, 1.0))
    return 2 + (shares_P4 * logs_P4).sum(axis=1)


def kept_positions(
    contributions_P: NDArray[np.float64], shares_P4: NDArray[np.float64]
) -> tuple[int, int]:
    """Return the range of positions that contribute and are informative, at least LEAST_WIDTH.

    Example:
        >>> kept_positions(np.array([-0.8, 0.1, 0.9, 0.2, 1.0, 0.4, 0.1, 0.0]), np.eye(4)[[0] * 8])
        (2, 6)
        >>> kept_positions(np.array([0.0, 0.0, 0.0, 0.0, 0.1, 1.0]), np.eye(4)[[0] * 6])
        (2, 6)
    """
    width = len(contributions_P)
    contributes = contributions_P >= TRIM_SHARE * contributions_P.max()
    both = contributes & (information(shares_P4) >= LEAST_BITS)
    kept = np.flatnonzero(both if both.any() else contributes)
    first, end = int(kept[0]), int(kept[-1]) + 1
    missing = max(0, LEAST_WIDTH - (end - first))
    first = max(0, min(first - missing // 2, width - LEAST_WIDTH))
    return first, max(end, min(width, first + LEAST_WIDTH))
