"""A dense layer and its activation in one pass: the same function, and a little less rounding."""

import pytest
import torch
from torch import nn

from dna_bigbird.models import activations
from dna_bigbird.models.activations import ACTIVATIONS, activated, activation

ROUNDING = torch.finfo(torch.bfloat16).eps


@pytest.fixture
def dense():
    layer = nn.Linear(48, 80)
    draw = torch.Generator().manual_seed(0)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.3, generator=draw)
    return layer


@pytest.fixture
def x():
    return torch.randn(70, 48, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def calls(dense, monkeypatch):
    """How often the dense layer itself was called."""
    found, forward = [], nn.Linear.forward
    monkeypatch.setattr(nn.Linear, "forward", lambda s, x: found.append(x) or forward(s, x))
    return found


def exact(dense, act, x):
    """The same on factors rounded to bfloat16, else in float64."""
    x, weight, bias = (t.detach().bfloat16().double() for t in (x, dense.weight, dense.bias))
    return act(x @ weight.T + bias)


needs_bf16 = pytest.mark.skipif(
    not activations._onednn_has_bf16(), reason="oneDNN has no bfloat16 on this processor"
)


@needs_bf16
@pytest.mark.parametrize("name", ["gelu", "gelu_tanh"])
def test_one_pass_rounds_no_worse_than_two(dense, x, calls, name):
    act = activation(name)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        one, two = activated(dense, act, x), act(dense(x))
    assert (len(calls), one.dtype, two.dtype) == (1, torch.bfloat16, torch.bfloat16)
    expected = exact(dense, act, x)
    off_one, off_two = ((y.double() - expected).abs() for y in (one, two))
    assert off_one.max() <= off_two.max()
    # The result is rounded once; 1e-4 is what approximating the function may add.
    assert (off_one <= ROUNDING / 2 * expected.abs() + 1e-4).all()


@needs_bf16
def test_the_two_forms_of_gelu_stay_apart(dense, x):
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        found = activated(dense, activation("gelu_tanh"), x * 3)
    right, wrong = (exact(dense, activation(n), x * 3) for n in ("gelu_tanh", "gelu"))
    # Near 0 the rounding of the result is finer than the 5e-4 between the forms.
    near = right.abs() < 0.05
    assert (found - right)[near].abs().max() < (found - wrong)[near].abs().max() / 2


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("autocast", [False, True])
def test_training_and_float32_take_both_layers(dense, x, calls, name, autocast):
    act = activation(name)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        found = activated(dense, act, x)
        assert torch.equal(found, act(dense(x)))
    found.float().sum().backward()
    assert dense.weight.grad.abs().sum() > 0
    if not autocast:
        with torch.no_grad():
            assert torch.equal(activated(dense, act, x), act(dense(x)))


@pytest.mark.parametrize("listened", ["dense", "act", "before"])
def test_hooks_are_called(dense, x, listened):
    act, seen = activation("gelu_tanh"), []
    if listened == "before":
        dense.register_forward_pre_hook(lambda *_: seen.append(1))
    else:
        {"dense": dense, "act": act}[listened].register_forward_hook(lambda *_: seen.append(1))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        activated(dense, act, x)
    assert seen == [1]
