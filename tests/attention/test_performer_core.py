"""The module of the Performer: redraws, restarts, checkpointing, other cores, types, batches."""

import io
from unittest.mock import patch

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from dna_bigbird.attention.cores import BigBirdItc, Full, Performer
from dna_bigbird.attention.cores.performer import default_features, draw_projection

HIDDEN, HEADS = 8, 2


def core(**settings):
    torch.manual_seed(0)
    return Performer(
        HIDDEN, HEADS, **{"seed": 5, "redraw_interval": 3, "num_features": 6, **settings}
    )


def tokens(batch=2, length=20):
    return torch.randn(batch, length, HIDDEN, generator=torch.Generator().manual_seed(1))


def drawn(draw):
    return draw_projection(6, HIDDEN // HEADS, seed=5, draw=draw)


def redraws_as_told(performer):
    """Return whether ten training forwards, with evaluation between, use draws 0, 0, 0, 1, 1 …"""
    for n in range(10):
        performer.eval()(tokens())
        performer.train()(tokens())
        if not torch.equal(performer.projection, drawn(n // 3)):
            return False
        performer.eval()(tokens())
        if not torch.equal(performer.projection, drawn(n // 3)):
            return False
    return True


def test_the_projection_is_redrawn_in_training_alone():
    assert redraws_as_told(core())


def never(performer):
    """Redraw never."""


def at_each_call(performer):
    """Redraw at each call."""
    performer.projection = drawn(performer.training_forwards)
    performer.training_forwards += 1


def in_evaluation(performer):
    """Count evaluation too."""
    performer.projection = drawn(performer.training_forwards // 3)
    performer.training_forwards += 1


@pytest.mark.parametrize("fault", [never, at_each_call, in_evaluation])
def test_a_wrong_redraw_is_caught(fault):
    with patch.object(Performer, "_count", fault):
        assert not redraws_as_told(core())


def test_no_interval_means_no_redraw():
    performer = core(redraw_interval=None)
    for _ in range(5):
        performer(tokens())
    assert torch.equal(performer.projection, drawn(0))


def trained(performer, steps):
    """Outputs of training steps."""
    optimizer = torch.optim.SGD(performer.parameters(), lr=0.1)
    outputs = []
    for _ in range(steps):
        out = performer(tokens())
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()
        outputs.append(out.detach())
    return outputs


@pytest.mark.parametrize("stop", [2, 3, 4])
def test_a_continued_run_is_the_same_bit_by_bit(stop):
    whole = trained(core(), 9)
    first = core()
    trained(first, stop)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = core()
    second.load_state_dict(torch.load(file, weights_only=True))
    for right, again in zip(whole[stop:], trained(second, 9 - stop), strict=True):
        assert torch.equal(right, again)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_forward_that_checkpointing_repeats_counts_once(use_reentrant):
    plain, saving = core(), core()
    for n in range(8):
        x = tokens().requires_grad_()
        right = torch.autograd.grad(plain(x).square().sum(), x)[0]
        out = checkpoint(saving, x, use_reentrant=use_reentrant)
        out.square().sum().backward()
        assert torch.equal(x.grad, right)
        assert saving.training_forwards == n + 1
        assert torch.equal(saving.projection, drawn(n // 3))


def test_a_redraw_before_the_backward_pass_changes_no_gradient():
    performer, x = core(redraw_interval=1), tokens().requires_grad_()
    right = torch.autograd.grad(performer(x).sum(), x)[0]
    performer = core(redraw_interval=1)
    out = performer(x)
    performer(x)
    assert torch.equal(torch.autograd.grad(out.sum(), x)[0], right)


@pytest.mark.parametrize("is_causal", [False, True])
def test_many_features_come_close_to_exact_softmax(is_causal):
    """Mean error of 8,192 features at most a third of that of 64, and small."""
    full = Full(HIDDEN, HEADS, block_size=4)
    errors = {}
    for num_features in (64, 8192):
        performer = core(num_features=num_features, is_causal=is_causal).eval()
        full.load_state_dict({n: x for n, x in performer.state_dict().items() if "." in n})
        x = tokens()
        if is_causal:
            exact = torch.stack([full(x[:, : t + 1])[:, -1] for t in range(x.shape[1])], dim=1)
        else:
            exact = full(x)
        errors[num_features] = (performer(x) - exact).abs().mean().item()
    assert errors[8192] < errors[64] / 3
    assert errors[8192] < 0.01


def test_weights_move_from_bigbird():
    itc = BigBirdItc(HIDDEN, HEADS, block_size=4, num_random=1, plan="uniform", seed=0)
    performer = core()
    missing, unexpected = performer.load_state_dict(itc.state_dict(), strict=False)
    assert set(missing) <= {"projection", "_extra_state"}
    assert not unexpected
    assert torch.equal(performer.qkv.weight, itc.qkv.weight)


def test_default_number_of_features():
    assert [default_features(d) for d in (1, 2, 64)] == [1, 1, 266]
    assert core(num_features=None).projection.shape == (5, 4)
    assert core(num_features=None, rows="identity").projection.shape == (4, 4)


def test_a_causal_module_reads_no_later_token():
    performer, x = core(is_causal=True).double().eval(), tokens().double()
    before = performer(x)
    for changed_from in (5, 19):
        other = x.clone()
        other[:, changed_from:] += 1
        after = performer(other)
        torch.testing.assert_close(
            before[:, :changed_from], after[:, :changed_from], rtol=0, atol=1e-12
        )
        assert not torch.allclose(before[:, changed_from], after[:, changed_from], atol=1e-3)


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_sequence_gives_the_same_alone_and_in_a_padded_batch(is_causal):
    performer, x = core(is_causal=is_causal).double().eval(), tokens().double()
    hidden = torch.arange(20) >= torch.tensor([[20], [13]])
    noisy = x.masked_fill(hidden[..., None], torch.nan).requires_grad_()
    together = performer(noisy, hidden)
    alone = performer(x[1:, :13])
    torch.testing.assert_close(together[1, :13], alone[0], rtol=0, atol=1e-12)
    assert torch.equal(together[1, 13:], performer.output.bias.expand(7, -1))
    gradients = torch.autograd.grad(together.sum(), [noisy, *performer.parameters()])
    assert all(x.isfinite().all() for x in gradients)
    assert (gradients[0][hidden] == 0).all()


def test_under_autocast_the_heads_are_bfloat16():
    performer, x = core().eval(), tokens()
    exact = performer(x)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = performer(x)
    assert rounded.dtype == torch.bfloat16
    assert 0 < (rounded.float() - exact).abs().max() < 0.05 * exact.abs().max()


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match="num_heads 3 does not divide hidden_size 8"):
        Performer(8, 3)
    with pytest.raises(ValueError, match="redraw_interval must be at least 1 or None, got 0"):
        core(redraw_interval=0)
