"""Costs by chromosome and repeat class, against sums drawn by hand."""

import numpy as np
import pytest

from dna_bigbird.evaluation.evaluate_lm_baselines import (
    ByChromosome,
    ByRepeatClass,
    spread_costs,
    strata_tables,
)
from dna_bigbird.genome import Genome
from dna_bigbird.genome.repeats import RepeatClasses

PIECE_BP = np.array([0, 1, 2, 4])


class ByHand:
    """Two examples: tokens of 4, 2 and 2 bases on chr1 and chr2, then one of 4 on chr1."""

    examples = (
        ([3, 2, 2], [0, 0, 1], [[2, 6], [6, 8], [0, 2]]),
        ([3], [0], [[6, 10]]),
    )

    def __getitem__(self, index):
        return {"labels": np.array(self.examples[index][0])}

    def predicted_spans(self, index, piece_bp):
        _, chroms, bounds = self.examples[index]
        return np.array(chroms), np.array(bounds)


@pytest.fixture
def strata(tmp_path):
    """chr1 is lower case from base 4 to 8; chr2 has one case only, which says nothing."""
    (tmp_path / "g.fa").write_text(">chr1\nACGTacgtACGT\n>chr2\nACGTACGT\n")
    repeats = RepeatClasses.from_soft_mask(Genome(tmp_path / "g.fa"))
    chromosomes = ["chr1", "chr2", "chr3"]
    return {"chrom": ByChromosome(chromosomes), "class": ByRepeatClass(repeats, chromosomes)}


def test_costs_are_spread_over_bases(strata):
    """Model nats 8, 6, 5 and 4; the token at 2-6 is half soft-masked, so is the one at 6-10."""
    nats = [np.array([8.0, 6, 5], dtype=np.float32), np.array([4.0], dtype=np.float32)]
    whole, parts = spread_costs(
        ByHand(), nats, lambda example: np.ones((len(example["labels"]), 1)), PIECE_BP, strata
    )
    assert whole.tolist() == [[19, 3, 8], [4, 1, 4]]
    assert parts["chrom"].tolist() == [
        [[14, 2, 6], [5, 1, 2], [0, 0, 0]],
        [[4, 1, 4], [0, 0, 0], [0, 0, 0]],
    ]
    assert strata["class"].names == ["unmasked", "soft_masked", "unknown"]
    assert parts["class"].tolist() == [
        [[4, 0.5, 2], [4 + 6, 0.5 + 1, 2 + 2], [5, 1, 2]],
        [[2, 0.5, 2], [2, 0.5, 2], [0, 0, 0]],
    ]
    for way in parts.values():
        assert way.sum(axis=1).tolist() == whole.tolist()


def test_tables_name_the_parts(strata):
    nats = [np.log(2) * np.array([8.0, 6, 5]), np.log(2) * np.array([4.0])]
    _, parts = spread_costs(
        ByHand(), nats, lambda example: np.ones((len(example["labels"]), 1)), PIECE_BP, strata
    )
    tables = strata_tables(strata, parts, 0, seed=0)
    bits = {
        way: {name: (row["bits_per_base_masked"], row["n_bp"]) for name, row in table.items()}
        for way, table in tables.items()
    }
    assert bits["chrom"] == {"chr1": (1.8, 10), "chr2": (2.5, 2), "chr3": (None, 0)}
    assert bits["class"] == {"unmasked": (1.5, 4), "soft_masked": (2.0, 6), "unknown": (2.5, 2)}


def test_without_ways_to_divide_only_the_whole_is_added_up():
    whole, parts = spread_costs(
        ByHand(), [np.ones(3), np.ones(1)], lambda e: np.ones((len(e["labels"]), 0)), PIECE_BP, {}
    )
    assert (whole.tolist(), parts) == ([[3, 8], [1, 4]], {})
