"""Rotary positions, norm of queries and keys, stem and scaled outputs, against torch and formulas."""

import itertools
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dna_bigbird.attention.attend import BACKENDS
from dna_bigbird.attention.packing import Packing
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.stem import Stem, WordMemory
from dna_bigbird.models.summarizer import Summarizer
from dna_bigbird.models.text_config import SummaryHead
from tests.attention.native.marks import needs_kernel
from tests.attention.test_flex import needs_compiler
from tests.models.test_encoder import batch, generator, spread_out

OWN = {
    "positions": "rotary",
    "rotary_base": 300.0,
    "qk_norm": True,
    "stem_width": 5,
    "norm_first": True,
    "scale_residual": True,
}
CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=32, num_layers=2, num_heads=2, ffn_size=24, max_tokens=100,
    block_size=16, num_random=1, dropout=0.0,
)  # fmt: skip
PATCHES = {"patch_tokens": 3, "positions": "rotary", "norm_first": True}
LATER = [
    {"layer_skips": True},
    {"layer_skips": True, "num_layers": 5},
    {"value_embeddings": True},
    {"head_gates": True},
    {"word_memory": 37},
    {"word_memory": 500, "word_tokens": 4, "stem_width": 3},
]
ALL_LATER = {"layer_skips": True, "value_embeddings": True, "head_gates": True, "word_memory": 37}
EACH = [{"positions": "rotary"}, {"qk_norm": True}, {"stem_width": 3}, OWN, PATCHES, OWN | PATCHES]
EACH += [*LATER, OWN | PATCHES | ALL_LATER]
MARKS = {"native": [needs_kernel], "flex": [needs_compiler, pytest.mark.slow]}


def hashed(ids_T, config):
    """The rows of the words that end and begin at each token of one sequence, in whole numbers of Python."""
    outside, rows = config.vocab_size, []
    for at in range(len(ids_T)):
        rows.append([])
        for side, step in enumerate((-1, 1)):
            word = 2 * int(ids_T[at]) + side
            for far in range(at + step, at + step * config.word_tokens, step):
                other = int(ids_T[far]) if 0 <= far < len(ids_T) else outside
                word = (1103515245 * word + other + 1) % (2**31 - 1)
                rows[-1].append(word % config.word_memory)
    return rows


def reference(encoder, ids_T, segments_T):
    """One sequence with full attention: convolution, norms and angles of torch's own functions."""
    c, own = encoder.config, encoder.state_dict()

    def linear(x, name):
        return F.linear(x, own[name + ".weight"], own[name + ".bias"])

    def norm(x, name):
        return F.layer_norm(x, (32,), own[name + ".weight"], own[name + ".bias"], c.norm_eps)

    x = own["word.weight"][ids_T] + own["segment.weight"][segments_T]
    if c.positions == "learned":
        x = x + own["position.weight"][: len(ids_T)]
    if c.stem_width:
        kernel = own["stem.convolution.weight"].view(32, c.stem_width, 32).transpose(1, 2)
        x = x + F.conv1d(x.mT, kernel, own["stem.convolution.bias"], padding="same").mT
    if c.word_memory:
        read = torch.stack([own["memory.rows.weight"][rows].sum(0) for rows in hashed(ids_T, c)])
        key = linear(read, "memory.key")
        gate = (F.layer_norm(x, (32,)) * key).sum(1, keepdim=True) / 32**0.5
        x = x + read / (1 + (-gate).exp())
    x = x if c.norm_first else norm(x, "norm")
    tokens = x
    if c.patch_tokens > 1:
        x = torch.stack([part.max(dim=0).values for part in x.split(c.patch_tokens)])
    frequencies = c.rotary_base ** -(torch.arange(8, dtype=x.dtype) / 8)
    angles = torch.arange(len(x), dtype=x.dtype)[:, None] * frequencies
    turns = torch.polar(torch.ones_like(angles), angles)
    first, before = F.layer_norm(x, (32,)), []
    for i in range(c.num_layers):
        at = f"layers.{i}."
        if c.layer_skips and i >= (c.num_layers + 1) // 2:
            mirror = c.num_layers - 1 - i
            x = x + own["skip_scales"][mirror] * before[mirror]
        before.append(x)
        read = norm(x, at + "attention_norm") if c.norm_first else x
        q, k, v = linear(read, at + "attention.qkv").view(-1, 3, 2, 16).permute(1, 2, 0, 3)
        if c.qk_norm:
            q = (
                q
                / (q.square().mean(-1, True) + 1e-6).sqrt()
                * own[at + "attention.query_norm.weight"]
            )
            k = (
                k
                / (k.square().mean(-1, True) + 1e-6).sqrt()
                * own[at + "attention.key_norm.weight"]
            )
        if c.value_embeddings:
            added = first @ own[at + "attention.first_value.weight"].T
            v = v + own[at + "attention.first_share"] * added.view(-1, 2, 16).transpose(0, 1)
        if c.positions == "rotary":
            q, k = (
                torch.view_as_real(torch.complex(y[..., 0::2], y[..., 1::2]) * turns).flatten(-2)
                for y in (q, k)
            )
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(0, 1)
        if c.head_gates:
            mixed = mixed / (1 + (-linear(read, at + "attention.gate")[..., None]).exp())
        mixed = mixed.flatten(1)
        x = x + linear(mixed, at + "attention.output")
        x = x if c.norm_first else norm(x, at + "attention_norm")
        read = norm(x, at + "ffn_norm") if c.norm_first else x
        x = x + linear(F.gelu(linear(read, at + "ffn_in"), approximate="tanh"), at + "ffn_out")
        x = x if c.norm_first else norm(x, at + "ffn_norm")
    if c.patch_tokens > 1:
        of_tokens = linear(x, "patches.offsets").unflatten(1, (c.patch_tokens, 32)).flatten(0, 1)
        x = tokens + of_tokens[: len(tokens)]
    return norm(x, "norm") if c.norm_first else x


@pytest.mark.parametrize("change", EACH, ids=str)
def test_equals_functions_of_torch_alone_and_next_to_others(change):
    """Full attention, packed rows of several lengths, and ids at padding that must not count."""
    encoder = spread_out(Encoder(replace(CONFIG, attention="full", **change))).double()
    lengths = [80, 33, 1, 64, 65]
    ids, is_padding, segments = batch(lengths, width=90)
    found = encoder(ids.masked_fill(is_padding, 44), is_padding, segments)
    plain = spread_out(Encoder(replace(CONFIG, attention="full"))).double()
    for row, length in enumerate(lengths):
        expected = reference(encoder, ids[row, :length], segments[row, :length])
        torch.testing.assert_close(found[row, :length], expected, rtol=0, atol=1e-9)
        assert (found[row, length:] == 0).all()
    assert not torch.allclose(plain(ids, is_padding, segments), found)


def test_gradients_through_patches_are_those_of_finite_differences():
    """Also of a batch of several lengths, whose padding has no gradient."""
    encoder = spread_out(Encoder(replace(CONFIG, attention="full", **OWN | PATCHES))).double()
    ids, is_padding, segments = batch([40, 7, 17], width=41)
    weight = torch.randn(3, 41, 32, generator=generator(3), dtype=torch.float64)

    def total() -> torch.Tensor:
        return (encoder(ids.masked_fill(is_padding, 44), is_padding, segments) * weight).sum()

    total().backward()
    for name in ("stem.convolution.weight", "patches.offsets.weight", "word.weight"):
        parameter = encoder.get_parameter(name)
        change = torch.randn(parameter.shape, generator=generator(4), dtype=torch.float64)
        with torch.no_grad():
            before = parameter.clone()
            sums = [parameter.copy_(before + h * change) is None or total() for h in (1e-6, -1e-6)]
            parameter.copy_(before)
        slope = (sums[0] - sums[1]) / 2e-6
        assert (parameter.grad * change).sum() == pytest.approx(float(slope), rel=1e-5)
    assert encoder.word.weight.grad[44].abs().sum() == 0 or (ids == 44).any()


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(name, marks=MARKS.get(name, ()))
        for name in BACKENDS
        if name not in ("dense", "triton")  # triton: tests/attention/triton
    ],
)
@pytest.mark.parametrize("change", [{}, {"random_plan": "original"}], ids=str)
def test_every_backend_computes_the_same(backend, change):
    encoder = spread_out(Encoder(replace(CONFIG, max_tokens=300, **OWN, **change)))
    inputs = batch([290, 130, 260])
    weight = torch.randn(3, 290, 32, generator=generator(2))
    results = []
    for name in ("dense", backend):
        encoder.zero_grad()
        encoder.set_backend(name)
        with torch.set_grad_enabled(backend != "flex"):
            hidden = encoder(*inputs)
        if backend != "flex":  # it has no backward pass on a CPU
            (hidden * weight).sum().backward()
        results.append([hidden.detach(), *(p.grad for p in encoder.parameters())])
    for dense, other in zip(*results, strict=True):
        if dense is not None:
            scale = dense.abs().max()
            torch.testing.assert_close(other / scale, dense / scale, rtol=0, atol=1e-5)


@pytest.mark.parametrize("change", EACH, ids=str)
def test_a_sparse_sequence_is_the_same_alone(change):
    encoder = spread_out(Encoder(replace(CONFIG, **change)))
    lengths = [97, 3, 64, 65, 40]
    inputs = batch(lengths, 100)
    together = encoder(*inputs)
    for row, length in enumerate(lengths):
        cut = [x[row : row + 1, :length] for x in inputs]
        torch.testing.assert_close(together[row, :length], encoder(*cut)[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("width", [1, 3, 9])
def test_the_stem_is_a_convolution_within_each_sequence(width):
    torch.manual_seed(0)
    stem = Stem(6, width).double()
    convolution = nn.Conv1d(6, 6, width, padding=width // 2, dtype=torch.float64)
    with torch.no_grad():
        kernel = stem.convolution.weight.view(6, width, 6).transpose(1, 2)
        convolution.weight.copy_(kernel)
        convolution.bias.copy_(stem.convolution.bias)
    lengths = [8, 3, 8, 5, 1]
    is_padding = torch.arange(8) >= torch.tensor(lengths)[:, None]
    packing = Packing.of(is_padding, 4, None)
    x = torch.randn(5, 8, 6, dtype=torch.float64)
    packed = x.flatten(0, 1)[packing.sources_P]
    found = packing.unpack(stem(packed, packing), is_padding)
    for row, length in enumerate(lengths):
        one = x[row, :length]
        torch.testing.assert_close(found[row, :length], one + convolution(one.mT).mT)


def test_words_have_rows_of_their_own_in_a_large_table():
    """At the middle of three of four letters: words of two on either side, each also with what is beyond the end."""
    with torch.device("meta"):
        memory = WordMemory(4, 2**31 - 1, 3, vocab_size=10)
    rows = set()
    for word in itertools.product(range(6, 10), repeat=3):
        packing = Packing.of(torch.zeros(1, 3, dtype=torch.bool), 3, None)
        rows.update(memory.hashed(torch.tensor(word), packing)[1].tolist())
    assert len(rows) == 2 * 2 * 4**2


def test_defaults_draw_the_same_weights_as_before():
    """Table by table, then layer by layer, each matrix from one generator; nothing else draws."""
    encoder, g = Encoder(CONFIG, generator(4)), generator(4)
    expected = {}

    def draw(name, *shape):
        weight = torch.empty(shape)
        nn.init.trunc_normal_(weight, std=0.02, a=-0.04, b=0.04, generator=g)
        expected[name + ".weight"] = weight

    draw("word", 50, 32)
    draw("position", 100, 32)
    draw("segment", 2, 32)
    for i in range(2):
        draw(f"layers.{i}.attention.qkv", 96, 32)
        draw(f"layers.{i}.attention.output", 32, 32)
        draw(f"layers.{i}.ffn_in", 24, 32)
        draw(f"layers.{i}.ffn_out", 32, 24)
    drawn = {n: w for n, w in encoder.state_dict().items() if "norm" not in n and "bias" not in n}
    assert drawn.keys() == expected.keys()
    assert all(torch.equal(drawn[name], expected[name]) for name in drawn)


def test_scaled_outputs_begin_smaller_by_the_root_of_twice_the_layers():
    plain = Encoder(replace(CONFIG, num_layers=8)).state_dict()
    scaled = Encoder(replace(CONFIG, num_layers=8, scale_residual=True)).state_dict()
    for name, weight in plain.items():
        is_last = name.endswith(("attention.output.weight", "ffn_out.weight"))
        torch.testing.assert_close(scaled[name], weight / 4 if is_last else weight)
    layers = [scaled[f"layers.{i}.ffn_out.weight"] for i in range(8)]
    # Standard deviation of a normal cut at two sigma: 0.8796 sigma.
    assert torch.stack(layers).std().item() == pytest.approx(0.02 * 0.8796 / 4, rel=0.03)


def test_rotary_reads_any_length_and_learned_does_not():
    rotary = spread_out(Encoder(replace(CONFIG, positions="rotary")))
    ids, is_padding, segments = batch([250, 90])
    found = rotary(ids, is_padding, segments)
    longer = spread_out(Encoder(replace(CONFIG, positions="rotary", max_tokens=250)))
    assert torch.equal(found, longer(ids, is_padding, segments))
    assert "position.weight" not in rotary.state_dict()
    with pytest.raises(ValueError, match="a sequence has 250 tokens, the model reads at most 100"):
        Encoder(CONFIG)(ids, is_padding, segments)


def test_rotary_tells_the_order_of_tokens_apart():
    """Without positions of any kind, full attention gives the reversed sequence reversed states."""
    ids, is_padding, _ = batch([40])
    for positions, is_equal in (("rotary", False), ("learned", True)):
        encoder = spread_out(Encoder(replace(CONFIG, attention="full", positions=positions)))
        if encoder.position is not None:
            encoder.position.weight.data.zero_()
        forward, backward = encoder(ids, is_padding), encoder(ids.flip(1), is_padding).flip(1)
        assert torch.allclose(forward, backward, atol=1e-4) == is_equal


@pytest.mark.parametrize("width", [1, 5, 9])
@pytest.mark.parametrize("lengths", [[9, 30, 17], [40, 40]])
def test_the_stem_computes_the_same_from_letters(width, lengths):
    """Per letter or per token: equal results and gradients, with padding and other sequences nearby."""
    is_padding = torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]
    packing = Packing.of(is_padding, 8, None)
    letters = packing.pack(torch.randint(7, is_padding.shape, generator=generator(5)))
    results = []
    for of_letters in (False, True):
        stem = Stem(6, width).double()
        torch.nn.init.normal_(stem.convolution.weight, generator=torch.Generator().manual_seed(1))
        torch.nn.init.normal_(stem.convolution.bias, generator=torch.Generator().manual_seed(2))
        table = torch.randn(7, 6, generator=torch.Generator().manual_seed(3)).double()
        table.requires_grad_()
        states = (
            stem.of_letters(letters, table, packing)
            if of_letters
            else stem(table[letters], packing)
        )
        states = packing.unpack(states, is_padding)
        (states**2).sum().backward()
        results.append(
            [states, table.grad, stem.convolution.weight.grad, stem.convolution.bias.grad]
        )
    for own, other in zip(*results, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-9, atol=1e-9)


def test_single_bases_go_through_the_stem_by_letter(monkeypatch):
    config = replace(CONFIG, vocab_size=10, positions="rotary", stem_width=5)
    encoder = Encoder(config).double().eval()
    ids = torch.randint(10, (2, 50), generator=generator(5))
    is_padding = torch.zeros(2, 50, dtype=torch.bool)
    by_letter = encoder(ids, is_padding)
    monkeypatch.setattr("dna_bigbird.models.encoder.FEW_LETTERS", 9)
    monkeypatch.setattr(Stem, "of_letters", None)
    torch.testing.assert_close(encoder(ids, is_padding), by_letter)


@pytest.mark.parametrize("change", [{"positions": "rotary"}, {"qk_norm": True}, {"stem_width": 3}])
def test_a_decoder_refuses_what_it_cannot_have(change):
    (name,) = change
    with pytest.raises(ValueError, match=rf"--model\.{name} must be .* in a model with a decoder"):
        Summarizer(replace(CONFIG, **change), SummaryHead())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stem_width": 4}, "--model.stem_width 4 must be 0 or odd"),
        ({"stem_width": -1}, "--model.stem_width -1"),
        (
            {"layer_skips": True, "num_layers": 1},
            "--model.layer_skips true needs --model.num_layers",
        ),
        ({"word_tokens": 1}, "--model.word_tokens 1"),
        ({"rotary_base": 0.0}, "--model.rotary_base 0.0"),
        ({"positions": "sine"}, "--model.positions='sine'"),
        (
            {"positions": "rotary", "hidden_size": 30},
            "needs heads of an even size; --model.hidden_size 30 / --model.num_heads 2 is odd",
        ),
    ],
    ids=str,
)
def test_settings_are_checked(change, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        replace(CONFIG, **change)


def test_norm_of_queries_and_keys_bounds_their_products():
    """At the fresh gain of 1 no score exceeds the root of the head's size, however large the weights."""
    encoder = Encoder(replace(CONFIG, qk_norm=True))
    layer = encoder.layers[0].attention
    with torch.no_grad():
        layer.qkv.weight.mul_(1e4)
    q, k, _ = layer.qkv(torch.randn(20, 32, generator=generator())).view(1, 20, 3, 2, 16).unbind(2)
    q, k = layer.query_norm(q)[0], layer.key_norm(k)[0]
    scores = torch.einsum("thd,shd->hts", q, k) / 4
    assert 1 < scores.abs().max() <= 4 + 1e-4


def test_gradient_checkpointing_with_all_of_them():
    gradients = []
    for again in (False, True):
        encoder = spread_out(Encoder(replace(CONFIG, **OWN, gradient_checkpointing=again)))
        encoder.train()(*batch([80, 33])).square().sum().backward()
        gradients.append([p.grad for p in encoder.parameters()])
    for kept, recomputed in zip(*gradients, strict=True):
        torch.testing.assert_close(recomputed, kept)
        assert kept.abs().sum() > 0


def test_bfloat16_autocast_with_all_of_them():
    encoder = spread_out(Encoder(replace(CONFIG, **OWN)))
    inputs = batch([80, 33])
    exact = encoder(*inputs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = encoder(*inputs)
        hidden.float().square().mean().backward()
    assert (hidden.float() - exact).abs().mean() < 0.05 * exact.abs().mean()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())
