"""The engine of DNA and text: batches, too little memory, runs that are continued."""

from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import dna_bigbird
from dna_bigbird.core.errors import InputError, Interrupted
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.engine import Engine, set_up
from dna_bigbird.prediction.partial_results import resumable_outputs

CPU = torch.device("cpu")
LENGTHS = [3, 9, 5, 5, 2, 8, 4]


class Numbers(NamedTuple):
    numbers_B: Tensor  # noqa: N815


def collate(positions):
    return Numbers(torch.tensor(positions))


def engine(batch_size=2, **compute):
    bundle = SimpleNamespace(
        model=nn.Linear(1, 1), config=SimpleNamespace(encoder=EncoderConfig(vocab_size=120))
    )
    return Engine(bundle, Compute(batch_size=batch_size, precision="32-true", **compute), CPU)


class Squares:
    """Squares of numbers; memory is enough for `most` rows, and it stops after `calls` batches."""

    def __init__(self, most=99, calls=99):
        self.most, self.calls, self.batches = most, calls, []

    def __call__(self, batch):
        if len(batch.numbers_B) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        if len(self.batches) == self.calls:
            raise KeyboardInterrupt
        self.batches.append(batch.numbers_B.tolist())
        return {"square": (batch.numbers_B**2).numpy()}


def test_every_row_is_computed_once_those_of_similar_length_together():
    forward = Squares()
    computed = list(engine().run(LENGTHS, collate, forward))
    assert forward.batches == [[1, 5], [2, 3], [6, 0], [4]]
    for positions, outputs in computed:
        assert outputs["square"].tolist() == [i**2 for i in positions]


def test_a_batch_that_does_not_fit_into_memory_is_halved():
    forward = Squares(most=2)
    computed = list(engine(batch_size=5).run(LENGTHS, collate, forward))
    assert forward.batches == [[1, 5], [2], [3, 6], [0, 4]]
    assert [positions for positions, _ in computed] == forward.batches


def test_a_row_that_never_fits_is_named_by_its_length():
    with pytest.raises(
        InputError, match="a sequence of 9 tokens does not fit into the memory of cpu"
    ):
        list(engine().run(LENGTHS, collate, Squares(most=0)))


def test_no_gradients_and_the_precision_that_was_asked_for():
    seen = []

    def forward(batch):
        seen.append((torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")))

    for precision in ("32-true", "bf16-mixed"):
        bundle = SimpleNamespace(
            model=nn.Linear(1, 1), config=SimpleNamespace(encoder=EncoderConfig(vocab_size=120))
        )
        list(Engine(bundle, Compute(precision=precision), CPU).run([1], collate, forward))
    assert seen == [(False, False), (False, True)]


def outputs(folder, forward, *, resume=False, identity=None):
    return resumable_outputs(
        engine(),
        LENGTHS,
        collate,
        forward,
        output=folder / "scores",
        identity=identity or {"model": 1},
        resume=resume,
    )


def test_outputs_are_in_the_order_of_the_rows(tmp_path):
    rows = outputs(tmp_path, Squares())
    assert [row["square"].item() for row in rows] == [i**2 for i in range(len(LENGTHS))]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("calls", [1, 3])
def test_a_run_that_is_continued_computes_the_other_rows(tmp_path, calls):
    whole = outputs(tmp_path, Squares())
    first, second = Squares(calls=calls), Squares()
    with pytest.raises(Interrupted, match="continue with --resume"):
        outputs(tmp_path, first)
    rows = outputs(tmp_path, second, resume=True)
    computed = [number for batch in first.batches + second.batches for number in batch]
    assert sorted(computed) == list(range(len(LENGTHS)))
    np.testing.assert_equal(rows, whole)


def test_a_run_of_other_settings_is_not_continued(tmp_path):
    with pytest.raises(Interrupted, match="continue"):
        outputs(tmp_path, Squares(calls=1))
    with pytest.raises(InputError, match="its model was 1, now it is 2"):
        outputs(tmp_path, Squares(), resume=True, identity={"model": 2})


def test_settings_name_the_precision_that_auto_chose():
    assert set_up([], Compute(device="cpu", precision="32-true")).notes == []
    setup = set_up([], Compute(device="cpu"))
    assert setup.compute.precision in ("32-true", "bf16-mixed")
    assert setup.notes == [f"computed in {setup.compute.precision}"]


def test_there_is_one_engine():
    """Inference and commands compute batches in no other place; `plan` times a training step."""
    package = Path(dna_bigbird.__file__).parent
    files = [
        path.name
        for folder in ("prediction", "evaluation", "report", "bench", "workflow")
        for path in (package / folder).rglob("*.py")
        if "torch.autocast" in (text := path.read_text()) or "OutOfMemoryError" in text
    ]
    assert sorted(files) == ["engine.py", "plan_speed.py"]
