"""Weights of predicted tokens in soft-masked repeats, base by base."""

import numpy as np
import pytest
import torch

from dna_bigbird.corpus.batches import collate_pretraining, pack, unpack
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.genome import Interval
from dna_bigbird.genome.repeats import RepeatClasses
from dna_bigbird.training.pretrain_run import RepeatWeighted


@pytest.fixture(scope="module")
def examples(toy_corpus) -> PretrainExamples:
    return PretrainExamples(toy_corpus.store, toy_corpus.tokenizer, 128, MaskingConfig(), seed=5)


@pytest.fixture(scope="module")
def weighted(toy_corpus, examples) -> RepeatWeighted:
    classes = RepeatClasses.from_soft_mask(toy_corpus.genome)
    return RepeatWeighted(examples, classes, 0.1, toy_corpus.tokenizer.piece_bp)


def test_a_weight_is_the_mean_over_the_bases(toy_corpus, examples, weighted):
    """chr1 has both cases; chr2 only upper case, so nothing there is a repeat."""
    store, found = toy_corpus.store, set()
    for index in range(40):
        example = weighted[index]
        chroms, bounds = examples.predicted_spans(index, toy_corpus.tokenizer.piece_bp)
        for weight, chrom, (start, end) in zip(example["weights"], chroms, bounds, strict=True):
            letters = toy_corpus.genome.letters(Interval(store.chromosomes[chrom], start, end))
            expected = sum(0.1 if chr(x) in "acgtn" else 1.0 for x in letters) / (end - start)
            assert weight == pytest.approx(expected, abs=1e-6)
            found.add((store.chromosomes[chrom], bool(expected < 1)))
    assert found == {("chr1", True), ("chr1", False), ("chr2", False)}


def test_nothing_else_changes(examples, weighted):
    for index in (0, 77, 10**9):
        one, other = weighted[index], examples[index]
        assert one.pop("weights").dtype == np.float32
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", ["examples", "weighted"])
def test_weights_reach_the_batch(name, request):
    """Also through a data worker, which sends one buffer; without weights there are none."""
    source = request.getfixturevalue(name)
    batch = collate_pretraining([(i, source[i]) for i in range(4)])
    expected = np.concatenate([source[i].get("weights", np.zeros(0)) for i in range(4)])
    assert len(expected) in (0, len(batch.labels_P))
    assert (len(expected) > 0) == (name == "weighted")
    np.testing.assert_array_equal(batch.weights_P, expected)
    again = unpack(pack(batch))
    assert all(torch.equal(a, b) for a, b in zip(batch, again, strict=True))
    assert again.weights_P.dtype == torch.float32
