"""Longformer next to the layer of the installed library, with the same weights, and where they differ."""

import pytest
import torch
import torch.nn.functional as F

from dna_bigbird.attention.cores import Longformer
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

pytest.importorskip("transformers", reason="the library to compare with is not installed")
from transformers import LongformerConfig
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

HIDDEN, HEADS, WINDOW = 24, 3, 4
NAMES = ("query", "key", "value")


def library_layer():
    """The library's window counts both sides."""
    torch.manual_seed(0)
    config = LongformerConfig(
        hidden_size=HIDDEN, num_attention_heads=HEADS, attention_window=[2 * WINDOW],
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return LongformerSelfAttention(config, layer_id=0)


def own(layer, backend="blocked"):
    """Our module with the weights of the layer; the layer has no output projection."""
    core = Longformer(HIDDEN, HEADS, LongformerPattern(WINDOW), dropout_p=0.0, backend=backend)
    with torch.no_grad():
        for linear, suffix in ((core.qkv, ""), (core.global_qkv, "_global")):
            parts = [getattr(layer, name + suffix) for name in NAMES]
            linear.weight.copy_(torch.cat([part.weight for part in parts]))
            linear.bias.copy_(torch.cat([part.bias for part in parts]))
        core.output.weight.copy_(torch.eye(HIDDEN))
        core.output.bias.zero_()
    return core


def library_output(layer, x, layout):
    is_global = torch.zeros_like(layout.is_padding)
    is_global = is_global if layout.is_global is None else layout.is_global
    mask = torch.zeros(x.shape[:2])
    mask = mask.masked_fill(layout.is_padding, -10000.0).masked_fill(is_global, 10000.0)
    return layer(
        x,
        attention_mask=mask,
        is_index_masked=mask < 0,
        is_index_global_attn=is_global,
        is_global_attn=bool(is_global.any()),
    )[0]


def problem(length, share_global, share_padding, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(3, length, HIDDEN, generator=generator, requires_grad=True)
    drawn = torch.rand(2, 3, length, generator=generator)
    return x, LongformerLayout(drawn[0] < share_padding, drawn[1] < share_global)


@pytest.mark.parametrize("backend", ["dense", "blocked"])
@pytest.mark.parametrize("share_padding", [0.0, 0.3])
@pytest.mark.parametrize("share_global", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("length", [8, 16, 40, 96])
def test_same_outputs_and_gradients(length, share_global, share_padding, backend):
    """Rows of padding too: the layer sets them to zero."""
    layer = library_layer()
    core = own(layer, backend)
    x, layout = problem(length, share_global, share_padding, seed=length)
    inputs = [(library_output(layer, x, layout), layer), (core(x, layout), core)]
    torch.testing.assert_close(inputs[1][0], inputs[0][0], rtol=1e-4, atol=1e-5)
    weight = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    weight = weight.masked_fill(layout.is_padding[..., None], 0.0)
    of_library, of_own = (
        torch.autograd.grad(
            (out * weight).sum(),
            [x, *(p for name, p in module.named_parameters() if "output" not in name)],
            allow_unused=True,
            materialize_grads=True,
        )
        for out, module in inputs
    )
    torch.testing.assert_close(of_own[0], of_library[0], rtol=1e-4, atol=1e-4)
    names = [name for name, _ in layer.named_parameters()]
    by_name = dict(zip(names, of_library[1:], strict=True))
    for i, suffix in enumerate(("", "_global")):
        for j, part in enumerate(("weight", "bias")):
            joined = torch.cat([by_name[f"{name}{suffix}.{part}"] for name in NAMES])
            torch.testing.assert_close(of_own[1 + 2 * i + j], joined, rtol=1e-4, atol=1e-4)


def test_the_library_reads_multiples_of_both_sides_of_a_window_only():
    """The library's model pads; the padded rows are then dropped. Ours reads any length."""
    layer, (x, layout) = library_layer(), problem(21, 0.1, 0.0, seed=0)
    with pytest.raises(AssertionError, match="multiple of 8"):
        library_output(layer, x, layout)
    padded = LongformerLayout(
        F.pad(layout.is_padding, (0, 3), value=True), F.pad(layout.is_global, (0, 3))
    )
    expected = library_output(layer, F.pad(x, (0, 0, 0, 3)), padded)[:, :21]
    torch.testing.assert_close(own(layer)(x, layout), expected, rtol=1e-4, atol=1e-5)


def test_padding_that_is_not_a_number_reaches_other_tokens_in_the_library():
    """It adds the lowest number to such a score and multiplies such a value by zero: not a number."""
    layer, (x, layout) = library_layer(), problem(40, 0.05, 0.2, seed=0)
    hidden = layout.is_padding[..., None]
    noise = x.detach().masked_fill(hidden, torch.nan)
    assert library_output(layer, noise, layout).isnan().any()
    core = own(layer)
    assert torch.equal(core(noise, layout), core(x, layout))


def test_a_global_key_counts_once_in_and_outside_of_the_window():
    """In both: moving it out of the window leaves the output as it is. The library adds the lowest number
    to its score in the window, ours hides it."""
    layer = library_layer()
    core = own(layer)
    x, _ = problem(40, 0.0, 0.0, seed=0)
    near, far = (torch.zeros(3, 40, dtype=torch.bool) for _ in range(2))
    near[:, 20], far[:, 2] = True, True
    order = list(range(40))
    order[20], order[2] = 2, 20
    hidden = torch.zeros(3, 40, dtype=torch.bool)
    hidden[:, [*range(16), *range(25, 40)]] = True
    hidden_far = hidden[:, order].clone()
    hidden[:, 20], hidden_far[:, 2] = False, False
    for call in (lambda *inputs: library_output(layer, *inputs), core):
        inside = call(x, LongformerLayout(hidden, near))[:, 19]
        outside = call(x[:, order], LongformerLayout(hidden_far, far))[:, 19]
        torch.testing.assert_close(inside, outside, rtol=1e-4, atol=1e-5)


def test_without_a_global_token_neither_has_gradients_of_the_global_projections():
    layer, (x, _) = library_layer(), problem(40, 0.0, 0.0, seed=0)
    core, layout = own(layer), LongformerLayout(torch.zeros(3, 40, dtype=torch.bool))
    library_output(layer, x, layout).sum().backward()
    core(x, layout).sum().backward()
    assert layer.query_global.weight.grad is None
    assert core.global_qkv.weight.grad is None
