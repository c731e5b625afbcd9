"""Published binding-site matrices: reading, scoring, drawing sites.

The matrices are a small selection of JASPAR; `data/PROVENANCE.md` names the source of each.
"""

from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import numpy as np

from dna_bigbird.genome.motif_files import LETTERS, read_motifs

PROBABILITY_FLOOR = 0.01
"""Least probability of a base in a column, so that no base scores minus infinity."""

FACTOR_MATRICES = {
    "TBP": "MA0108.2",
    "INR": "POL002.1",
    "DPE": "POL005.1",
    "SP1": "MA0079.3",
    "NRF1": "MA0506.1",
    "NFYA": "MA0060.3",
    "GABPA": "MA0062.4",
    "YY1": "MA0095.2",
    "CTCF": "MA0139.2",
    "REST": "MA0138.3",
    "JUN": "MA0099.4",
    "CEBPB": "MA0466.4",
    "TEAD1": "MA0090.4",
    "STAT1": "MA0137.4",
    "IRF1": "MA0050.4",
    "GATA1": "MA0035.3",
    "RUNX1": "MA0002.3",
    "FOXA1": "MA0148.3",
    "HNF4A": "MA1494.2",
    "MEF2A": "MA0052.3",
}
"""The short name used in labels and files, and its JASPAR matrix."""


@dataclass(frozen=True, eq=False)
class Motif:
    """A count matrix with log-odds scores in bits against equal base frequencies."""

    # log2(p / 0.25) summed over columns, with p = 0.96 * count share + 0.01. The `share` of a site
    # is its score over the best possible one.

    factor: str
    matrix_id: str
    counts: np.ndarray
    """(4, width), rows A C G T, as published."""
    probabilities: np.ndarray = field(init=False)
    log_odds: np.ndarray = field(init=False)
    max_score: float = field(init=False)

    def __post_init__(self) -> None:
        shares = self.counts / self.counts.sum(axis=0)
        floored = shares * (1 - 4 * PROBABILITY_FLOOR) + PROBABILITY_FLOOR
        object.__setattr__(self, "probabilities", shares)
        object.__setattr__(self, "log_odds", np.log2(floored / 0.25))
        object.__setattr__(self, "max_score", float(self.log_odds.max(axis=0).sum()))

    @property
    def width(self) -> int:
        """Length in base pairs."""
        return self.counts.shape[1]

    def score(self, site: str) -> float:
        """Return the log-odds score, in bits, of a site of exactly this width over A C G T."""
        codes = [LETTERS.index(base) for base in site]
        return float(self.log_odds[codes, np.arange(self.width)].sum())

    def share(self, site: str) -> float:
        """Return the score of a site as a share of the best possible score."""
        return self.score(site) / self.max_score

    def draw(self, rng: np.random.Generator, least_share: float) -> str:
        """Draw a site from the matrix, again until its share of the best score is high enough."""
        cumulative = self.probabilities.cumsum(axis=0)
        columns = np.arange(self.width)
        while True:
            uniform = rng.random((256, 1, self.width))
            codes = (uniform > cumulative[None, :3]).sum(axis=1)
            scores = self.log_odds[codes, columns].sum(axis=1)
            passing = np.flatnonzero(scores >= least_share * self.max_score)
            if passing.size:
                return "".join(LETTERS[code] for code in codes[passing[0]])

    def worst_change(self, site: str) -> tuple[int, str]:
        """Return the offset and the new base of the substitution that lowers the score most."""
        codes = [LETTERS.index(base) for base in site]
        loss = self.log_odds[codes, np.arange(self.width)] - self.log_odds
        base, offset = np.unravel_index(int(loss.argmax()), loss.shape)
        return int(offset), LETTERS[base]

    def best_share(self, sequence: str) -> float:
        """Return the highest share of a window without N on either strand, else minus infinity."""
        codes = np.array([LETTERS.find(base) for base in sequence])
        if len(codes) < self.width:
            return -np.inf
        windows = np.lib.stride_tricks.sliding_window_view(codes, self.width)
        windows = windows[(windows >= 0).all(axis=1)]
        if not len(windows):
            return -np.inf
        columns = np.arange(self.width)
        forward = self.log_odds[windows, columns].sum(axis=1).max()
        reverse = self.log_odds[::-1, ::-1][windows, columns].sum(axis=1).max()
        return float(max(forward, reverse)) / self.max_score


@cache
def load_motifs() -> dict[str, Motif]:
    """Return the package's matrices by short factor name."""
    selection = resources.files("dna_bigbird.genome") / "data/jaspar_selection.jaspar"
    with resources.as_file(selection) as path:
        matrices = {motif.identifier: motif.counts for motif in read_motifs(path)}
    return {
        factor: Motif(factor, matrix_id, matrices[matrix_id])
        for factor, matrix_id in FACTOR_MATRICES.items()
    }
