"""What a layer of each core reads and costs: against dense tables, counts by hand and a clock of the test."""

import itertools

import numpy as np
import pytest
import torch

from dna_bigbird.evaluation.long_attention.cost import (
    exactness,
    interleaved_seconds,
    measure_cost,
    pattern_facts,
    saved_bytes,
)
from dna_bigbird.evaluation.long_attention.names import CORES, IDENTITY
from dna_bigbird.evaluation.long_attention.small_models import LayerSizes, build_layer, draw_by_name

SMALL = LayerSizes(hidden_size=16, num_heads=2, block_size=4, features=16)
TOKENS = 64


def reads(core):
    """(queries, keys) bool, by moving one token at a time and looking which outputs change."""
    layer = build_layer(core, TOKENS, SMALL)
    states = layer.states.double()
    layer.module.double()
    if core == "etc":  # the global stream is an input of its own
        return None
    with torch.no_grad():
        out = layer.attend(states)
        table = np.zeros((TOKENS, TOKENS), bool)
        for key in range(TOKENS):
            moved = states.clone()
            moved[0, key] += 1
            change = (layer.attend(moved) - out).abs().amax(-1)[0]
            table[:, key] = (change > 1e-12).numpy()
    return table


@pytest.mark.parametrize("core", ["full", "bigbird", "longformer", "performer"])
def test_keys_and_share_are_those_that_change_the_output(core):
    facts = pattern_facts(core, TOKENS, SMALL)
    if core == "bigbird":  # heads draw random blocks of their own: of one head
        assert facts["keys_per_query"] == 8 * 4
        return
    table = reads(core)
    assert facts["keys_per_query"] == np.median(table.sum(1))
    assert facts["share_of_pairs"] == pytest.approx(table.mean())


def test_a_long_token_of_etc_reads_its_band_and_all_global_tokens():
    facts = pattern_facts("etc", TOKENS, SMALL)
    num_global = TOKENS // 16
    assert facts["keys_per_query"] == 2 * 6 + 1 + num_global
    of_long = sum(min(i + 6, TOKENS - 1) - max(i - 6, 0) + 1 + num_global for i in range(TOKENS))
    of_global = num_global * (16 + num_global)
    assert facts["share_of_pairs"] == pytest.approx(
        (of_long + of_global) / (TOKENS + num_global) ** 2
    )


@pytest.mark.parametrize("core", CORES)
def test_distances_are_those_of_its_graph(core):
    facts = pattern_facts(core, TOKENS, SMALL)
    assert facts["diameter"] == (1 if core in ("full", "performer") else 2)
    assert 1 <= facts["mean_distance"] < 2


def test_the_least_layer_reads_only_itself():
    """Its output is that of full attention over a single token, for each token."""
    least, full = (build_layer(core, TOKENS, SMALL) for core in (IDENTITY, "full"))
    np.testing.assert_array_equal(reads(IDENTITY), np.eye(TOKENS, dtype=bool))
    with torch.no_grad():
        alone = torch.cat([full.attend(full.states[:, i : i + 1]) for i in range(3)], dim=1)
        np.testing.assert_allclose(least.attend(least.states)[:, :3], alone, atol=1e-5)


def test_only_the_performer_differs_from_its_reference():
    errors = {core: exactness(core, TOKENS, SMALL)["error_of_reference"] for core in CORES}
    assert max(error for core, error in errors.items() if core != "performer") < 1e-5
    assert errors["performer"] > 0.01


def test_more_features_bring_the_performer_nearer():
    few, many = (
        exactness("performer", TOKENS, LayerSizes(16, 2, 4, features))["error_of_reference"]
        for features in (8, 4096)
    )
    assert many < few / 4  # with 512 times as many, about a twentieth


def test_equal_names_and_shapes_have_equal_weights():
    full, other = (build_layer(core, TOKENS, SMALL).module for core in ("full", "performer"))
    assert torch.equal(full.qkv.weight, other.qkv.weight)
    assert torch.equal(full.output.weight, other.output.weight)
    assert not full.qkv.bias.any()
    assert not other.qkv.bias.any()
    assert not torch.equal(full.qkv.weight[:16], full.output.weight)
    again = build_layer("full", TOKENS, SMALL, seed=1).module
    assert not torch.equal(full.qkv.weight, again.qkv.weight)


def test_vectors_keep_their_constants():
    norm = torch.nn.LayerNorm(4)
    draw_by_name(norm, seed=0, std=1.0)
    assert norm.weight.tolist() == [1] * 4


def test_layers_take_turns_and_every_second_round_runs_backwards():
    calls, ticks = [], itertools.count()
    seconds = interleaved_seconds("ab", calls.append, rounds=2, clock=lambda: next(ticks))
    assert "".join(calls) == "ab" + "ba" + "ab"
    assert seconds == [[1, 1], [1, 1]]


@pytest.mark.parametrize("core", ["bigbird", "longformer", "performer"])
def test_saved_memory_is_linear(core):
    half, whole = (saved_bytes(build_layer(core, tokens, SMALL)) for tokens in (1024, 2048))
    assert whole == pytest.approx(2 * half, rel=0.1)


def test_saved_memory_counts_each_storage_once():
    layer = build_layer("full", TOKENS, SMALL)
    layer.module.forward = lambda x: (x * x).exp()
    object.__setattr__(layer, "attend", layer.module.forward)
    assert saved_bytes(layer) == 2 * layer.states.nbytes  # x once, and the result of exp


def test_cost_has_one_row_per_core():
    ticks = itertools.count()
    rows = measure_cost(["full", "etc"], TOKENS, SMALL, rounds=3, clock=lambda: next(ticks))
    assert [row["core"] for row in rows] == ["full", "etc"]
    assert {row["forward_s"] for row in rows} == {1}
    assert all(row["saved_bytes"] > 0 for row in rows)
