"""The parts that `cpu_chunks` is made of, and what it expects of PyTorch's private operators."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dna_bigbird.attention import attend
from dna_bigbird.attention.backends import cpu_chunks
from dna_bigbird.attention.backends.cpu_chunks import attend_long, long_gradients
from dna_bigbird.attention.backends.sdpa import lists
from dna_bigbird.attention.backends.softmax_parts import flash, flash_gradients, product_gradients
from dna_bigbird.attention.patterns import bigbird_itc
from tests.attention.cases import excess, random_case, random_pattern, results


def rebuilt(pattern):
    """Count by its lists how often each query block reads each key block."""
    of_pattern = lists(pattern)
    times = np.zeros((pattern.num_heads, pattern.num_blocks, pattern.num_blocks), dtype=int)
    rows = of_pattern.global_rows.tolist()
    times[:, rows] += 1
    for group in of_pattern.groups:
        rows += group.rows.tolist()
        for head, j in np.ndindex(group.blocks.shape[:2]):
            used = 1 if group.unused is None else ~group.unused[head, j].numpy()
            np.add.at(times[head, group.rows[j]], group.blocks[head, j].numpy(), used)
    assert sorted(rows) == list(range(pattern.num_blocks))
    return times


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 10**9))
def test_lists_add_up_to_the_pattern(seed):
    pattern, _ = random_pattern(np.random.default_rng(seed), heads=3, size=4)
    np.testing.assert_array_equal(rebuilt(pattern), pattern.times())


def test_lists_of_the_default_pattern():
    """Rows beside a global block read one block fewer, for their window overlaps it."""
    of_pattern = lists(bigbird_itc(64, 64, 3, 12))
    assert of_pattern.global_rows.tolist() == [0, 63]
    edges, inner = of_pattern.groups
    assert (edges.rows.tolist(), edges.blocks.shape) == ([1, 62], (12, 2, 7))
    assert (inner.rows.tolist(), inner.blocks.shape) == (list(range(2, 62)), (12, 60, 8))


def test_a_row_that_reads_every_block_once_is_as_good_as_global():
    assert lists(bigbird_itc(8, 64, 3, 12)).global_rows.tolist() == [0, 2, 3, 4, 5, 7]


@pytest.mark.parametrize("tokens", [1, 20, 100])
def test_the_cut_into_chunks_changes_nothing(tokens, monkeypatch):
    """Chunks of one block, of some rows of a head, of some heads."""
    monkeypatch.setattr(cpu_chunks, "MOST_TOKENS", tokens)
    for seed in range(300, 330):
        case = random_case(seed)
        assert excess(case, results(case, "cpu_chunks", case.dtype)) <= 1, case.what


@pytest.mark.parametrize("most", [0, 1 << 40])
def test_both_ways_for_global_rows(most, monkeypatch):
    """The kernel that keeps no scores, and products that do."""
    monkeypatch.setattr(cpu_chunks, "MOST_SCORES", most)
    for seed in range(360, 390):
        case = random_case(seed)
        assert excess(case, results(case, "cpu_chunks", case.dtype)) <= 1, case.what


@pytest.fixture(params=[2, 3, 5])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_threads_share_the_heads_and_change_nothing(threads):
    for seed in range(330, 360):
        case = random_case(seed)
        assert excess(case, results(case, "cpu_chunks", case.dtype)) <= 1, case.what
    assert torch.get_num_threads() == threads


def test_results_do_not_depend_on_the_number_of_threads():
    pattern = bigbird_itc(20, 8, 2, 6)
    q, k, v = torch.randn(3, 2, 6, 160, 8, generator=torch.Generator().manual_seed(0)).unbind()
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            tensors = [x.clone().requires_grad_() for x in (q, k, v)]
            out = attend(*tensors, pattern, backend="cpu_chunks")
            found.append([out, *torch.autograd.grad(out.square().sum(), tensors)])
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-6)


def in_child(pipe, pattern, q):
    pipe.send(attend(q, q, q, pattern, backend="cpu_chunks").sum().item())


def test_works_in_a_forked_process(threads):
    """A fork takes the object with the threads along, but not the threads."""
    pattern, q = bigbird_itc(20, 8, 2, 6), torch.randn(1, 6, 160, 8)
    expected = attend(q, q, q, pattern, backend="cpu_chunks").sum().item()
    context = torch.multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=in_child, args=(theirs, pattern, q))
    process.start()
    assert ours.poll(60), "the child computes nothing"
    assert ours.recv() == pytest.approx(expected, abs=1e-4)
    process.join()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("method", [flash, attend_long])
def test_output_and_natural_log_sum_exp_of_scaled_scores(method, dtype):
    """At an odd size and with a bias; `flash` is a private operator of PyTorch."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 3, n, 8, generator=generator).to(dtype) for n in (5, 70, 70))
    bias = torch.where(torch.rand(2, 3, 1, 70, generator=generator) < 0.3, cpu_chunks.HIDDEN, 0.0)
    bias = bias.to(dtype)
    bias[0, 0] = cpu_chunks.HIDDEN  # all keys of one list
    out, lse = method(q, k, v, bias)
    scores = q.double() @ k.double().mT / math.sqrt(8) + bias.double()
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12}[dtype]
    exact = scores.logsumexp(-1, keepdim=True)
    torch.testing.assert_close(lse.double()[0, 1:], exact[0, 1:], rtol=0, atol=tolerance)
    torch.testing.assert_close(lse.double()[1], exact[1], rtol=0, atol=tolerance)
    assert (lse[0, 0] < cpu_chunks.HIDDEN / 2).all()
    assert out.isfinite().all()
    values = (scores.softmax(-1) @ v.double())[1]
    torch.testing.assert_close(out.double()[1], values, rtol=0, atol=tolerance)


@pytest.mark.parametrize("method", [flash_gradients, product_gradients, long_gradients])
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_from_the_log_sum_exp(method, masked):
    """Against autograd of a softmax that is written out."""
    generator = torch.Generator().manual_seed(1)
    shape = {"generator": generator, "dtype": torch.float64}
    q, grad = (torch.randn(2, 3, 5, 8, **shape) for _ in range(2))
    k, v = (torch.randn(2, 3, 70, 8, **shape) for _ in range(2))
    bias = None
    if masked:
        hidden = torch.rand(2, 3, 1, 70, generator=generator) < 0.3
        bias = torch.where(hidden, cpu_chunks.HIDDEN, 0.0).double()
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    scores = leaves[0] @ leaves[1].mT / math.sqrt(8) + (0 if bias is None else bias)
    out = scores.softmax(-1) @ leaves[2]
    wanted = torch.autograd.grad(out, leaves, grad)
    lse = scores.logsumexp(-1, keepdim=True).detach()
    found = method(grad, q, out.detach(), lse, k, v, bias)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "dropout_p", "message"),
    [
        (
            torch.float32,
            0.1,
            "backend 'cpu_chunks' has no dropout, dropout_p is 0.1; 'gather' has it",
        ),
        (torch.float16, 0.0, "computes float32, float64, bfloat16; the tensors are torch.float16"),
    ],
)
def test_what_it_cannot_do_is_an_error(dtype, dropout_p, message):
    q = torch.zeros(1, 2, 36, 8, dtype=dtype)
    with pytest.raises(ValueError, match=message):
        attend(q, q, q, bigbird_itc(9, 4, 1, 2), None, dropout_p, "cpu_chunks")


def test_another_device_is_an_error():
    q = torch.zeros(1, 2, 36, 8, device="meta")
    with pytest.raises(
        ValueError, match="backend 'cpu_chunks' runs on a CPU, the tensors are on meta"
    ):
        cpu_chunks.cpu_chunks(q, q, q, bigbird_itc(9, 4, 1, 2), None, 0.0)
