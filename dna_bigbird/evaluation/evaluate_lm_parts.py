"""Where hidden tokens lie: blocks of the genome, which intervals draw, and parts that are scored apart."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore, check_store_genome
from dna_bigbird.evaluation.evaluate_lm_seen import SeenBases, covered_text, regions_read
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.coverage import Spans, merge_spans
from dna_bigbird.genome.repeats import RepeatClasses, repeat_classes
from dna_bigbird.metrics.language import BLOCK_BP, CLASSES, by_stratum

# N examples, P hidden tokens of all examples, U blocks, S strata, K values of a token


class HiddenTokens:
    """Where the hidden tokens of some examples lie on the genome, one example after the other.

    Examples overlap on the genome, and one of two parts lies at two positions. So the unit of intervals
    is not the example but the block of `BLOCK_BP` that has the first base of a token: all tokens there
    are drawn together, however many examples hide them.

    Attributes:
        chroms, bounds: Numbers into `chromosomes`, (P,), and 0-based start and end, (P, 2).
        bases: Of each token, (P,).
        blocks: Names of the U blocks, such as "chr22:19500001-19510000".
    """

    def __init__(self, examples: PretrainExamples, count: int, piece_bp: np.ndarray) -> None:
        spans = [examples.predicted_spans(number, piece_bp) for number in range(count)]
        self.chroms = np.concatenate([chroms for chroms, _ in spans])
        self.bounds = np.concatenate([bounds for _, bounds in spans])
        self.bases = self.bounds[:, 1] - self.bounds[:, 0]
        counts = [len(chroms) for chroms, _ in spans]
        self._first = np.cumsum([0, *counts[:-1]])
        self.chromosomes = examples.store.chromosomes
        block_of_token = np.stack([self.chroms, self.bounds[:, 0] // BLOCK_BP], axis=1)
        blocks, number = np.unique(block_of_token, axis=0, return_inverse=True)
        self._block = number.reshape(-1)
        self.blocks = [
            f"{self.chromosomes[chrom]}:{block * BLOCK_BP + 1}-{(block + 1) * BLOCK_BP}"
            for chrom, block in blocks.tolist()
        ]

    def by_block(self, values: np.ndarray) -> np.ndarray:
        """Sum values of tokens by block, (P, K) to (U, K)."""
        return _summed(values, self._block, len(self.blocks))

    def examples_by_block(self, values: np.ndarray) -> np.ndarray:
        """Sum values of examples by the block of their first hidden token, (N, K) to (U, K)."""
        return _summed(values, self._block[self._first], len(self.blocks))

    def by_part(self, way: "Strata", values: np.ndarray) -> np.ndarray:
        """Sum values of tokens by block and part, (P, K) to (U, S, K)."""
        shares = way.shares(self.chroms, self.bounds)
        return np.stack([self.by_block(values * share[:, None]) for share in shares.T], axis=1)

    def spans(self) -> dict[str, Spans]:
        """Return the bases of the tokens by chromosome."""
        return {
            self.chromosomes[number]: merge_spans(*self.bounds[self.chroms == number].T)
            for number in np.unique(self.chroms).tolist()
        }


def _summed(values: np.ndarray, owner: np.ndarray, count: int) -> np.ndarray:
    columns = [np.bincount(owner, column, minlength=count) for column in values.T]
    return np.stack(columns, axis=1)


class Strata(Protocol):
    """A way to divide the genome."""

    names: list[str]

    def shares(self, chroms: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Return which share of the bases of each token is in each part, (P,), (P, 2) to (P, S)."""
        ...


class ByChromosome:
    """One part per chromosome of a token store."""

    def __init__(self, chromosomes: list[str]) -> None:
        self.names = chromosomes

    def shares(self, chroms: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """See `Strata.shares`; a token lies on one chromosome."""
        return (chroms[:, None] == np.arange(len(self.names))).astype(np.float64)


class ByRepeatClass:
    """One part per class of `RepeatClasses`."""

    def __init__(self, repeats: RepeatClasses, chromosomes: list[str]) -> None:
        self.names = list(repeats.names)
        self._repeats = repeats
        self._chromosomes = chromosomes

    def shares(self, chroms: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """See `Strata.shares`."""
        shares = np.zeros((len(chroms), len(self._repeats.names)))
        for number in np.unique(chroms):
            here = chroms == number
            shares[here] = self._repeats.shares(self._chromosomes[number], bounds[here])
        return shares


class BySequenceClass(ByRepeatClass):
    """Unique sequence, repeats (or `unknown` if no repeats are known), seen; and all that is not seen."""

    def __init__(
        self, repeats: RepeatClasses | None, seen: SeenBases, chromosomes: list[str]
    ) -> None:
        super().__init__(RepeatClasses(CLASSES[1:], _Classes(repeats, seen)), chromosomes)
        self.names = list(CLASSES)

    def shares(self, chroms: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """See `Strata.shares`; the first part is what the last leaves: the parts between them."""
        shares = super().shares(chroms, bounds)
        return np.column_stack([1 - shares[:, -1], shares])


class _Classes:
    """The class of every base, as an index into `CLASSES` without the first."""

    def __init__(self, repeats: RepeatClasses | None, seen: SeenBases) -> None:
        self._repeats, self._seen = repeats, seen
        names = repeats.names if repeats else ("unknown",)
        self._numbers = np.array([_class_number(name) for name in names], np.uint8)

    def classes(self, interval: Interval) -> np.ndarray:
        known = np.zeros(interval.length, np.uint8)
        if self._repeats is not None:
            known = self._repeats.classes(interval)
        seen = self._seen.classes(interval) > 0
        return np.where(seen, len(CLASSES) - 2, self._numbers[known]).astype(np.uint8)


def _class_number(name: str) -> int:
    """Return which of `CLASSES` without the first a class of repeats is."""
    usual = {"unmasked": "unique", "none": "unique", "unknown": "unknown"}.get(name, "repeat")
    return CLASSES.index(usual) - 1


def known_repeats(
    store: TokenStore, genome: Path | None, repeats: Path | None, pieces: bool
) -> RepeatClasses | None:
    """Return the repeat class of every base of a store's genome; None without the genome."""
    if genome is None:
        if repeats is not None:
            raise InputError("--repeats needs the genome too: give --genome")
        return None
    reference = Genome(genome)
    check_store_genome(store, reference)
    return repeat_classes(reference, repeats, pieces)


def ways_to_divide(
    bundle: Bundle, train: TokenStore, test: TokenStore, hidden: HiddenTokens,
    repeats: RepeatClasses | None,
) -> dict[str, Strata]:  # fmt: skip
    """Return the ways to divide the scores, by the name of their table in metrics.json."""
    strata: dict[str, Strata] = {"by_chromosome": ByChromosome(test.chromosomes)}
    if repeats is not None:
        strata["by_repeat_class"] = ByRepeatClass(repeats, test.chromosomes)
    seen = SeenBases(
        hidden.spans(),
        covered_text(test, bundle.tokenizer),
        covered_text(train, bundle.tokenizer),
        regions_read(bundle.config.regions_read, test.assembly),
    )
    return strata | {"by_class": BySequenceClass(repeats, seen, test.chromosomes)}


def spread_costs(
    hidden: HiddenTokens,
    token_nats: Sequence[np.ndarray],
    baseline_nats: np.ndarray,
    strata: Mapping[str, Strata],
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return nats of the model and of K - 1 baselines, (P, K - 1), then bases, summed by block.

    Returns:
        Sums (U, K + 1), and by way to divide those by block and part, (U, S, K + 1).
    """
    values = np.column_stack([np.concatenate(token_nats), baseline_nats, hidden.bases])
    return hidden.by_block(values), {
        name: hidden.by_part(way, values) for name, way in strata.items()
    }


def part_tables(
    strata: Mapping[str, Strata], parts: Mapping[str, np.ndarray], k: int, seed: int, shown: str
) -> dict[str, dict]:
    """Return the tables of predictor k (0: the model) for each division, from sums (U, S, K + 1)."""
    return {
        name: by_stratum(
            way.names,
            parts[name][:, :, k],
            parts[name][:, :, -1],
            seed,
            shown,
            model_nats_US=parts[name][:, :, 0] if k else None,
        )
        for name, way in strata.items()
    }
