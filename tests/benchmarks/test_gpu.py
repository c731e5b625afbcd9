"""The benchmarks for a GPU at tiny sizes on the CPU, in a process without packages that a lent machine lacks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dna_bigbird.bundles.bundle import load_bundle
from tests.toy_corpus import make_corpus

ROOT = Path(__file__).parents[2]
BLOCKED = ("pysam", "pyBigWig", "shtab", "snakemake", "pybedtools", "pyfaidx")
CHILD = f"""
import runpy, sys
for name in {BLOCKED}:
    sys.modules[name] = None
script, *sys.argv[1:] = sys.argv[1:]
run = runpy.run_path if script.endswith(".py") else runpy.run_module
run(script, run_name="__main__")
"""


def run_without(script: str, *words: object) -> str:
    """Return what a script prints in a process that lacks the packages of `BLOCKED`."""
    command = [sys.executable, "-c", CHILD, script, *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_part(tmp_path):
    run_without("benchmarks/gpu.py", "--device", "cpu", "--sizes", "tiny", "--output", tmp_path)
    page = (tmp_path / "gpu.md").read_text()
    assert "not run" not in page
    assert len(list(tmp_path.iterdir())) == 8  # that is how many files a lent machine gives back
    values = {}
    for letter in "abcdefg":
        assert f"## ({letter}) " in page
        rows = json.loads((tmp_path / f"part_{letter}.json").read_text())["rows"]
        assert all("values" in row or "transformers" in row["failed"] for row in rows), rows
        values[letter] = [row["values"] for row in rows if "values" in row]
    assert all(0 < row["worst excess"] <= 1 and row["count"] for row in values["a"])
    assert all(row["bitwise equal"] for row in values["e"])
    assert values["g"][0]["sum is right"] is True


def test_a_pretraining_becomes_a_bundle(tmp_path):
    corpus = make_corpus(tmp_path)
    (tmp_path / "bpe.model").write_bytes(corpus.tokenizer.model_bytes)
    small = (
        "--device cpu --steps 4 --log_every 2 --hidden_size 32 --layers 1 --heads 2 --max_tokens 64 "
        "--block_size 16 --batch_size 2 --examples 4 --workers 0"
    )
    files = (
        "--store",
        corpus.path,
        "--validation",
        corpus.path,
        "--tokenizer",
        tmp_path / "bpe.model",
    )
    model, bundle = tmp_path / "model", tmp_path / "bundle"
    shown = run_without("benchmarks.gpu.pretrain", *files, *small.split(), "--output", model)
    assert "start: fresh weights" in shown
    run_without("benchmarks.gpu.pretrain", "--join", model, bundle)
    joined = load_bundle(bundle)
    last = (model / "log.tsv").read_text().splitlines()[-1].split("\t")
    bits = joined.metrics.score("bits_per_base_masked").value
    assert any(float(value) == pytest.approx(bits, abs=1e-4) for value in last if value)
