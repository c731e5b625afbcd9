"""Backend `native` in the places where it is used; exactness itself is in test_exactness.py."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from dna_bigbird.attention import attend
from dna_bigbird.attention.kernels.native import library
from dna_bigbird.attention.kernels.native.isa import VARIABLE, supported_isas
from dna_bigbird.attention.kernels.native.operator import block_lists
from dna_bigbird.attention.patterns import bigbird_itc, full
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from tests.attention.cases import MULTIPLES_OF_16, excess, random_case, results
from tests.attention.native.marks import needs_kernel

attend_module = importlib.import_module("dna_bigbird.attention.attend")
ROOT = Path(__file__).parents[3]
pytestmark = needs_kernel


def inputs(batch, heads, tokens, dim, dtype=torch.float32, seed=0):
    """Return q, k, v and the output's gradient."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(4, batch, heads, tokens, dim, generator=generator).to(dtype).unbind()


def with_gradients(q, k, v, weight, pattern, mask=None, backend="native"):
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    out = attend(q, k, v, pattern, mask, backend=backend)
    return [out.detach(), *torch.autograd.grad(out, (q, k, v), weight)]


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("isa", supported_isas()[1:])
def test_every_instruction_set_is_exact(isa, tmp_path):
    """In a process of its own, for the choice is made once; the best one runs everywhere else."""
    script = (
        "from tests.attention.cases import MULTIPLES_OF_16, excess, random_case, results\n"
        "for seed in range(2000, 2012):\n"
        "    case = random_case(seed, MULTIPLES_OF_16)\n"
        "    found = excess(case, results(case, 'native', case.dtype))\n"
        "    assert found <= 1, (found, case.what)\n"
        "from dna_bigbird.attention.kernels.native.isa import best_isa\n"
        "print('done with', best_isa())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, VARIABLE: isa, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == f"done with {isa}", done.stderr


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("heads", [4, 5], ids=["heads divide", "a head is cut into parts"])
def test_the_same_bits_again_and_forward_for_any_number_of_threads(heads, dtype, threads):
    *tensors, weight = inputs(2, heads, 300, 32, dtype)
    pattern = bigbird_itc(19, 16, 2, heads)
    found = {}
    for number in (1, 2, 3, 7, 16):
        threads(number)
        found[number] = with_gradients(*tensors, weight, pattern)
        for one, other in zip(
            found[number], with_gradients(*tensors, weight, pattern), strict=True
        ):
            assert torch.equal(one, other)
        out, dq, dk, dv = found[number]
        assert torch.equal(out, found[1][0])
        assert torch.equal(dq, found[1][1])
        for one, other in ((dk, found[1][2]), (dv, found[1][3])):  # other sums of the same parts
            torch.testing.assert_close(
                one, other, rtol=0, atol=1e-5 if dtype.itemsize == 4 else 0.1
            )


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_work_is_shared(number):
    """Without OpenMP in both compiling and linking, all would silently run on one thread."""
    assert library.library().threads(number) == number


def test_more_threads_than_heads_are_exact(threads):
    threads(7)
    for seed in range(2100, 2120):
        case = random_case(seed, MULTIPLES_OF_16)
        assert excess(case, results(case, "native", case.dtype)) <= 1, case.what


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_any_layout_gives_the_same_bits(dtype):
    """Views of a fused projection; a gradient that is one number; a last dimension with a step."""
    q, k, v, _ = inputs(2, 3, 200, 32, dtype)
    pattern = bigbird_itc(13, 16, 1, 3)
    weight = torch.ones((), dtype=dtype).expand(q.shape)
    wanted = with_gradients(q, k, v, weight.contiguous(), pattern)
    fused = torch.stack([x.transpose(1, 2) for x in (q, k, v)], dim=2)
    of_projection = [x.transpose(1, 2) for x in fused.unbind(2)]
    stepping = [torch.stack([x, x], dim=-1)[..., 0] for x in (q, k, v)]
    for views in (of_projection, stepping):
        for one, other in zip(with_gradients(*views, weight, pattern), wanted, strict=True):
            assert torch.equal(one, other)


def test_the_output_lies_as_the_projection_wants_it():
    q, k, v, _ = inputs(2, 3, 200, 32)
    out = attend(q, k, v, bigbird_itc(13, 16, 1, 3), backend="native")
    assert out.transpose(1, 2).is_contiguous()


def test_what_stands_in_a_hidden_key_has_no_influence():
    q, k, v, weight = inputs(2, 2, 150, 16)
    pattern, hidden = bigbird_itc(10, 16, 1, 2), torch.rand(2, 150) < 0.4
    hidden[1, 30:] = True
    wanted = with_gradients(q, k, v, weight, pattern, hidden)
    k, v = (x.masked_fill(hidden[:, None, :, None], float("nan")) for x in (k, v))
    for one, other in zip(with_gradients(q, k, v, weight, pattern, hidden), wanted, strict=True):
        assert torch.equal(one, other)


def test_a_query_without_keys_gives_zero_and_finite_gradients():
    q, k, v, weight = inputs(1, 2, 100, 16)
    found = with_gradients(q, k, v, weight, full(7, 16, 2), torch.ones(1, 100, dtype=torch.bool))
    assert all(torch.equal(x, torch.zeros_like(x)) for x in found)


def test_scores_of_hundreds_neither_overflow_nor_vanish():
    """The running maximum moves late; differences of more than 2^126 become zero weights."""
    q, k, v, weight = inputs(1, 2, 300, 32)
    pattern = bigbird_itc(19, 16, 2, 2)
    q = q * 300
    exact = with_gradients(*(x.double() for x in (q, k, v, weight)), pattern, backend="dense")
    for one, other in zip(with_gradients(q, k, v, weight, pattern), exact, strict=True):
        assert (one - other).abs().max() < 2e-4 * other.abs().max()


def test_nan_in_a_query_stays_in_its_row():
    q, k, v, _ = inputs(1, 1, 64, 16)
    q[0, 0, 5] = float("nan")
    out = attend(q, k, v, full(4, 16, 1), backend="native")
    assert out[0, 0, 5].isnan().all()
    assert out[0, 0, torch.arange(64) != 5].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("hidden", [None, torch.arange(70).expand(2, 70) > 60])
def test_pytorchs_own_checks_of_an_operator(dtype, hidden):
    """Schema, autograd registration, the fake implementation, tracing with dynamic shapes."""
    q, k, v, _ = inputs(2, 2, 70, 16, dtype)
    lists = block_lists(bigbird_itc(5, 16, 1, 2))
    tensors = [x.detach().requires_grad_() for x in (q, k, v)]
    torch.library.opcheck(torch.ops.dna_bigbird.block_attention, (*tensors, *lists, hidden, 16))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": torch.zeros(1, 2, 69, 16)}, "q, k, v must have one shape and type"),
        ({"v": torch.zeros(1, 2, 70, 16).bfloat16()}, "q, k, v must have one shape and type"),
        ({"block_size": 32}, r"of \(2, 5\) heads and query blocks, expected \(2, 3\): 70 tokens"),
        ({"block_size": 8}, "block sizes that are multiples of 16, got 8"),
        ({"order": torch.zeros(2, 5)}, "the lists must be contiguous int32"),
        ({"hidden": torch.zeros(1, 71, dtype=torch.bool)}, r"contiguous bool \(1, 70\)"),
    ],
)
def test_the_operator_refuses_what_does_not_fit(change, message):
    q, k, v, _ = inputs(1, 2, 70, 16)
    row_starts, key_blocks, order = block_lists(bigbird_itc(5, 16, 1, 2))
    given = {"q": q, "k": k, "v": v, "row_starts": row_starts, "key_blocks": key_blocks}
    given |= {"order": order, "hidden": None, "block_size": 16}
    with pytest.raises(ValueError, match=message):
        torch.ops.dna_bigbird.block_attention(**(given | change))


@pytest.mark.parametrize("backend", ["native", "auto"])
def test_compiles_into_one_graph(backend):
    """torch.compile finds nothing it must leave, forward or backward, and knows pattern from pattern."""
    *tensors, weight = inputs(1, 2, 150, 16)
    library.library()

    def block(q, k, v, pattern):
        return attend(2 * q, k, v, pattern, backend=backend).sin()

    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    for pattern in (bigbird_itc(10, 16, 1, 2, seed=seed) for seed in (0, 1, 0)):
        found = []
        for call in (block, compiled):
            leaves = [x.detach().requires_grad_() for x in tensors]
            out = call(*leaves, pattern)
            found.append([out, *torch.autograd.grad(out, leaves, weight)])
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other)


def test_autocast_computes_in_its_type():
    q, k, v, _ = inputs(1, 2, 70, 16)
    pattern = bigbird_itc(5, 16, 1, 2)
    with torch.autocast("cpu", torch.bfloat16):
        out = attend(q, k, v, pattern, backend="native")
    assert out.dtype == torch.bfloat16
    halves = [x.bfloat16() for x in (q, k, v)]
    assert torch.equal(out, attend(*halves, pattern, backend="native"))


def test_checkpointing_gives_the_same_gradients():
    *tensors, weight = inputs(1, 2, 70, 16)
    pattern = bigbird_itc(5, 16, 1, 2)
    wanted = with_gradients(*tensors, weight, pattern)
    q, k, v = (x.detach().requires_grad_() for x in tensors)
    out = checkpoint(attend, q, k, v, pattern, backend="native", use_reentrant=False)
    for one, other in zip(torch.autograd.grad(out, (q, k, v), weight), wanted[1:], strict=True):
        assert torch.equal(one, other)


def test_a_model_gives_the_states_that_dense_attention_gives():
    config = EncoderConfig(
        vocab_size=50,
        hidden_size=64,
        num_layers=2,
        num_heads=2,
        ffn_size=64,
        max_tokens=256,
        block_size=16,
        num_random=1,
        dropout=0.0,
    )
    encoder = Encoder(config).eval()
    ids = torch.randint(0, 50, (3, 250), generator=torch.Generator().manual_seed(0))
    padding = torch.arange(250) >= torch.tensor([[250], [100], [33]])
    states = {}
    for backend in ("native", "dense"):
        encoder.set_backend(backend)
        with torch.inference_mode():
            states[backend] = encoder(ids, padding)
    torch.testing.assert_close(states["native"], states["dense"], rtol=0, atol=2e-5)


def test_auto_takes_it(monkeypatch):
    called = []
    kernel = attend_module.BACKENDS["native"]
    monkeypatch.setitem(
        attend_module.BACKENDS, "native", lambda *given: called.append(1) or kernel(*given)
    )
    library.library()  # built, if it was not
    library._is_there.cache_clear()
    q, k, v, _ = inputs(1, 2, 70, 16)
    attend(q, k, v, bigbird_itc(5, 16, 1, 2))
    assert called
    attend(q, k, v, bigbird_itc(7, 10, 1, 2))  # blocks that it does not take
    assert len(called) == 1
    library._is_there.cache_clear()
