"""Backend `triton` without a GPU: in Triton's interpreter, its lists, its limits, and compiling."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from dna_bigbird.attention import attend
from dna_bigbird.attention.kernels.triton import operator
from dna_bigbird.attention.kernels.triton.operator import two_way_lists
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc, full
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder

ROOT = Path(__file__).parents[3]
is_installed = importlib.util.find_spec("triton") is not None
needs_triton = pytest.mark.skipif(
    not is_installed, reason="Triton is not installed: pip install triton (Linux on x86-64)"
)


def interpreter_obstacle() -> str:
    """Return why Triton's interpreter does not run here, or an empty text."""
    if not is_installed:
        return ""
    from importlib.metadata import version

    numbers = [[int(n) for n in version(name).split(".")[:2]] for name in ("triton", "numpy")]
    if numbers[0] < [3, 7] and numbers[1] >= [2, 4]:
        return "the interpreter of Triton 3.6 does not run with numpy 2.4; pip install 'numpy<2.4'"
    return ""


def run_interpreted(*options):
    """Run `interpreted.py` in a child process."""
    file = Path(__file__).with_name("interpreted.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(file)]
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


needs_interpreter = pytest.mark.skipif(bool(interpreter_obstacle()), reason=interpreter_obstacle())


@needs_triton
@needs_interpreter
def test_in_the_interpreter():
    """Thirty problems of the exactness suite in float32, a lost block, layouts, torch.compile."""
    run_interpreted()


@needs_triton
@needs_interpreter
@pytest.mark.slow
def test_three_hundred_problems_in_the_interpreter():
    run_interpreted("-m", "slow")


def read(starts, blocks, head):
    """Return the lists of one head as Python lists."""
    return [blocks[a:b].tolist() for a, b in zip(starts[head][:-1], starts[head][1:], strict=True)]


@pytest.mark.parametrize(
    "pattern",
    [
        bigbird_itc(12, 16, 2, 3),
        bigbird_itc(16, 16, 3, 2, "huggingface"),  # with repeats
        BlockPattern(np.array([[[2, 2], [-1, -1], [0, -1]]]), np.array([False, True, False]), 16),
        full(1, 16, 1),
    ],
)
def test_lists_have_each_pair_as_often_as_it_counts(pattern):
    starts, blocks, order = two_way_lists(pattern, torch.device("cpu"))
    for head, times in enumerate(pattern.times()):
        for direction, counts in enumerate((times, times.T)):
            lists = read(starts[direction], blocks[direction], head)
            for block, row in enumerate(counts):
                assert sorted(lists[block]) == np.repeat(np.arange(len(row)), row).tolist()
            lengths = [len(lists[block]) for block in order[direction, head].tolist()]
            assert sorted(order[direction, head].tolist()) == list(range(pattern.num_blocks))
            assert lengths == sorted(lengths, reverse=True)


@needs_triton
def test_a_cpu_without_the_interpreter():
    q = torch.zeros(1, 2, 80, 16)
    message = "backend 'triton' runs on a GPU, the tensors are on cpu; use 'gather'"
    with pytest.raises(ValueError, match=message):
        attend(q, q, q, bigbird_itc(5, 16, 1, 2), backend="triton")


@pytest.mark.parametrize(
    ("dtype", "head_dim", "dropout_p", "message"),
    [
        (torch.float16, 16, 0.0, "computes float32 and bfloat16; the tensors are torch.float16"),
        (torch.float32, 16, 0.1, "has no dropout, dropout_p is 0.1; 'gather' has it"),
        (torch.float32, 144, 0.0, "takes head dimensions up to 128, got 144"),
    ],
)
def test_what_it_cannot_do(dtype, head_dim, dropout_p, message, monkeypatch):
    monkeypatch.setattr(f"{BACKEND}._machine_obstacle", lambda device_type: None)
    q = torch.zeros(1, 2, 80, head_dim, dtype=dtype)
    with pytest.raises(ValueError, match=f"backend 'triton' {message}"):
        attend(q, q, q, bigbird_itc(5, 16, 1, 2), None, dropout_p, "triton")


BACKEND = "dna_bigbird.attention.kernels.triton.operator"
CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=288, num_layers=1, num_heads=2, ffn_size=16, max_tokens=64,
    block_size=16, num_random=1,
)  # fmt: skip


def test_without_triton(monkeypatch):
    monkeypatch.setattr(operator.importlib.util, "find_spec", lambda name: None)
    q = torch.zeros(1, 2, 80, 16)
    message = "backend 'triton' needs the package triton, which PyTorch for CUDA installs"
    with pytest.raises(ValueError, match=message):
        attend(q, q, q, bigbird_itc(5, 16, 1, 2), backend="triton")
    with pytest.raises(InputError, match=message):
        Encoder(CONFIG).set_backend("triton")


@needs_triton
def test_a_model_that_it_cannot_compute():
    with pytest.raises(
        InputError, match="backend 'triton' takes head dimensions up to 128, got 144"
    ):
        Encoder(CONFIG).set_backend("triton")


def test_the_package_does_not_import_the_kernels():
    module = "dna_bigbird.attention.kernels.triton.kernels"
    code = f"import sys, dna_bigbird.models.encoder as _; print({module!r} in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


SHARED_MEMORY_BYTES = 227 * 1024
"""What a program may have on an H100."""


def compiled(name, dtype, size, dim, masked):
    """Compile a kernel for an H100, which needs no GPU."""
    import triton
    from triton.backends.compiler import GPUTarget

    from dna_bigbird.attention.kernels.triton import kernels

    kernel = getattr(kernels, name)
    tile, warps, stages = operator.tuning(dtype, dim, size)
    constants = {"S": size, "D": dim, "TILE": tile, "TILE_D": operator.power_of_2(dim)}
    constants |= {} if masked else {"hidden": None}
    types = dict.fromkeys(("H", "N", "T"), "i32") | {"scale": "fp32", "hidden": "*u8"}
    types |= dict.fromkeys(("starts", "blocks", "order"), "*i32")
    types |= dict.fromkeys(("log2_sum_exp", "delta"), "*fp32")
    types |= dict.fromkeys(constants, "constexpr")
    pointer = "*bf16" if dtype == torch.bfloat16 else "*fp32"
    signature = {
        name: ("i32",) * 3 if name.endswith("strides") else types.get(name, pointer)
        for name in kernel.arg_names
    }
    positions = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    return triton.compile(
        triton.compiler.ASTSource(kernel, signature, positions),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": warps, "num_stages": stages},
    )


VARIANTS = [
    (torch.bfloat16, 64, 64, True),
    pytest.param(torch.bfloat16, 16, 32, False, marks=pytest.mark.slow),
    pytest.param(torch.bfloat16, 48, 80, True, marks=pytest.mark.slow),
    pytest.param(torch.bfloat16, 128, 128, True, marks=pytest.mark.slow),
    pytest.param(torch.float32, 32, 64, False, marks=pytest.mark.slow),
    pytest.param(torch.float32, 128, 128, True, marks=pytest.mark.slow),
]


@needs_triton
@pytest.mark.parametrize(("dtype", "size", "dim", "masked"), VARIANTS)
@pytest.mark.parametrize("name", ["forward", "backward_of_queries", "backward_of_keys"])
def test_compiles_for_an_h100(name, dtype, size, dim, masked, tmp_path, monkeypatch):
    """The compiler checks types that the interpreter does not, and counts shared memory."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    program = compiled(name, dtype, size, dim, masked)
    assert program.asm["cubin"]
    assert program.metadata.shared <= SHARED_MEMORY_BYTES
