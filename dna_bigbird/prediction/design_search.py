"""Greedy and beam search over the substitutions of a window, within limits: the search of `design`."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.kmer_numbers import canonical_kmers

# N sequences, L labels, K k-mers

LETTERS = "ACGT"
IUPAC = {
    "A": "A", "C": "C", "G": "G", "T": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC",
    "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip
COMPLEMENT = str.maketrans("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN")
Score = Callable[[list[str]], NDArray[np.float64]]
"""Returns the log odds (N, L) of sequences."""


def gc_content(text: str) -> float:
    """Return the share of G and C among the known bases."""
    known = sum(map(text.count, LETTERS))
    return (text.count("G") + text.count("C")) / known if known else 0.0


def pattern_sites(text: str, pattern: str) -> int:
    """Return at how many places an IUPAC pattern matches one strand or both; overlapping ones count.

    Example:
        >>> pattern_sites("AAAATTT", "AAAW"), pattern_sites("GAATTC", "GAATTC")
        (3, 1)
    """
    both = {pattern, pattern.translate(COMPLEMENT)[::-1]}
    forms = ("".join(f"[{IUPAC[code]}]" for code in each) for each in both)
    return sum(1 for _ in re.finditer(f"(?={'|'.join(forms)})", text))


def check_pattern(pattern: str) -> str:
    """Return a pattern in upper case; InputError if it is not made of IUPAC codes."""
    pattern = pattern.upper()
    if not pattern or set(pattern) - set(IUPAC):
        raise InputError(f"--forbidden {pattern!r}: expected IUPAC codes, such as GAATTC or RGATCY")
    return pattern


def kmer_shares(text: str, k: int) -> NDArray[np.float64]:
    """Return the share of each k-mer, counted with its reverse complement; without N."""
    codes = np.array([LETTERS.find(base) for base in text])
    windows = np.lib.stride_tricks.sliding_window_view(codes, k)
    windows = windows[(windows >= 0).all(axis=1)]
    numbers = canonical_kmers(k)
    counts = np.bincount(numbers[windows @ 4 ** np.arange(k)[::-1]], minlength=numbers.max() + 1)
    return counts / max(counts.sum(), 1)


@dataclass(frozen=True, eq=False)
class KmerContent:
    """The mean k-mer content of real windows, and the largest distance from it that is allowed."""

    k: int
    shares: NDArray[np.float64]
    """(K,)"""
    limit: float

    @classmethod
    def of(cls, windows: Sequence[str], k: int, limit: float | None, share: float) -> "KmerContent":
        """Take the content of windows; without a limit, the one that this share of them keep."""
        shares_NK = np.array([kmer_shares(text, k) for text in windows])
        content = cls(k, shares_NK.mean(axis=0), 0.0)
        if limit is None:
            limit = float(np.quantile([content.distance(text) for text in windows], share))
        return cls(k, content.shares, limit)

    def distance(self, text: str) -> float:
        """Return the Jensen-Shannon distance: the square root of the divergence in bits, from 0 to 1."""
        both = kmer_shares(text, self.k), self.shares
        mean_K = sum(both) / 2
        bits = [x[x > 0] @ np.log2(x[x > 0] / mean_K[x > 0]) for x in both]
        return float(np.sqrt(max(sum(bits) / 2, 0.0)))


@dataclass(frozen=True)
class Limits:
    """What a designed sequence has to keep. One that begins outside of a limit may only come nearer."""

    min_gc: float = 0.0
    max_gc: float = 1.0
    forbidden: Sequence[str] = ()
    content: KmerContent | None = None

    def measures(self, text: str) -> dict[str, float]:
        """Return the limited values of a sequence: gc, forbidden_sites, and kmer_distance if it is limited."""
        sites = sum(pattern_sites(text, pattern) for pattern in self.forbidden)
        values = {"gc": gc_content(text), "forbidden_sites": sites}
        return values | (
            {"kmer_distance": self.content.distance(text)} if self.content is not None else {}
        )

    def excess(self, measures: dict[str, float]) -> list[float]:
        """Return how far outside of each limit a sequence is, 0 if inside."""
        gc = measures["gc"]
        outside = [max(self.min_gc - gc, gc - self.max_gc), measures["forbidden_sites"]]
        if self.content is not None:
            outside.append(measures["kmer_distance"] - self.content.limit)
        return [max(value, 0.0) for value in outside]

    def allow(self, measures: dict[str, float], before: dict[str, float]) -> bool:
        """Return whether a substitution may lead from one sequence to another."""
        pairs = zip(self.excess(measures), self.excess(before), strict=True)
        return all(now <= then for now, then in pairs)


@dataclass(frozen=True)
class Goal:
    """Raises one label; others stay as they are."""

    label: int
    unchanged: Sequence[int] = ()
    weight: float = 1.0
    tolerance: float | None = None

    def values(
        self, log_odds_NL: NDArray[np.float64], start_L: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the objective (N,): log odds less the weighted mean change of others; -inf beyond the tolerance."""
        values_N = log_odds_NL[:, self.label]
        if len(self.unchanged) == 0:
            return values_N
        changes = np.abs(log_odds_NL - start_L)[:, list(self.unchanged)]
        values_N = values_N - self.weight * changes.mean(axis=1)
        if self.tolerance is not None:
            values_N = np.where(changes.max(axis=1) <= self.tolerance, values_N, -np.inf)
        return values_N


@dataclass(frozen=True)
class Step:
    """A sequence of a path, and the substitution that led to it; the start has none."""

    text: str
    measures: dict[str, float]
    position: int = -1
    """0-based."""
    ref: str = ""
    log_odds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """(L,)"""
    value: float = -np.inf
    """The objective."""

    @property
    def alt(self) -> str:
        return self.text[self.position] if self.ref else ""


Steps = tuple[Step, ...]
"""From the start on, one substitution after the other."""


def search(
    score: Score,
    start: str,
    positions: Sequence[int],
    edits: int,
    *,
    goal: Goal,
    limits: Limits,
    beam: int = 1,
    done: Callable[[int], object] = lambda count: None,
) -> Steps:
    """Return the path to the best sequence that the search met, of at most so many substitutions.

    At every step all substitutions of the sequences in the beam are scored, at positions that they have not changed,
    and the best are the next beam. A beam of 1 is greedy. Of equal ones the first is taken.

    Args:
        positions: 0-based, of the bases that may change.
        done: Called with 1 after each step.
    """
    log_odds_NL = score([start])
    origin = log_odds_NL[0]

    def scored(steps: list[Step], log_odds_NL: NDArray[np.float64]) -> Iterator[Step]:
        values_N = goal.values(log_odds_NL, origin)
        for step, row, value in zip(steps, log_odds_NL, values_N.tolist(), strict=True):
            yield Step(step.text, step.measures, step.position, step.ref, row, value)

    best: Steps = (*scored([Step(start, limits.measures(start))], log_odds_NL),)
    paths = [best]
    for _ in range(edits):
        seen: set[str] = set()
        following: list[Steps] = []
        for path in paths:
            steps = [x for x in next_steps(path, positions, limits) if x.text not in seen]
            seen.update(step.text for step in steps)
            if steps:
                rows = scored(steps, score([step.text for step in steps]))
                following += [(*path, step) for step in rows if step.value > -np.inf]
                following = sorted(following, key=lambda each: -each[-1].value)[:beam]
        done(1)
        paths = following
        best = max([best, *paths[:1]], key=lambda each: each[-1].value)
    return best


def next_steps(path: Steps, positions: Sequence[int], limits: Limits) -> Iterator[Step]:
    """Yield every allowed substitution of the last sequence at a position that the path has not changed."""
    here, changed = path[-1], {step.position for step in path}
    for position in positions:
        ref = here.text[position]
        for base in LETTERS if position not in changed else "":
            if base != ref:
                text = here.text[:position] + base + here.text[position + 1 :]
                measures = limits.measures(text)
                if limits.allow(measures, here.measures):
                    yield Step(text, measures, position, ref)
