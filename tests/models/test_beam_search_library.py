"""Beam search with the library's formula: token for token what `generate` of the library writes."""

import itertools

import pytest

from dna_bigbird.bundles.huggingface import read_huggingface
from dna_bigbird.models.beam_search import beam_search
from tests.interop.pegasus_models import library_pegasus, save, sources

pytest.importorskip("transformers")
LENGTH = 14


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Three models, (library's, ours); the first never ends, the others by their bias now and then."""
    made = []
    for seed, bias in enumerate((-50.0, 3.5, 4.5)):
        theirs = library_pegasus(seed=seed, std=0.2)
        theirs.final_logits_bias[:, 1] = bias
        folder = save(theirs, tmp_path_factory.mktemp("pegasus"))
        made.append((theirs, read_huggingface(folder).model))
    return made


def generated(model, ids_BT, is_padding_BT, **settings):
    model.model.encoder.set_attention_type("block_sparse")  # short sources turn it off for good
    found = model.generate(
        ids_BT,
        attention_mask=(~is_padding_BT).long(),
        max_new_tokens=LENGTH,
        do_sample=False,
        **settings,
    )
    return [cut(row[1:].tolist()) for row in found]


def cut(row):
    return row[: row.index(1) + 1] if 1 in row else row[:LENGTH]


def searched(model, ids_BT, is_padding_BT, **settings):
    found = beam_search(
        model, ids_BT, is_padding_BT, max_length=LENGTH, length_formula="library", **settings
    )
    return [cut(row.tolist()) for row in found]


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize(
    ("lengths", "beams", "penalties"),
    [((60, 17, 41), (1, 2, 5), (0.0, 0.8, 1.0)), ((730, 712), (5,), (0.0, 1.0))],
)
def test_tokens_equal_those_of_generate(pairs, number, lengths, beams, penalties):
    """Batches with padding, full and block-sparse encoders, ends met and not met."""
    theirs, ours = pairs[number]
    inputs = sources(lengths, seed=number)
    ends = []
    for beam, penalty, early in itertools.product(beams, penalties, (False, True)):
        rule = {"length_penalty": penalty, "early_stopping": early}
        expected = generated(theirs, *inputs, num_beams=beam, **rule)
        assert searched(ours, *inputs, beam_size=beam, **rule) == expected, (beam, rule)
        ends += [row[-1] == 1 for row in expected]
    assert set(ends) == {0: {False}, 1: {False, True}, 2: {False, True}}[number]


def test_minimum_length(pairs):
    """A model that likes to end, without a reward for length."""
    theirs, ours = pairs[2]
    inputs = sources((60, 17, 41))
    rule = {"num_beams": 3, "length_penalty": 0.0}
    assert min(map(len, generated(theirs, *inputs, **rule))) < 6
    expected = generated(theirs, *inputs, **rule, min_new_tokens=5)
    found = searched(ours, *inputs, beam_size=3, min_length=5, length_penalty=0.0)
    assert found == expected
    assert min(map(len, found)) == 6
