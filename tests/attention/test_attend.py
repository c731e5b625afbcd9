"""Backends against an oracle written with loops, and against each other."""

import importlib
import math

import numpy as np
import pytest
import torch

from dna_bigbird.attention import attend, autotune
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc, full

attend_module = importlib.import_module("dna_bigbird.attention.attend")
BACKENDS = ("dense", "gather", "cpu_chunks")
SPARSE = ("gather", "cpu_chunks")
# Repeats, empty slots in the middle, a query block with other width, no ITC structure at all.
ODD = BlockPattern(
    np.array(
        [
            [[1, 1, -1], [0, 1, 3], [-1, -1, -1], [-1, 2, 0]],
            [[-1, 3, 0], [2, 2, 2], [-1, -1, -1], [1, -1, 2]],
        ]
    ),
    np.array([False, False, True, False]),
    5,
)
LOCAL = BlockPattern(np.array([[[0, 1], [0, 1], [1, 2]]] * 2), np.zeros(3, dtype=bool), 4)
PATTERNS = {
    "uniform": (bigbird_itc(9, 4, 1, 2, "uniform", 3), 36),
    "ragged": (bigbird_itc(9, 4, 1, 2, "uniform", 3), 33),
    "no random": (bigbird_itc(6, 4, 0, 2), 24),
    "original plan B": (bigbird_itc(12, 4, 2, 2, "original", 1), 47),
    "original with repeats": (bigbird_itc(16, 64, 3, 2, "original", 0), 1024),
    "covered": (bigbird_itc(5, 4, 3, 2), 18),
    "one block": (bigbird_itc(1, 8, 3, 2), 3),
    "full": (full(3, 8, 2), 24),
    "odd": (ODD, 18),
    "no global row": (LOCAL, 11),
}


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def inputs(length, dtype=torch.float64, batch=2, heads=2, dim=6):
    return [
        torch.randn(batch, heads, length, dim, generator=seeded(i), dtype=torch.float64)
        .to(dtype)
        .requires_grad_()
        for i in (1, 2, 3)
    ]


def holes(length, batch=2):
    """Padding anywhere; the last sequence is padding only."""
    mask = torch.rand(batch, length, generator=seeded(7)) < 0.4
    mask[-1] = True
    return mask


def by_loops(q, k, v, pattern, mask):
    """One query at a time, with a Python list of its keys."""
    out = np.zeros(q.shape)
    size, length = pattern.block_size, q.shape[2]
    for b, h, t in np.ndindex(q.shape[:3]):
        row = t // size
        blocks = pattern.key_blocks[h, row].tolist()
        if pattern.is_global[row]:
            blocks = range(pattern.num_blocks)
        keys = [j for n in blocks if n >= 0 for j in range(n * size, n * size + size)]
        keys = [j for j in keys if j < length and not (mask is not None and mask[b, j])]
        if keys:
            weights = np.exp(k[b, h, keys] @ q[b, h, t] / math.sqrt(q.shape[-1]))
            out[b, h, t] = weights @ v[b, h, keys] / weights.sum()
    return out


@pytest.mark.parametrize("masked", [False, True], ids=["whole", "holes"])
@pytest.mark.parametrize("name", [n for n in PATTERNS if n != "original with repeats"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_equals_loops(backend, name, masked):
    pattern, length = PATTERNS[name]
    q, k, v = inputs(length)
    mask = holes(length) if masked else None
    out = attend(q, k, v, pattern, mask, backend=backend)
    expected = by_loops(*(x.detach().numpy() for x in (q, k, v)), pattern, mask)
    np.testing.assert_allclose(out.detach().numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("masked", [False, True], ids=["whole", "holes"])
@pytest.mark.parametrize("name", PATTERNS)
def test_backends_agree_with_gradients(name, masked):
    pattern, length = PATTERNS[name]
    mask = holes(length) if masked else None
    weight = torch.randn(2, 2, length, 6, generator=seeded(5), dtype=torch.float64)
    results = []
    for backend in BACKENDS:
        tensors = inputs(length)
        out = attend(*tensors, pattern, mask, backend=backend)
        results.append([out, *torch.autograd.grad(out, tensors, weight)])
    for dense, *others in zip(*results, strict=True):
        for other in others:
            assert other.isfinite().all()
            torch.testing.assert_close(other, dense, rtol=0, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_equal_finite_differences(backend):
    """Repeats, a global row, a ragged block, padding with holes, a query without keys."""
    tensors = inputs(18, dim=2)
    assert torch.autograd.gradcheck(
        lambda q, k, v: attend(q, k, v, ODD, holes(18), backend=backend), tensors
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_query_without_keys_gives_zero_and_finite_gradients(backend):
    """Key block 2 is hidden; in ODD head 1, query block 1 reads nothing else."""
    mask = torch.zeros(2, 18, dtype=torch.bool)
    mask[:, 10:15] = True
    tensors = inputs(18, torch.float32)
    out = attend(*tensors, ODD, mask, backend=backend)
    assert (out[:, 1, 5:10] == 0).all()
    assert (out[:, 0] != 0).all()
    out.sum().backward()
    for tensor in tensors:
        assert tensor.grad.isfinite().all()
    assert (tensors[0].grad[:, 1, 5:10] == 0).all()
    assert (tensors[2].grad[:, :, 10:15] == 0).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_padded_keys_have_no_influence(backend):
    pattern = bigbird_itc(9, 4, 1, 2)
    q, k, v = inputs(36)
    mask = holes(36)
    other_k = torch.where(mask[:, None, :, None], 1e4, k)
    other_v = torch.where(mask[:, None, :, None], -1e4, v)
    torch.testing.assert_close(
        attend(q, other_k, other_v, pattern, mask, backend=backend),
        attend(q, k, v, pattern, mask, backend=backend),
        rtol=0,
        atol=0,
    )


@pytest.mark.parametrize("backend", SPARSE)
def test_gradient_of_a_global_block_keeps_its_digits_in_bfloat16(backend):
    """Block 0 has 300 readers; adding them up in bfloat16 would be wrong by several percent."""
    pattern = bigbird_itc(300, 2, 0, 2)
    gradients = {}
    for dtype in (torch.float64, torch.bfloat16):
        q, k, v = (x.detach().to(torch.bfloat16).to(dtype) for x in inputs(600))
        v.requires_grad_()
        attend(q, k, v, pattern, backend=backend).sum().backward()
        gradients[dtype] = v.grad[:, :, :2].double()
    exact = gradients[torch.float64]
    assert ((gradients[torch.bfloat16] - exact) / exact).abs().max() < 0.01


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("num_blocks", [3, 12])
def test_autocast(backend, num_blocks):
    """The peer crashes here: softmax gives float32 under autocast."""
    pattern, length = bigbird_itc(num_blocks, 8, 1, 2), num_blocks * 8
    tensors = inputs(length, torch.float32)
    exact = attend(*tensors, pattern, holes(length), backend="dense")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = attend(*tensors, pattern, holes(length), backend=backend)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    assert all(t.grad.dtype == torch.float32 and t.grad.isfinite().all() for t in tensors)
    assert (out - exact).abs().max() < 0.05  # a lost block costs about 0.6


@pytest.mark.parametrize("backend", ["auto", "dense", "gather"])
def test_dropout_keeps_the_mean(backend):
    pattern = bigbird_itc(9, 4, 1, 2)
    q, k, v = inputs(36, torch.float32)
    torch.manual_seed(0)
    with torch.no_grad():
        runs = [attend(q, k, v, pattern, None, 0.2, backend) for _ in range(400)]
        exact = attend(q, k, v, pattern, backend="dense")
    assert not torch.equal(runs[0], runs[1])
    spread = torch.stack(runs).std(dim=0)
    assert ((torch.stack(runs).mean(dim=0) - exact).abs() < 6 * spread / 20).all()


@pytest.mark.parametrize(
    ("length", "dtype", "dropout_p", "expected"),
    [
        (1024, torch.float32, 0.0, "cpu_chunks"),
        (1024, torch.bfloat16, 0.0, "cpu_chunks"),
        (1023, torch.float32, 0.0, "gather"),
        (1024, torch.float16, 0.0, "gather"),
        (1024, torch.float32, 0.1, "gather"),
    ],
)
def test_rule_of_auto(length, dtype, dropout_p, expected, monkeypatch):
    """As docs/explanation/attention.md states it."""
    taken = []
    for name in BACKENDS:
        monkeypatch.setitem(attend_module.BACKENDS, name, lambda *_, name=name: taken.append(name))
    q = torch.zeros(1, 2, length, 8, dtype=dtype)
    attend(q, q, q, bigbird_itc(16, 64, 3, 2), None, dropout_p)
    assert taken == [expected]


def test_auto_never_changes_the_function():
    for pattern, length in PATTERNS.values():
        q, k, v = inputs(length)
        mask = holes(length)
        dense = attend(q, k, v, pattern, mask, backend="dense")
        torch.testing.assert_close(attend(q, k, v, pattern, mask), dense, rtol=0, atol=1e-12)


def test_one_sequence_equals_its_row_of_a_batch():
    pattern = bigbird_itc(9, 4, 1, 2)
    q, k, v = inputs(33, torch.float32)
    mask = torch.arange(33) >= torch.tensor([[33], [20]])
    both = attend(q, k, v, pattern, mask)
    alone = attend(q[1:], k[1:], v[1:], pattern, mask[1:])
    torch.testing.assert_close(both[1:], alone, rtol=0, atol=1e-6)


@pytest.mark.parametrize("backend", SPARSE)
def test_strided_inputs(backend):
    """q, k, v as views of one projection."""
    pattern = bigbird_itc(9, 4, 1, 2)
    qkv = torch.randn(2, 36, 3, 2, 6, generator=seeded(1), dtype=torch.float64)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    torch.testing.assert_close(
        attend(q, k, v, pattern, backend=backend),
        attend(q, k, v, pattern, backend="dense"),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": torch.zeros(2, 2, 35, 6)}, r"q, k, v must have one shape .*\(2, 2, 35, 6\)"),
        ({"q": torch.zeros(2, 36, 6)}, "q, k, v must have one shape"),
        ({"pattern": bigbird_itc(8, 4, 1, 2)}, "for 2 heads and 8 blocks of 4; got .* 9 blocks"),
        ({"pattern": bigbird_itc(9, 4, 1, 3)}, "for 3 heads and 9 blocks"),
        ({"key_padding_mask": torch.zeros(2, 35, dtype=torch.bool)}, r"bool \(2, 36\), True = "),
        ({"key_padding_mask": torch.zeros(2, 36)}, "got torch.float32"),
        ({"backend": "flash"}, "backend must be one of auto, dense, gather, .*; got 'flash'"),
        ({"v": torch.zeros(2, 2, 36, 6, dtype=torch.float64)}, "one type, got .*float32, .*64"),
        ({"dropout_p": 1.0}, "dropout_p must be at least 0 and below 1, got 1.0"),
    ],
)
def test_wrong_arguments(change, message):
    q, k, v = inputs(36, torch.float32)
    arguments = {"q": q, "k": k, "v": v, "pattern": bigbird_itc(9, 4, 1, 2)}
    with pytest.raises(ValueError, match=message):
        attend(**{**arguments, **change})


@pytest.mark.parametrize("backend", BACKENDS)
def test_tables_first_used_in_inference_mode_serve_training_too(backend):
    """A validation step may be the first to meet a length; the next training step reuses its table."""
    pattern = bigbird_itc(9, 4, 1, 2, seed=987)
    with torch.inference_mode():
        q = torch.randn(1, 2, 36, 8)
        attend(q, q, q, pattern, backend=backend)
    q = torch.randn(1, 2, 36, 8, requires_grad=True)
    attend(q, q, q, pattern, backend=backend).sum().backward()
    assert torch.isfinite(q.grad).all()


def test_on_a_cpu_no_choice_is_looked_up(monkeypatch):
    def never():
        raise AssertionError("asked for the GPU")

    monkeypatch.setattr(autotune.Device, "here", never)
    q = torch.randn(1, 2, 80, 16)
    for dtype in (torch.float32, torch.float64, torch.float16):
        x = q.to(dtype)
        assert attend(x, x, x, bigbird_itc(5, 16, 1, 2)).dtype == dtype
