"""Running code as root without root's power over files, so that permissions count."""

import contextlib
import ctypes
import os
from collections.abc import Iterator

import pytest

_VERSION = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable"))


@contextlib.contextmanager
def permissions_count() -> Iterator[None]:
    """Run a block in which this thread may only do what file permissions allow."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION, 0), (_Sets * 2)()
    if libc.capget(ctypes.byref(header), sets) != 0:
        pytest.skip("the system does not show the capabilities of this process")
    before = [each.effective for each in sets]
    for each in sets:
        each.effective = 0
    if libc.capset(ctypes.byref(header), sets) != 0:
        pytest.skip("the system does not let this process give up capabilities")
    try:
        yield
    finally:
        for each, effective in zip(sets, before, strict=True):
            each.effective = effective
        libc.capset(ctypes.byref(header), sets)
