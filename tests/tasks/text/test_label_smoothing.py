"""Label smoothing against closed forms and torch's own."""

import math

import pytest
import torch

from dna_bigbird.text.tasks.summarization import label_smoothed_nll

V = 7


def case(seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, 5, V, generator=generator)
    targets = torch.randint(0, V, (2, 5), generator=generator)
    is_padding = torch.tensor([[False] * 5, [False, False, True, True, True]])
    return logits, targets, is_padding


def entropy(smoothing):
    rest = smoothing / (V - 1)
    return -(1 - smoothing) * math.log(1 - smoothing) - smoothing * math.log(rest)


@pytest.mark.parametrize("smoothing", [0.1, 0.4])
def test_equals_torch_less_the_entropy(smoothing):
    """Torch spreads its share over all V entries, the target's included."""
    logits, targets, is_padding = case()
    theirs = torch.nn.functional.cross_entropy(
        logits[~is_padding], targets[~is_padding], label_smoothing=smoothing * V / (V - 1)
    )
    found = label_smoothed_nll(logits, targets, is_padding, smoothing=smoothing)
    assert found.item() == pytest.approx(theirs.item() - entropy(smoothing), rel=1e-5)


def test_without_smoothing_it_is_the_cross_entropy():
    logits, targets, is_padding = case()
    theirs = torch.nn.functional.cross_entropy(logits[~is_padding], targets[~is_padding])
    found = label_smoothed_nll(logits, targets, is_padding, smoothing=0.0)
    assert found.item() == pytest.approx(theirs.item(), rel=1e-6)


def test_the_smoothed_target_itself_has_no_loss():
    """Logits log 0.9 at the target and log (0.1 / 6) elsewhere: the minimum, 0."""
    _, targets, is_padding = case()
    p = torch.full((2, 5, V), 0.1 / (V - 1)).scatter(-1, targets[..., None], 0.9)
    assert label_smoothed_nll(p.log(), targets, is_padding).item() == pytest.approx(0, abs=1e-6)


def test_uniform_logits():
    found = label_smoothed_nll(torch.zeros(2, 5, V), *case()[1:], smoothing=0.1)
    assert found.item() == pytest.approx(math.log(V) - entropy(0.1), rel=1e-6)


def test_the_published_quirk_adds_padding_and_divides_by_real_tokens():
    logits, targets, is_padding = case()
    none = torch.zeros_like(is_padding)
    whole = label_smoothed_nll(logits, targets, none).item() * 10
    found = label_smoothed_nll(logits, targets, is_padding, count_padding=True)
    assert found.item() == pytest.approx(whole / 7, rel=1e-6)


def test_padding_has_no_gradient():
    logits, targets, is_padding = case()
    logits.requires_grad_()
    label_smoothed_nll(logits, targets, is_padding).backward()
    assert not logits.grad[is_padding].any()
    assert logits.grad[~is_padding].any()


def test_a_batch_of_padding_alone_has_loss_0():
    logits, targets, is_padding = case()
    assert label_smoothed_nll(logits, targets, torch.ones_like(is_padding)).item() == 0
