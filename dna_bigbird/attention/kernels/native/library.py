"""The native kernel's calls, through ctypes: `kernel.cpp` has the other side of each structure."""

import ctypes
import functools
import logging
from pathlib import Path

import torch

from dna_bigbird.attention.kernels.native.build import NativeUnavailableError, build, built
from dna_bigbird.attention.kernels.native.isa import best_isa

logger = logging.getLogger("dna_bigbird")


class TensorView(ctypes.Structure):
    """A tensor (batch, heads, tokens, head_dim) with a contiguous last dimension."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("batch_step", ctypes.c_int64),
        ("head_step", ctypes.c_int64),
        ("token_step", ctypes.c_int64),
    )

    @classmethod
    def of(cls, x: torch.Tensor) -> "TensorView":
        """Return the view of a tensor, which must outlive it."""
        return cls(x.data_ptr(), *x.stride()[:3])


class Problem(ctypes.Structure):
    """What a call is given."""

    _fields_ = (
        ("batch", ctypes.c_int64),
        ("heads", ctypes.c_int64),
        ("tokens", ctypes.c_int64),
        ("head_dim", ctypes.c_int64),
        ("block_size", ctypes.c_int64),
        ("num_blocks", ctypes.c_int64),
        ("row_starts", ctypes.c_void_p),
        ("key_blocks", ctypes.c_void_p),
        ("order", ctypes.c_void_p),
        ("hidden", ctypes.c_void_p),
        ("scale", ctypes.c_float),
        ("is_bfloat16", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("q", TensorView),
        ("k", TensorView),
        ("v", TensorView),
        ("out", TensorView),
        ("log2_sum_exp", ctypes.c_void_p),
        ("grad", TensorView),
        ("grad_q", TensorView),
        ("grad_k", TensorView),
        ("grad_v", TensorView),
    )


class Library:
    """The kernel for one instruction set; NativeUnavailableError if it cannot be loaded."""

    def __init__(self, path: Path) -> None:
        try:
            # Loading it after torch, which brings OpenMP: both share one set of threads.
            self._calls = ctypes.CDLL(str(path))
        except OSError as error:
            raise NativeUnavailableError(
                f"the native kernel {path} cannot be loaded ({error}); remove it and run "
                "dna-bigbird doctor --build-native"
            ) from None

    def forward(self, problem: Problem) -> None:
        """Write `out` and `log2_sum_exp`."""
        self._run("dna_bigbird_forward", problem)

    def backward(self, problem: Problem) -> None:
        """Write `grad_q`, `grad_k` and `grad_v`."""
        self._run("dna_bigbird_backward", problem)

    def threads(self, requested: int) -> int:
        """Return how many threads share the work where `requested` are asked for."""
        return self._calls.dna_bigbird_threads(requested)

    def _run(self, name: str, problem: Problem) -> None:
        if getattr(self._calls, name)(ctypes.byref(problem)):
            raise MemoryError("not enough memory for the native attention kernel")


@functools.cache
def library() -> Library:
    """Return the kernel of this processor, made first if it is not there (some seconds)."""
    return Library(build(best_isa(), verbose=True))


@torch.compiler.assume_constant_result
def is_there() -> bool:
    """Return True if the kernel can be used without compiling; if not, log that once."""
    return _is_there()


@functools.cache
def _is_there() -> bool:
    isa = best_isa()
    try:
        path = built(isa)
        if path is None:
            raise NativeUnavailableError("the native CPU kernel is not built")
        Library(path)
    except NativeUnavailableError as error:
        logger.warning(
            "%s: attention takes several times longer without it; to build it: "
            "dna-bigbird doctor --build-native",
            error,
        )
        return False
    return True
