"""The choice of a backend on a GPU, with a device and timers that are not real."""

import json
import logging

import pytest
import torch

from dna_bigbird.attention.autotune import (
    VARIABLE,
    Device,
    Row,
    ShapeClass,
    choose,
    driver_version,
    measure,
    path_of,
)
from dna_bigbird.attention.autotune_timing import attention_call

DEVICE = Device("Some GPU", "580.1", "2.13.0")
SHAPE = ShapeClass("bfloat16", 64, 64, 4096, True)
ROWS = [Row("flex", 0.002), Row("gather", 0.005), Row("dense", None, "it does not fit")]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DNA_BIGBIRD_CACHE", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path


def never(shape):
    raise AssertionError("measured")


def test_classes_of_lengths():
    lengths = {1: 128, 128: 128, 129: 256, 4096: 4096, 4097: 8192}
    for length, tokens in lengths.items():
        assert ShapeClass.of(torch.float32, 64, 64, length, False).tokens == tokens


def test_the_fastest_is_taken_and_kept(caplog):
    with caplog.at_level(logging.WARNING, logger="dna_bigbird"):
        first = choose(SHAPE, DEVICE, lambda shape: ROWS)
    assert (first.backend, first.why) == ("flex", "is the fastest here")
    assert "attention backend dense does not run here: it does not fit" in caplog.text
    again = choose(SHAPE, DEVICE, never)
    assert (again.backend, again.rows) == ("flex", tuple(ROWS))
    assert choose(SHAPE, DEVICE, None).backend == "flex"


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Other GPU"}, {"driver": "590.2"}, {"torch": "2.14.0"},
        {"dtype": "float32"}, {"head_dim": 32}, {"block_size": 128}, {"tokens": 8192},
        {"training": False},
    ],
    ids=str,
)  # fmt: skip
def test_anything_else_is_measured_again(change):
    choose(SHAPE, DEVICE, lambda shape: ROWS)
    device = Device(
        **{**DEVICE.__dict__, **{k: v for k, v in change.items() if hasattr(DEVICE, k)}}
    )
    shape = ShapeClass(
        **{**SHAPE.__dict__, **{k: v for k, v in change.items() if hasattr(SHAPE, k)}}
    )
    other = [Row("gather", 0.001), Row("flex", 0.003)]
    assert choose(shape, device, lambda shape: other).backend == "gather"


def test_short_work_measures_nothing():
    choice = choose(SHAPE, DEVICE, None)
    assert choice.backend == "gather"
    assert "nothing was measured here; dna-bigbird doctor --measure does it" in choice.why


def test_the_environment_is_stronger_than_a_measurement(monkeypatch):
    choose(SHAPE, DEVICE, lambda shape: ROWS)
    monkeypatch.setenv(VARIABLE, "dense")
    choice = choose(SHAPE, DEVICE, never)
    assert (choice.backend, choice.why) == ("dense", f"{VARIABLE} names it")


def test_nothing_runs():
    rows = [Row("flex", None, "no compiler"), Row("gather", None, "too large")]
    choice = choose(SHAPE, DEVICE, lambda shape: rows)
    assert (choice.backend, choice.why) == ("gather", "no backend could be measured")


@pytest.mark.parametrize("text", ["", "{}", "[1, 2", '{"rows": [[1]]}', '{"rows": 3}'])
def test_a_damaged_file_is_measured_again(text):
    choose(SHAPE, DEVICE, lambda shape: ROWS)
    path_of(SHAPE, DEVICE).write_text(text)
    other = [Row("gather", 0.001)]
    assert choose(SHAPE, DEVICE, lambda shape: other).backend == "gather"
    assert json.loads(path_of(SHAPE, DEVICE).read_text())["rows"] == [["gather", 0.001, ""]]


def test_a_cache_that_cannot_be_written(cache, caplog):
    (cache / "attention").write_text("a file in the place of the folder")
    choice = choose(SHAPE, DEVICE, lambda shape: ROWS)
    assert choice.backend == "flex"
    assert "cannot keep what was measured" in caplog.text


def test_backends_are_timed_one_by_one_and_may_fail():
    seconds = {"flex": 0.3, "gather": 0.1}

    def make(backend, shape):
        if backend == "flex":
            raise RuntimeError("no compiler\nand pages of why")
        return lambda: backend

    rows = measure(SHAPE, make, lambda call: seconds[call()])
    assert rows[0] == Row("gather", 0.1)
    assert rows[-1] == Row("flex", None, "no compiler")
    short = ShapeClass("bfloat16", 64, 64, 1024, True)
    assert "dense" in {row.backend for row in measure(short, make, lambda call: 1.0)}
    assert "dense" not in {row.backend for row in rows}


@pytest.mark.parametrize("training", [False, True])
def test_what_is_timed_is_attention_with_or_without_gradients(training):
    """On the CPU; the random numbers of others stay as they were, and gradients may be off around."""
    shape = ShapeClass("float32", 16, 16, 128, training)
    state = torch.random.get_rng_state()
    with torch.inference_mode():
        result = attention_call("gather", shape, "cpu")()
    assert torch.equal(torch.random.get_rng_state(), state)
    parts = result if training else [result]
    assert [tuple(x.shape) for x in parts] == [(256, 12, 128, 16)] * (3 if training else 1)
    assert all(x.isfinite().all() for x in parts)


def test_a_driver_has_a_version(tmp_path):
    path = tmp_path / "version"
    path.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Sep 1\n")
    assert driver_version(path) == "580.159.04"
    assert driver_version(tmp_path / "none") == f"CUDA {torch.version.cuda}"
