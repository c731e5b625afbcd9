"""Freed memory is used again, so that its pages need not be cleared again."""

import os
import platform
import subprocess
import sys

import pytest

CODE = """
import resource, sys
import torch
from dna_bigbird.cli.main import keep_freed_memory

if sys.argv[1] == "keep":
    assert keep_freed_memory() is True
for turn in range(40):
    if turn == 30:  # by now small blocks have found their places between the large ones
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(12_000_000)  # 48 MB
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(mode: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", CODE, mode], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_pages_of_freed_tensors_are_used_again():
    by_default = page_faults("default")
    if by_default < 200:  # 10 turns; 11,700 pages of 4 KB, or 23 of 2 MB each
        pytest.skip(f"this system counts only {by_default} page faults")
    assert page_faults("keep") < by_default / 10


def test_elsewhere_nothing_is_called(monkeypatch):
    from dna_bigbird.cli import main

    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(main.ctypes, "CDLL", None)
    assert main.keep_freed_memory() is False


def test_few_products_are_kept_unless_the_user_says_otherwise(monkeypatch):
    from dna_bigbird.cli.main import keep_few_products

    monkeypatch.setenv("LRU_CACHE_CAPACITY", "7")
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "x")  # so that it is put back
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")
    keep_few_products()
    found = [os.environ[f"{name}_CACHE_CAPACITY"] for name in ("LRU", "ONEDNN_PRIMITIVE")]
    assert found == ["7", "64"]


@pytest.mark.parametrize("command", ["pretrain", "finetune", "predict", "evaluate", "evaluate-lm"])
def test_torch_is_imported_after_memory_is_set_up(command):
    """The libraries read their variables when they are loaded."""
    code = (
        "import sys, dna_bigbird.cli.main as cli\n"
        "cli.keep_few_products = lambda: sys.exit('torch' in sys.modules)\n"
        f"cli.main(['{command}', '--help'])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
