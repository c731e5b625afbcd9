"""Costs of predicted tokens, spread over chromosomes and repeat classes."""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from dna_bigbird.metrics.language import by_stratum

# N examples, M predicted tokens of one, S strata, K predictors


class Strata(Protocol):
    """A way to divide the genome; every base lies in exactly one part."""

    names: list[str]

    def sums(self, chroms: np.ndarray, bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Sum values of tokens by part: (M,), (M, 2), (M, K) to (S, K)."""
        ...


class ByChromosome:
    """One part per chromosome of a token store."""

    def __init__(self, chromosomes: list[str]) -> None:
        self.names = chromosomes

    def sums(self, chroms: np.ndarray, bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
        """See `Strata.sums`; a token lies on one chromosome."""
        total = np.zeros((len(self.names), values.shape[1]))
        np.add.at(total, chroms, values)
        return total


class ByRepeatClass:
    """One part per repeat class; a token in two classes is shared by its bases.

    Args:
        repeats: genome.repeats.RepeatClasses.
        chromosomes: Those of the token store, by number.
    """

    def __init__(self, repeats, chromosomes: list[str]) -> None:
        self.names = list(repeats.names)
        self._repeats = repeats
        self._chromosomes = chromosomes

    def sums(self, chroms: np.ndarray, bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
        """See `Strata.sums`."""
        total = np.zeros((len(self.names), values.shape[1]))
        for number in np.unique(chroms):
            here = chroms == number
            total += self._repeats.sums(self._chromosomes[number], bounds[here], values[here])
        return total


def spread_costs(
    examples,
    token_nats: list[np.ndarray],
    baseline_nats: Callable[[dict], np.ndarray],
    piece_bp: np.ndarray,
    strata: dict[str, Strata],
    progress: Callable[[Iterable], Iterable] = iter,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Add up, example by example, what the model and the baselines pay.

    Args:
        examples: datasets.pretraining_examples.PretrainExamples.
        token_nats: Of the model, one array per example.
        baseline_nats: Gives those of K - 1 baselines for an example, (M, K - 1).
        piece_bp: Base pairs of every token id.

    Returns:
        Sums of the K predictors and, last, the bases: (N, K + 1), and for each of `strata`
        (N, S, K + 1).
    """
    whole = []
    parts: dict[str, list[np.ndarray]] = {name: [] for name in strata}
    for number in progress(range(len(token_nats))):
        example = examples[number]
        values = np.column_stack(
            [token_nats[number], baseline_nats(example), piece_bp[example["labels"]]]
        )
        whole.append(values.sum(axis=0))
        if strata:
            chroms, bounds = examples.predicted_spans(number, piece_bp)
            for name, way in strata.items():
                parts[name].append(way.sums(chroms, bounds, values))
    return np.array(whole), {name: np.array(rows) for name, rows in parts.items()}


def strata_tables(
    strata: dict[str, Strata],
    parts: dict[str, np.ndarray],
    predictor: int,
    seed: int,
    score: str = "bits_per_base_masked",
) -> dict[str, dict]:
    """Return the tables of one predictor for each division, as `metrics.language.by_stratum`.

    Parts without any predicted base stay in, undefined: what was not measured is seen.

    Args:
        parts: As `spread_costs` returns.
        predictor: Number of the predictor, 0 for the model.
        score: What the bits per base are called.
    """
    return {
        name: by_stratum(
            way.names, parts[name][:, :, predictor], parts[name][:, :, -1], seed, score
        )
        for name, way in strata.items()
    }
