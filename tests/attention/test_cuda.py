"""What needs a GPU: backends on CUDA, forward and backward; compiled models; a training step.

    python -m pytest tests/attention/test_cuda.py

The FlexAttention kernels are compiled, and for blocks of 64 tiles are searched: minutes.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters

from dna_bigbird.attention import attend
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc, full
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from tests.attention.cases import (
    Case,
    Sizes,
    excess,
    random_case,
    random_table,
    results,
    without_one_block,
)

DEVICE = "cuda"
pytestmark = pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device here", allow_module_level=True)
DTYPES = [torch.float32, torch.bfloat16]
HEADS = 2


def case(pattern, *, missing=0, dim=64, batch=2, padding="none", dtype=torch.float32, seed=0):
    """One problem; `missing` tokens of the last block are not there."""
    length = pattern.num_blocks * pattern.block_size - missing
    generator = torch.Generator().manual_seed(seed)
    tensors = [
        torch.randn(batch, pattern.num_heads, length, dim, generator=generator).to(dtype).double()
        for _ in range(4)
    ]
    mask = None
    if padding == "right":
        mask = torch.arange(length) >= torch.tensor([[length], [length // 2]])[:batch]
    elif padding == "holes":
        mask = torch.rand(batch, length, generator=generator) < 0.4
        mask[-1] = True
    return Case(*tensors, pattern, mask, dtype, f"{(pattern.num_blocks, missing, padding, dtype)}")


def patterns(size):
    """Without repeats, for one kernel serves them all."""
    yield bigbird_itc(12, size, 3, HEADS), 0
    yield bigbird_itc(11, size, 3, HEADS, seed=1), size - 1
    yield bigbird_itc(9, size, 1, HEADS, global_blocks="first_two"), 7
    yield bigbird_itc(9, size, 2, HEADS, global_blocks="none", window_blocks=5), 0
    yield bigbird_itc(12, size, 2, HEADS, "original", 1), size // 2
    yield bigbird_itc(12, size, 2, HEADS, "original", 1, global_blocks="first_two"), size // 2
    yield full(3, size, HEADS), 5
    yield full(1, size, HEADS), size // 3
    table = random_table(np.random.default_rng(3), HEADS, 7, size)
    rows = [[sorted(set(row)) for row in head] for head in table.key_blocks.tolist()]
    if len({tuple(map(len, head)) for head in rows}) == 1:
        yield table, 3


def assert_good(problem, backend):
    assert excess(problem, results(problem, backend, problem.dtype, DEVICE), DEVICE) <= 1, (
        problem.what
    )


@pytest.mark.parametrize("padding", ["none", "right", "holes"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [64, 128])
def test_flex_output_and_gradients(size, dtype, padding):
    for seed, (pattern, missing) in enumerate(patterns(size)):
        assert_good(case(pattern, missing=missing, padding=padding, dtype=dtype, seed=seed), "flex")


@pytest.mark.parametrize(("size", "dim"), [(32, 64), (96, 64), (64, 16), (64, 48), (128, 128)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_flex_block_sizes_and_head_dimensions(size, dim, dtype):
    pattern = bigbird_itc(12, size, 3, HEADS)
    assert_good(case(pattern, missing=3, dim=dim, dtype=dtype, padding="holes"), "flex")


@pytest.mark.parametrize("backend", ["flex", "triton"])
@pytest.mark.parametrize("size", [64, 128])
@pytest.mark.parametrize("training", [False, True])
def test_repeats_count_forward_and_backward(size, training, backend):
    """Block 0 has more readers, counted with repeats, than there are query blocks."""
    pattern = bigbird_itc(16, size, 3, HEADS, "huggingface", training=training)
    assert_good(case(pattern, missing=5), backend)


@pytest.mark.parametrize("backend", ["flex", "triton"])
@pytest.mark.parametrize("size", [64, 128])
def test_one_lost_block_is_caught(size, backend):
    problem = case(bigbird_itc(12, size, 3, HEADS), missing=3)
    found = results(without_one_block(problem, seed=1), backend, problem.dtype, DEVICE)
    assert excess(problem, found, DEVICE) > 1


@pytest.mark.parametrize("backend", ["gather", "triton"])
@pytest.mark.parametrize("first", range(0, 100, 25))
def test_random_problems(first, backend):
    for seed in range(first, first + 25):
        assert_good(random_case(seed), backend)


@pytest.mark.parametrize(("size", "dim"), [(16, 32), (48, 80), (64, 64), (128, 96), (128, 128)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_triton_block_sizes_and_head_dimensions(size, dim, dtype):
    for seed, (pattern, missing) in enumerate(patterns(size)):
        problem = case(pattern, missing=missing, dim=dim, dtype=dtype, padding="holes", seed=seed)
        assert_good(problem, "triton")


def test_triton_gives_the_same_bits_again():
    problem = random_case(0, Sizes((64,), (64,)))
    first, second = (results(problem, "triton", problem.dtype, DEVICE) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("backend", ["gather", "flex", "triton"])
def test_query_without_keys_gives_zero_and_finite_gradients(backend):
    table = np.array([[[0, 1], [0, 1], [1, 2]]] * HEADS)
    local = BlockPattern(table, np.zeros(3, bool), 64)
    problem = case(local)
    mask = torch.zeros(2, 192, dtype=torch.bool)
    mask[:, :128] = True  # query blocks 0 and 1 read nothing else
    problem = replace(problem, mask=mask)
    out, dq, dk, dv = results(problem, backend, torch.float32, DEVICE)
    assert (out[:, :, :128] == 0).all()
    assert (dq[:, :, :128] == 0).all()
    assert (dv[:, :, :128] == 0).all()
    assert dk.isfinite().all()
    assert_good(problem, backend)


def test_flex_lengths_share_their_kernels():
    """Forward and backward; a head dimension of its own, so that no kernel is at hand."""
    before = counters["stats"]["unique_graphs"]
    for seed, length in enumerate((1024, 4096, 1500, 640, 8192, 130)):
        pattern = bigbird_itc(-(-length // 128), 128, 3, HEADS, seed=seed)
        q = torch.randn(2, HEADS, length, 32, device=DEVICE, requires_grad=True)
        attend(q, q, q, pattern, backend="flex").sum().backward()
    assert 1 <= counters["stats"]["unique_graphs"] - before <= 3


@pytest.mark.parametrize("backend", ["flex", "triton"])
def test_memory_is_linear(backend):
    peaks = []
    for length in (32768, 65536):
        pattern = bigbird_itc(length // 128, 128, 3, HEADS)
        q, k, v = (
            torch.randn(1, HEADS, length, 64, device=DEVICE, dtype=torch.bfloat16).requires_grad_()
            for _ in range(3)
        )
        attend(q, k, v, pattern, backend=backend).sum().backward()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        attend(q, k, v, pattern, backend=backend).sum().backward()
        peaks.append(torch.cuda.max_memory_allocated() - before)
    assert peaks[1] < 2.5 * peaks[0]


@pytest.mark.parametrize("other", ["flex", "triton"])
def test_agrees_with_gather_on_a_long_sequence(other):
    """Tables of 512 blocks; the oracle would not fit."""
    pattern = bigbird_itc(512, 128, 3, HEADS)
    found = []
    for backend in ("gather", other):
        generator = torch.Generator(DEVICE).manual_seed(0)
        q, k, v, weight = (
            torch.randn(1, HEADS, 65536, 64, device=DEVICE, generator=generator) for _ in range(4)
        )
        tensors = [x.requires_grad_() for x in (q, k, v)]
        out = attend(*tensors, pattern, backend=backend)
        found.append([out.detach(), *torch.autograd.grad(out, tensors, weight)])
    for gather, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, gather, rtol=1e-4, atol=1e-5 * gather.abs().max().item())


def test_merged_is_for_the_cpu():
    q = torch.zeros(1, HEADS, 64, 16, device=DEVICE)
    with pytest.raises(ValueError, match="backend 'merged' runs on a CPU, the tensors are on cuda"):
        attend(q, q, q, full(1, 64, HEADS), backend="merged")


CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=128, num_layers=3, num_heads=2, ffn_size=256, max_tokens=2048,
    block_size=64, num_random=2, dropout=0.0, init_std=0.1,
)  # fmt: skip
LENGTHS = ([1024, 1024], [1100, 700], [1984, 1984], [300, 1300])


def batch(lengths):
    generator = torch.Generator().manual_seed(1)
    width = max(lengths)
    ids = torch.randint(5, 50, (len(lengths), width), generator=generator)
    is_padding = torch.arange(width) >= torch.tensor(lengths)[:, None]
    segments = (torch.arange(width) > width // 3).long().repeat(len(lengths), 1)
    positions = torch.arange(3, min(lengths), 7)
    return [x.to(DEVICE) for x in (ids, is_padding, segments, positions)]


def gradients(call, model, inputs):
    model.zero_grad()
    mlm, nsp = call(*inputs)
    loss = mlm.float().square().mean() + nsp.float().square().sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def build(backend):
    model = PretrainingModel(CONFIG, seed=3).to(DEVICE)
    model.encoder.set_backend(backend)
    return model


def assert_close(found, expected, share):
    for one, other in zip(found, expected, strict=True):
        assert one.isfinite().all()
        assert (one - other).norm() <= share * other.norm() + 1e-5


@pytest.mark.parametrize("backend", ["auto", "gather", "flex", "triton"])
def test_model_on_the_gpu_equals_the_cpu(backend):
    on_cpu, model = PretrainingModel(CONFIG, seed=3), build(backend)
    inputs = batch(LENGTHS[1])
    expected = gradients(on_cpu, on_cpu, [x.cpu() for x in inputs])
    assert_close([x.cpu() for x in gradients(model, model, inputs)], expected, 1e-3)


@pytest.mark.parametrize("backend", ["gather", "flex", "triton"])
def test_compiled_training_equals_eager(backend):
    torch._dynamo.reset()
    model = build(backend)
    compiled = torch.compile(model)
    counts = []
    for lengths in LENGTHS:
        expected = gradients(model, model, batch(lengths))
        assert_close(gradients(compiled, model, batch(lengths)), expected, 1e-3)
        counts.append(counters["stats"]["unique_graphs"])
    assert counts[3] - counts[2] <= 2  # a group of one sequence


@pytest.mark.parametrize("backend", ["auto", "gather", "flex", "triton"])
def test_training_in_bfloat16(backend):
    """Autocast: gradients near those of float32, and the loss falls."""
    model = build(backend)
    inputs = batch(LENGTHS[1])
    exact = gradients(model, model, inputs)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert_close(gradients(model, model, inputs), exact, 0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    answers = inputs[0].flatten()[inputs[3]]
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            mlm, _ = model(*inputs)
            loss = torch.nn.functional.cross_entropy(mlm.float(), answers)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
