"""Where tests of the native kernel run: where it is built or can be."""

import pytest

from dna_bigbird.attention.kernels.native.build import NativeUnavailableError, built, find_compiler
from dna_bigbird.attention.kernels.native.isa import best_isa


def _obstacle() -> str | None:
    if built(best_isa()):
        return None
    try:
        find_compiler()
    except NativeUnavailableError as error:
        return str(error)
    return None


_why = _obstacle()
needs_kernel = pytest.mark.skipif(_why is not None, reason=f"no native kernel: {_why}")
