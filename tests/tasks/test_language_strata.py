"""Costs by block, chromosome and class of sequence, against sums drawn by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from dna_bigbird.baselines.base_kmers import base_codes
from dna_bigbird.evaluation.evaluate_lm_parts import (
    ByChromosome,
    ByRepeatClass,
    BySequenceClass,
    HiddenTokens,
    part_tables,
    spread_costs,
)
from dna_bigbird.evaluation.evaluate_lm_seen import SeenBases, Text
from dna_bigbird.genome import Genome
from dna_bigbird.genome.coverage import merge_spans
from dna_bigbird.genome.repeats import RepeatClasses
from dna_bigbird.metrics.language import BLOCK_BP, CLASSES

PIECE_BP = np.array([0, 1, 2, 4])
CHROMOSOMES = ["chr1", "chr2", "chr3"]


class ByHand:
    """Two examples: tokens of 4, 2 and 2 bases on chr1 and chr2, then one of 4 on chr1."""

    store = SimpleNamespace(chromosomes=CHROMOSOMES)
    spans = (([0, 0, 1], [[2, 6], [6, 8], [0, 2]]), ([0], [[6, 10]]))

    def predicted_spans(self, index, piece_bp):
        chroms, bounds = self.spans[index]
        return np.array(chroms), np.array(bounds)


NATS = [np.array([8.0, 6, 5], dtype=np.float32), np.array([4.0], dtype=np.float32)]


@pytest.fixture
def strata(tmp_path):
    """chr1 is lower case from base 4 to 8; chr2 has one case only, which says nothing."""
    (tmp_path / "g.fa").write_text(">chr1\nACGTacgtACGT\n>chr2\nACGTACGT\n")
    repeats = RepeatClasses.from_soft_mask(Genome(tmp_path / "g.fa"))
    seen = SeenBases({}, [], [])
    return {
        "chrom": ByChromosome(CHROMOSOMES),
        "repeats": ByRepeatClass(repeats, CHROMOSOMES),
        "class": BySequenceClass(repeats, seen, CHROMOSOMES),
    }


def spread(strata):
    hidden = HiddenTokens(ByHand(), 2, PIECE_BP)
    return hidden, *spread_costs(hidden, NATS, np.ones((4, 1)), strata)


def test_costs_are_spread_over_bases(strata):
    """Model nats 8, 6, 5 and 4; the token at 2-6 is half soft-masked, so is the one at 6-10.

    All tokens of chr1 are in one block, from whichever example they are.
    """
    hidden, whole, parts = spread(strata)
    assert hidden.blocks == ["chr1:1-10000", "chr2:1-10000"]
    assert whole.tolist() == [[18, 3, 10], [5, 1, 2]]
    assert parts["chrom"].tolist() == [
        [[18, 3, 10], [0, 0, 0], [0, 0, 0]],
        [[0, 0, 0], [5, 1, 2], [0, 0, 0]],
    ]
    assert strata["repeats"].names == ["unmasked", "soft_masked", "unknown"]
    of_chr1 = [[4 + 2, 0.5 + 0.5, 2 + 2], [4 + 6 + 2, 0.5 + 1 + 0.5, 2 + 2 + 2], [0, 0, 0]]
    assert parts["repeats"].tolist() == [of_chr1, [[0, 0, 0], [0, 0, 0], [5, 1, 2]]]
    for name in ("chrom", "repeats"):
        assert parts[name].sum(axis=1).tolist() == whole.tolist()


def test_classes_add_up_to_the_whole(tmp_path):
    """Bases 40 to 80 of 120 are seen, 60 to 100 repeats: 40 unique, 20 repeat, 40 seen, of 100 hidden."""
    rng = np.random.default_rng(0)
    text = "".join(rng.choice(list("ACGT"), 120))
    (tmp_path / "g.fa").write_text(f">chr1\n{text[:60]}{text[60:100].lower()}{text[100:]}\n")
    repeats = RepeatClasses.from_soft_mask(Genome(tmp_path / "g.fa"))
    codes = base_codes(text)
    seen = SeenBases(
        {"chr1": merge_spans([0], [100])}, [Text("chr1", 0, codes)], [Text("chr9", 7, codes[40:80])]
    )
    way = BySequenceClass(repeats, seen, ["chr1"])
    assert way.names == list(CLASSES) == ["unseen", "unique", "repeat", "unknown", "seen"]
    starts = np.arange(0, 100, 5)
    shares = way.shares(np.zeros(20, int), np.stack([starts, starts + 5], axis=1))
    assert (5 * shares.sum(axis=0)).tolist() == [60, 40, 20, 0, 40]
    assert shares[:, 1:].sum(axis=1).tolist() == [1] * 20
    assert np.array_equal(shares[:, 0], shares[:, 1:4].sum(axis=1))
    without = BySequenceClass(None, seen, ["chr1"])
    shares = without.shares(np.zeros(20, int), np.stack([starts, starts + 5], axis=1))
    assert (5 * shares.sum(axis=0)).tolist() == [60, 0, 0, 60, 40]


def test_tables_name_the_parts_and_have_paired_differences(strata):
    _, _, parts = spread(strata)
    parts = {name: np.log(2) * values for name, values in parts.items()}
    parts = {name: np.dstack([x[:, :, :2], x[:, :, 2:] / np.log(2)]) for name, x in parts.items()}
    model, baseline = (part_tables(strata, parts, k, 0, "masked") for k in (0, 1))
    bits = {
        way: {name: (row["bits_per_base_masked"], row["n_bp"]) for name, row in table.items()}
        for way, table in model.items()
    }
    assert bits["chrom"] == {"chr1": (1.8, 10), "chr2": (2.5, 2), "chr3": (None, 0)}
    assert bits["repeats"] == {"unmasked": (1.5, 4), "soft_masked": (2.0, 6), "unknown": (2.5, 2)}
    assert bits["class"] == {
        "unseen": (pytest.approx(23 / 12, abs=1e-6), 12),
        "unique": (1.5, 4),
        "repeat": (2.0, 6),
        "unknown": (2.5, 2),
        "seen": (None, 0),
    }
    assert "model_minus_baseline_masked" not in model["chrom"]["chr1"]
    assert baseline["chrom"]["chr1"]["bits_per_base_masked"] == 0.3
    assert baseline["chrom"]["chr1"]["model_minus_baseline_masked"] == 1.5
    assert baseline["class"]["seen"]["model_minus_baseline_masked_low"] is None


def test_a_block_is_one_unit_however_many_examples_read_it():
    """Closed form of the ratio of sums over blocks; over examples the interval would be half as wide.

    40 blocks, each with its own bits per base; four examples read each block, with equal costs.
    """
    rng = np.random.default_rng(0)
    bits = np.repeat(rng.normal(1.9, 0.1, 40), 4)
    number = rng.permutation(160)

    class Overlapping:
        store = SimpleNamespace(chromosomes=["chr1"])

        def predicted_spans(self, index, piece_bp):
            start = BLOCK_BP * (number[index] // 4) + 10 * (number[index] % 4) + np.arange(5)
            return np.zeros(5, int), np.stack([start, start + 1], axis=1)

    hidden = HiddenTokens(Overlapping(), 160, PIECE_BP)
    assert len(hidden.blocks) == 40
    nats = [np.full(5, np.log(2) * bits[i]) for i in number]
    way = {"chrom": ByChromosome(["chr1"])}
    _, parts = spread_costs(hidden, nats, np.ones((800, 0)), way)
    row = part_tables(way, parts, 0, 0, "masked")["chrom"]["chr1"]
    of_block = bits[::4]
    error = np.sqrt(((of_block - of_block.mean()) ** 2).sum()) / 40
    half = (row["bits_per_base_masked_high"] - row["bits_per_base_masked_low"]) / 2
    assert half == pytest.approx(1.96 * error, rel=0.1)
