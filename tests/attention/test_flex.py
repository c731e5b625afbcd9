"""Backend flex on the CPU: forward only, compiled. What a GPU can do more is in `test_cuda.py`."""

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters
from torch._inductor.cpp_builder import get_cpp_compiler
from torch._inductor.exc import InvalidCxxCompiler

from dna_bigbird.attention import attend
from dna_bigbird.attention.backends.flex import flex
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc, full
from tests.attention.cases import random_case


def obstacle() -> str:
    """Return why nothing can be compiled here, or an empty text."""
    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return "flex needs a C++ compiler, and there is none here"
    return "" if torch.cpu._is_avx2_supported() else "flex on a CPU needs AVX2"


# Of PyTorch's own import of its compiler.
pytestmark = pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
needs_compiler = pytest.mark.skipif(bool(obstacle()), reason=obstacle())

# Block size, heads and head dimension are always the same: each kernel takes seconds to compile.
SIZE, HEADS, DIM = 8, 2, 32
WIDTHS = BlockPattern(
    np.array([[[0, 1, -1], [-1, -1, -1], [0, 2, 1]], [[0, 2, -1], [-1, -1, -1], [2, 1, 0]]]),
    np.array([False, True, False]),
    SIZE,
)
LOCAL = BlockPattern(np.array([[[0, 1], [0, 1], [1, 2]]] * HEADS), np.zeros(3, bool), SIZE)
PATTERNS = {
    "uniform": (bigbird_itc(20, SIZE, 3, HEADS), 160),
    "ragged": (bigbird_itc(20, SIZE, 3, HEADS, seed=1), 153),
    "one token in the last block": (bigbird_itc(13, SIZE, 1, HEADS), 97),
    "first two": (bigbird_itc(20, SIZE, 1, HEADS, global_blocks="first_two"), 160),
    "wide window": (bigbird_itc(20, SIZE, 1, HEADS, window_blocks=7, global_blocks="none"), 158),
    "original plan B": (bigbird_itc(12, SIZE, 2, HEADS, "original", 1), 94),
    "moved": (bigbird_itc(12, SIZE, 2, HEADS, "original", 1, global_blocks="first_two"), 94),
    "covered": (bigbird_itc(5, SIZE, 3, HEADS), 36),
    "full": (full(4, SIZE, HEADS), 32),
    "rows of several widths": (WIDTHS, 19),
    "no global row": (LOCAL, 24),
}


def inputs(length, dtype=torch.float32, batch=3):
    return [
        torch.randn(batch, HEADS, length, DIM, generator=torch.Generator().manual_seed(i)).to(dtype)
        for i in (1, 2, 3)
    ]


def holes(length):
    """Padding anywhere; the last sequence is padding only."""
    mask = torch.rand(3, length, generator=torch.Generator().manual_seed(7)) < 0.4
    mask[-1] = True
    return mask


def error(tensors, pattern, mask=None, given=None):
    """Return the error of flex over what is allowed, if it is given another pattern perhaps.

    Allowed is eight times the error of dense in the same type and two epsilons of the largest value.
    """
    q, k, v = tensors
    exact = attend(q.double(), k.double(), v.double(), pattern, mask, backend="dense")
    dense = attend(q, k, v, pattern, mask, backend="dense").double()
    out = attend(q, k, v, given or pattern, mask, backend="flex")
    assert out.dtype == q.dtype
    rounding = 2 * torch.finfo(q.dtype).eps * exact.abs().max()
    allowed = 8 * (dense - exact).abs().max() + rounding
    largest = (out.double() - exact).abs().max()
    return (largest / allowed).item() if largest else 0.0


@needs_compiler
@pytest.mark.parametrize("name", PATTERNS)
def test_rounds_about_as_well_as_dense(name):
    pattern, length = PATTERNS[name]
    assert error(inputs(length), pattern) <= 1


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", PATTERNS)
def test_rounds_about_as_well_as_dense_with_padding(name, dtype):
    pattern, length = PATTERNS[name]
    assert error(inputs(length, dtype), pattern, holes(length)) <= 1


@needs_compiler
def test_a_lost_block_is_caught():
    pattern, length = PATTERNS["ragged"]
    table = pattern.key_blocks.copy()
    table[:, 7, -1] = -1
    given = BlockPattern(table, pattern.is_global.copy(), SIZE)
    assert error(inputs(length), pattern, given=given) > 100
    assert error(inputs(length), pattern, holes(length), given=given) > 100


@needs_compiler
@pytest.mark.parametrize("length", [112, 107])
@pytest.mark.parametrize("training", [False, True])
def test_a_block_that_stands_several_times_counts_as_often(training, length):
    """Block 0 counts four times in that library's evaluation."""
    pattern = bigbird_itc(14, SIZE, 3, HEADS, "huggingface", training=training)
    assert error(inputs(length), pattern) <= 1
    first = np.where(np.diff(np.sort(pattern.key_blocks, axis=2), axis=2, prepend=-2) > 0, 0, -1)
    once = np.where(first == 0, np.sort(pattern.key_blocks, axis=2), -1)
    given = BlockPattern(once, pattern.is_global.copy(), SIZE)
    assert training or error(inputs(length), pattern, given=given) > 100


@needs_compiler
def test_query_without_keys_gives_zero():
    mask = torch.zeros(3, 24, dtype=torch.bool)
    mask[:, :16] = True  # query blocks 0 and 1 of LOCAL read nothing else
    out = attend(*inputs(24), LOCAL, mask, backend="flex")
    assert (out[:, :, :16] == 0).all()
    assert (out[:, :, 16:] != 0).all()
    assert (attend(*inputs(24), LOCAL, torch.ones_like(mask), backend="flex") == 0).all()


@needs_compiler
def test_padded_keys_have_no_influence():
    pattern, length = PATTERNS["ragged"]
    mask = holes(length)
    q, k, v = inputs(length)
    other = [torch.where(mask[:, None, :, None], value, x) for x, value in ((k, 1e4), (v, -1e4))]
    expected = attend(q, k, v, pattern, mask, backend="flex")
    assert torch.equal(attend(q, *other, pattern, mask, backend="flex"), expected)


@needs_compiler
def test_one_tensor_as_query_key_and_value():
    pattern, length = PATTERNS["ragged"]
    assert error([inputs(length)[0]] * 3, pattern) <= 1


@needs_compiler
def test_lengths_share_a_kernel():
    """Ragged and covered ones too. At first there are 2 sequences, 2 heads and 2 blocks."""
    before = counters["stats"]["unique_graphs"]
    for seed, length in enumerate((16, 160, 153, 40, 8, 1000, 321, 96)):
        pattern = bigbird_itc(-(-length // SIZE), SIZE, 1 + seed % 3, HEADS, seed=seed)
        q = torch.zeros(2, HEADS, length, 28)  # a head dimension of its own: nothing is at hand
        attend(q, q, q, pattern, backend="flex")
    assert 1 <= counters["stats"]["unique_graphs"] - before <= 2


@needs_compiler
def test_a_table_first_used_in_inference_mode_serves_later():
    pattern = bigbird_itc(20, SIZE, 3, HEADS, seed=987)
    with torch.inference_mode():
        attend(*inputs(160), pattern, backend="flex")
    assert error(inputs(160), pattern) <= 1


@needs_compiler
def test_autocast():
    """Autocast's own type, within the caller's gradient mode."""
    pattern, length = PATTERNS["ragged"]
    q, k, v = inputs(length)
    exact = attend(q, k, v, pattern, holes(length), backend="dense")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = attend(q, k, v, pattern, holes(length), backend="flex")
    assert out.dtype == torch.bfloat16
    assert (out - exact).abs().max() < 0.05  # a lost block costs about 0.6


@needs_compiler
def test_within_a_compiled_function():
    pattern, length = PATTERNS["ragged"]
    q, k, v = inputs(length)

    def twice(q, k, v):
        return attend(2 * q, k, v, pattern, backend="flex") * 2

    compiled = torch.compile(twice, backend="eager")
    torch.testing.assert_close(compiled(q, k, v), twice(q, k, v))


@pytest.mark.parametrize(
    ("change", "dropout_p", "message"),
    [
        ({}, 0.1, "backend 'flex' has no dropout of the weights; use gather or dense"),
        ({"dtype": torch.float64}, 0.0, "has no torch.float64; use dense, gather or cpu_chunks"),
        (
            {"requires_grad": True},
            0.0,
            "no backward pass on the CPU; train with cpu_chunks or gather",
        ),
    ],
)
def test_what_it_cannot_do(change, dropout_p, message):
    q = torch.zeros(1, HEADS, 160, DIM, **change)
    with pytest.raises(ValueError, match=message):
        attend(q, q, q, bigbird_itc(20, SIZE, 1, HEADS), None, dropout_p, "flex")


def test_block_sizes_that_a_gpu_has_no_kernel_for():
    q = torch.zeros(1, HEADS, 160, DIM, device="meta")  # as good as a GPU until it computes
    with pytest.raises(ValueError, match=r"that 32 divides .* on meta, got 8 and 32; use gather"):
        flex(q, q, q, bigbird_itc(20, SIZE, 1, HEADS), None, 0.0)


@needs_compiler
def test_inputs_that_would_have_gradients_are_fine_without_them():
    pattern, length = PATTERNS["ragged"]
    tensors = [x.requires_grad_() for x in inputs(length)]
    with torch.no_grad():
        assert error(tensors, pattern) <= 1


def test_no_compiler():
    """A head dimension that nothing else here uses, so that no kernel is at hand."""
    q = torch.zeros(1, HEADS, 160, 27)
    missing = torch._inductor.config.patch({"cpp.cxx": (None, "no-such-compiler")})
    with missing, pytest.raises(RuntimeError, match=r"No working C\+\+ compiler.*such as g\+\+"):
        attend(q, q, q, bigbird_itc(20, SIZE, 1, HEADS), backend="flex")


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_random_problems(seed):
    """Other block sizes, heads, head dimensions, batch sizes, and tables without structure."""
    case = random_case(seed)
    with torch.no_grad():
        tensors = [x.to(case.dtype) for x in (case.q, case.k, case.v)]
        if case.dtype != torch.float32 and case.pattern.block_size % 2:
            tensors = [x.float() for x in tensors]  # refused otherwise, see below
        assert error(tensors, case.pattern, case.mask) <= 1, case.what


@pytest.mark.parametrize(
    ("capability", "dim", "is_refused"),
    [("AVX2", 16, True), ("AVX2", 17, False), ("AVX512", 16, False)],
)
def test_a_cpu_that_computes_small_blocks_wrongly_is_refused(
    monkeypatch, capability, dim, is_refused
):
    """Before anything is compiled; seen on an AMD EPYC with torch 2.13, where errors were as large as the values."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    q = torch.zeros(1, HEADS, 160, dim)
    missing = torch._inductor.config.patch({"cpp.cxx": (None, "no-such-compiler")})
    refused = pytest.raises(ValueError, match="AVX2 alone for a block size of 8")
    passed = pytest.raises(RuntimeError, match="compiler")
    with missing, refused if is_refused else passed:
        attend(q, q, q, bigbird_itc(20, SIZE, 1, HEADS), backend="flex")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_odd_blocks_are_refused_in_half_precision_on_a_cpu(dtype):
    """PyTorch's kernel gives nan or huge numbers there, on processors with AMX at least."""
    q = torch.zeros(1, HEADS, 100, 16, dtype=dtype)
    with pytest.raises(ValueError, match=r"needs an even block size for .* on a CPU, got 5; use"):
        attend(q, q, q, bigbird_itc(20, 5, 1, HEADS), backend="flex")


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("size", "length"), [(16, 1), (16, 15), (64, 1023), (100, 1999), (128, 4097)]
)
def test_block_sizes_and_types(size, length, dtype):
    pattern = bigbird_itc(-(-length // size), size, 3, HEADS)
    assert error(inputs(length, dtype), pattern) <= 1


def test_a_torch_whose_gpu_kernel_reads_other_blocks_is_refused(monkeypatch):
    """Before anything is compiled; on a CPU the same torch computes it."""
    q = torch.empty(1, HEADS, 64, 16, device="meta")
    pattern = full(2, 32, HEADS)
    for version, refused in (("2.11.0+cu130", "2.12"), ("2.12.0", "dropout")):
        monkeypatch.setattr(torch, "__version__", torch.torch_version.TorchVersion(version))
        with pytest.raises(ValueError, match=f"flex.*{refused}"):
            flex(q, q, q, pattern, None, 0.1)
