"""Figures of speed: counted exactly, timed by a clock that the test moves."""

import csv
import math

import pytest
import torch

from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.training.fit import fit
from dna_bigbird.training.history import GrowingTable
from dna_bigbird.training.speed import PEAK_SIZES, DataClock, Speed, measured_peak


class Clock:
    """Says what it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def table(path):
    with open(path) as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_base_pairs_are_those_before_masking(tiny, tiny_run):
    """By hand: the ids of every example with its labels put back."""
    examples = [(i, tiny.Examples(1)[i]) for i in range(6)]
    expected = 0
    for _, example in examples:
        ids = example["token_ids"].copy()
        ids[example["positions"]] = example["labels"]
        expected += tiny.piece_bp[ids].sum()
    task, *_ = tiny_run()
    assert task.base_pairs(collate_pretraining(examples)) == expected


class Ticks:
    """Moves the clock: data takes 1 s a batch, a step 3 s, a validation 50 s."""

    def __init__(self, clock):
        self.clock = clock

    def install(self, task, data):
        collate, step, validate = data.collate, task.training_step, task.validation_step

        def slow_collate(examples):
            self.clock.now += 1
            return collate(examples)

        def training_step(batch, batch_idx):
            self.clock.now += 3
            return step(batch, batch_idx)

        def validation_step(batch, batch_idx):
            self.clock.now += 50
            return validate(batch, batch_idx)

        data.collate = slow_collate
        task.training_step, task.validation_step = training_step, validation_step


@pytest.fixture
def timed_fit(tiny_run, tmp_path, monkeypatch):
    """Function (**settings) -> rows of speed.tsv of a run under a clock of its own."""

    def run(**settings):
        clock = Clock()
        monkeypatch.setattr("dna_bigbird.training.fit.DataClock", lambda: DataClock(clock))
        monkeypatch.setattr(
            "dna_bigbird.training.fit.Speed", lambda *args, **kw: Speed(*args, **kw, clock=clock)
        )
        monkeypatch.setattr("dna_bigbird.training.speed.measured_peak", lambda *_: 5e9)
        task, data, config = tiny_run(measure_speed=True, **settings)
        Ticks(clock).install(task, data)
        fit(task, data, config, checkpoints=tmp_path, seed=3, settings={})
        return table(tmp_path / "speed.tsv")

    return run


def test_seconds_tokens_and_waiting(timed_fit, tiny):
    """Steps of 3 s and 1 s of data before each; the fourth is followed by a validation."""
    rows = timed_fit()
    assert [row["step"] for row in rows] == ["3", "6", "9", "12"]
    lengths = [len(tiny.Examples(1)[i]["token_ids"]) for i in range(48)]
    # One batch is fetched ahead, the first ones before the clock starts.
    for number, row in enumerate(rows):
        seconds = float(row["seconds"])
        assert seconds == pytest.approx(3 * 3 + float(row["waiting_share"]) * seconds, rel=1e-4)
        tokens = sum(lengths[number * 12 : number * 12 + 12])
        assert float(row["tokens_per_s"]) == pytest.approx(tokens / seconds, rel=1e-4)
        assert math.isnan(float(row["peak_share"]))  # the tiny model has no formula
        assert float(row["peak_gflops"]) == 5
    assert [float(r["waiting_share"]) for r in rows[1:3]] == pytest.approx([3 / 12] * 2, rel=1e-4)


def test_a_restart_continues_the_table(timed_fit, tmp_path):
    whole = timed_fit()
    (tmp_path / "step_000000012.ckpt").unlink()  # the newest is now that of step 8
    lines = (tmp_path / "speed.tsv").read_text()
    (tmp_path / "speed.tsv").write_text(lines + "13\t1")  # half a line of a killed run
    again = timed_fit()
    assert [row["step"] for row in again] == ["3", "6", "9", "12"]
    assert again[:2] == whole[:2]


def test_rows_until_leaves_out_what_is_not_whole(tmp_path):
    grown = GrowingTable(tmp_path / "t.tsv", "step\tvalue")
    assert grown.rows_until(9) == []
    grown.begin(["1\ta"])
    grown.add(["2\tb", "3\tc"])
    with open(grown.path, "a") as stream:
        stream.write("4\tdd")
    assert grown.rows_until(2) == ["1\ta", "2\tb"]
    assert grown.rows_until(9) == ["1\ta", "2\tb", "3\tc"]
    assert GrowingTable(grown.path, "step\tother").rows_until(9) == []
    grown.path.write_bytes(b"step\tvalue\nx\ta\n1\ta\n\xff\tb\n" + b"9" * 5000 + b"\tc\n")
    assert grown.rows_until(9) == ["1\ta"]


def test_speed_changes_no_result(tiny_run, tmp_path):
    weights = []
    for name, measured in (("a", True), ("b", False)):
        task, data, config = tiny_run(measure_speed=measured, log_every=1)
        result = fit(task, data, config, checkpoints=tmp_path / name, seed=3, settings={})
        weights.append((task.model.state_dict(), result.history))
    assert weights[0][1] == weights[1][1]
    assert all(torch.equal(v, weights[1][0][k]) for k, v in weights[0][0].items())
    assert len(table(tmp_path / "a" / "speed.tsv")) == 12
    assert not (tmp_path / "b" / "speed.tsv").exists()


@pytest.mark.parametrize("in_bfloat16", [False, True])
def test_the_peak_is_that_of_the_best_product(in_bfloat16, monkeypatch):
    """Readings of the clock: the best rate of two rounds of a small and a larger product."""
    readings = iter([0.0, 0.0, 0.0, 0.2, 0.2, 0.4, 0.4, 0.4, 0.45, 0.45, 1.0, 9.0])
    monkeypatch.setitem(PEAK_SIZES, "cpu", (8, 16))
    state = torch.random.get_rng_state()
    found = measured_peak(torch.device("cpu"), in_bfloat16, clock=lambda: next(readings))
    assert found == pytest.approx(max(2 * 8**3 / 0.05, 2 * 16**3 / 0.2))
    assert torch.equal(torch.random.get_rng_state(), state)
