"""The peers compute what they are said to compute."""

import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dna_bigbird.attention import attend, patterns

HEADS, BLOCK, RANDOM, BLOCKS = 2, 8, 2, 11
TAIL = """
def bigbird_block_sparse_attention(q):
    context_layer = q * 2
    attention_probs = torch.zeros(3, dtype=context_layer.dtype)
    view = attention_probs[:2]
    view += 1
    return context_layer, attention_probs
"""


@pytest.fixture(autouse=True)
def numpy_state():
    """The library seeds NumPy's global generator in training; no other test shall notice."""
    state = np.random.get_state()
    yield
    np.random.set_state(state)


@pytest.fixture
def peers(script):
    return script("peers")


@pytest.fixture
def shape(peers):
    pytest.importorskip("transformers")
    return peers.Shape(1, HEADS, BLOCKS * BLOCK, 4, BLOCK, RANDOM)


def drawn(shape, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    size = (3, shape.batch, shape.heads, shape.tokens, shape.head_dim)
    return [x.requires_grad_() for x in torch.randn(size, generator=generator, dtype=dtype)]


@pytest.mark.parametrize("training", [False, True])
def test_stripped_attention_is_the_shipped_one_to_the_last_bit(peers, shape, training):
    results = []
    for name in ("hf", "hf-strip"):
        attention = peers.attention(name, shape, torch.float64, "cpu", training=training)
        q, k, v = drawn(shape)
        out = attention(q, k, v)
        results.append((out, *torch.autograd.grad(out.square().sum(), (q, k, v))))
    for shipped, stripped in zip(*results, strict=True):
        assert torch.equal(shipped, stripped)


def by_hand():
    """What the library reads in evaluation: all its random indices are 0."""
    last, rows = BLOCKS - 1, []
    for row in range(1, last):
        window = [block for block in (row - 1, row, row + 1) if 0 < block < last]
        rows.append([0, *window, last, *[0] * RANDOM])
    table = np.full((HEADS, BLOCKS, 5 + RANDOM), -1)
    for row, blocks in enumerate(rows, 1):
        table[:, row, : len(blocks)] = blocks
    is_global = np.zeros(BLOCKS, dtype=bool)
    is_global[[0, last]] = True
    return patterns.BlockPattern(table, is_global, BLOCK)


def test_stripped_attention_equals_the_oracle_with_the_table_it_used(peers, shape):
    attention = peers.attention("hf-strip", shape, torch.float64, "cpu", training=False)
    q, k, v = drawn(shape)
    out = attention(q, k, v)
    plan = patterns.bigbird_itc(BLOCKS, BLOCK, RANDOM, HEADS, plan="huggingface")
    assert (plan.times() == by_hand().times()).all()
    # The library masks by adding -10,000 and multiplies by masks of float32, all ones here.
    torch.testing.assert_close(attend(q, k, v, plan, backend="dense"), out, rtol=0, atol=1e-12)
    without_repeats = patterns.bigbird_itc(BLOCKS, BLOCK, 0, HEADS)
    other = attend(q, k, v, without_repeats, backend="dense")
    assert (other - out).abs().max() > 1e-3  # the comparison would see another table


def test_stripped_model_gives_the_logits_of_the_shipped_one(peers):
    pytest.importorskip("transformers")
    settings = {
        "vocab_size": 50,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": HEADS,
        "intermediate_size": 16,
        "max_position_embeddings": BLOCKS * BLOCK,
        "block_size": BLOCK,
        "num_random_blocks": RANDOM,
    }
    shipped = peers.library_model(**settings).eval()
    stripped = peers.library_model(stripped=True, **settings).eval()
    stripped.load_state_dict(shipped.state_dict())
    ids = torch.arange(BLOCKS * BLOCK)[None] % 50
    with torch.no_grad():
        a, b = shipped(ids, output_attentions=True), stripped(ids, output_attentions=True)
    assert torch.equal(a.prediction_logits, b.prediction_logits)
    assert [probs.shape[-2:] for probs in a.attentions] == [(BLOCKS * BLOCK,) * 2] * 2
    assert not b.attentions or list(b.attentions) == [None, None]


def test_dense_is_attention_over_all_keys(peers):
    attention = peers.attention(
        "dense", peers.Shape(1, 2, 8, 4, 4, 0), torch.float64, "cpu", training=False
    )
    q, k, v = torch.randn(3, 1, 2, 8, 4, dtype=torch.float64)
    expected = F.softmax(q @ k.mT / 2, dim=-1) @ v
    torch.testing.assert_close(attention(q, k, v), expected)


def test_strip_cuts_a_tail_and_nothing_else(peers):
    space = {"torch": torch}
    exec(compile(peers.without_probabilities(TAIL), "tail", "exec"), space)
    out, probabilities = space["bigbird_block_sparse_attention"](torch.ones(1))
    assert (out.item(), probabilities) == (2, None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("attention_probs = torch.zeros", "attention_probs = torch.ones", "has no tail to cut"),
        ("context_layer, attention_probs", "context_layer", "ends with `return context_layer`"),
        ("view += 1", "context_layer[0] = 1", r"uses its first result: `context_layer\[0\] = 1`"),
        ("view += 1", "context_layer.add_(1)", r"first result: `context_layer.add_\(1\)`"),
    ],
)
def test_strip_refuses_a_function_of_another_shape(peers, old, new, message):
    assert old in TAIL
    with pytest.raises(peers.UnavailableError, match=message):
        peers.without_probabilities(TAIL.replace(old, new))


def test_what_the_library_does_not_do_is_said(peers, shape):
    for wrong, message in (
        (shape._replace(tokens=9 * BLOCK), "switches to full attention at this length"),
        (shape._replace(tokens=BLOCKS * BLOCK + 1), "whole blocks of 8 only"),
    ):
        with pytest.raises(peers.UnavailableError, match=message):
            peers.attention("hf", wrong, torch.float32, "cpu", training=False)


def test_missing_library_says_what_to_install(peers, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers.models.big_bird", None)
    with pytest.raises(peers.UnavailableError, match="pip install transformers"):
        peers.attention("hf", peers.Shape(1, 2, 88, 4, 8, 2), torch.float32, "cpu", training=False)


def test_unknown_peer_is_named(peers):
    with pytest.raises(ValueError, match=r"peer must be one of dense, .*; got 'hff'"):
        peers.attention("hff", peers.Shape(1, 2, 88, 4, 8, 2), torch.float32, "cpu", training=False)
