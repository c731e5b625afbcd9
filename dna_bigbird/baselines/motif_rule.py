"""The baseline `motif`: a rule without training for windows around a start site."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.baselines.config import MOTIF_UPSTREAM_BP
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.motif_files import LETTERS
from dna_bigbird.genome.motifs import load_motifs
from dna_bigbird.labelled.labelled_set import LabelledSet

# N rows, P places, W width of the matrix

PLACES = 11
"""First bases of a match: -36 to -26, where the first transcribed base is +1 and the one before it -1."""


class MotifRule:
    """The best match of the TATA matrix where a TATA box is: 26 to 36 bases before the start site.

    The matrix is MA0108.2 of JASPAR, the counts of Bucher (J. Mol. Biol. 1990) in 389 promoters; its second
    column is the first T of TATA. A base N scores 0.

    Args:
        upstream_bp: Bases before the start site in each window, at least `MOTIF_UPSTREAM_BP`.
    """

    def __init__(self, upstream_bp: int) -> None:
        self.matrix = load_motifs()["TBP"]
        self._first = upstream_bp - MOTIF_UPSTREAM_BP
        self._scores = np.vstack([self.matrix.log_odds, np.zeros(self.matrix.width)])

    @classmethod
    def for_set(cls, labelled: LabelledSet) -> "MotifRule":
        """Return the rule for the windows of a set.

        Raises:
            InputError: If they have no start site, or it is too close to their beginning.
        """
        if labelled.upstream_bp is None or labelled.upstream_bp < MOTIF_UPSTREAM_BP:
            raise InputError(
                f"{labelled.path}: --method motif is for sets of promoter-set with --upstream "
                f"{MOTIF_UPSTREAM_BP} or more; use --method positional for other aligned windows"
            )
        return cls(labelled.upstream_bp)

    def describe(self) -> str:
        """Return one sentence for the report."""
        return (
            f"Best match of the TATA matrix {self.matrix.matrix_id} that begins at -36 to -26 of the "
            "start site, without training."
        )

    def features(
        self, sequences: Iterable[str], progress: Callable[[Iterable], Iterable] = iter
    ) -> NDArray[np.float64]:
        """Return the log odds of the best match, in bits against equal base frequencies, (N, 1)."""
        return np.array([[self._best(x)] for x in progress(sequences)]).reshape(-1, 1)

    def predict(self, features_N1: NDArray) -> NDArray[np.float32]:
        """Return the odds as probabilities, (N, 1): 0.5 at 0 bits; they are not calibrated."""
        return (1 / (1 + np.exp2(-features_N1))).astype(np.float32)

    def _best(self, sequence: str) -> float:
        region = sequence[self._first : self._first + PLACES + self.matrix.width - 1]
        codes = np.array([LETTERS.find(base) for base in region])  # -1, an N, is the last row
        matches_PW = np.lib.stride_tricks.sliding_window_view(codes, self.matrix.width)
        return float(self._scores[matches_PW, np.arange(self.matrix.width)].sum(axis=1).max())
