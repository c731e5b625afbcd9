"""Bytes of a bundle reach code in C++ and Rust: none may crash it or take the memory."""

import json
import shutil
import subprocess
import sys

import pytest

from dna_bigbird import load_bundle
from dna_bigbird.bundles.huggingface.huggingface_writing import tokenizer_json


@pytest.fixture
def bundle(tiny_model, tmp_path):
    """A bundle without checksums, so that changed files are parsed."""
    folder = shutil.copytree(tiny_model, tmp_path / "bundle")
    config = json.loads((folder / "config.json").read_text())
    del config["sha256"]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def refused(folder, kind, start, count) -> int:
    """Run the child; return how many of its inputs were refused."""
    print(f"seed {start}, {count} inputs")
    argv = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.crash_child"]
    done = subprocess.run(
        [*argv, str(folder), kind, str(start), str(count)],
        capture_output=True, text=True, timeout=3000,
    )  # fmt: skip
    changed = (folder / kind).read_bytes()
    assert done.returncode == 0, f"{done.returncode}: {changed[:400]!r}\n{done.stderr[-3000:]}"
    return int(done.stdout.split()[-1])


KINDS = ("model.safetensors", "tokenizer.model", "tokenizer.json")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_crashes(bundle, kind, start):
    if kind == "tokenizer.json":
        (bundle / kind).write_bytes(tokenizer_json(load_bundle(bundle).tokenizer))
        (bundle / "tokenizer.model").unlink()
    count = 5000
    assert 0.1 * count < refused(bundle, kind, start, count) < count
