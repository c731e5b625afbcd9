"""Training a model that torch.compile has compiled in place."""

import numpy as np
import pytest
import torch

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.data_modules import pretraining_data
from dna_bigbird.training.fit import COMPILER, fit
from dna_bigbird.training.pretraining_task import PretrainingTask
from tests.attention.test_flex import needs_compiler
from tests.tasks.test_fit import KillAt, KilledError, assert_same_run

pytestmark = pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
MODEL = EncoderConfig(
    vocab_size=12, hidden_size=32, num_layers=2, num_heads=2, ffn_size=48, max_tokens=32,
    block_size=4, num_random=1, dropout=0.1,
)  # fmt: skip


@pytest.fixture
def train(tiny, tmp_path):
    """Function (folder, **settings) -> (weights, FitResult) of the real model on tiny examples."""

    def run(name, callbacks=(), **settings):
        torch._dynamo.reset()  # as a new process: graphs are kept by what came first
        config = TrainConfig(
            max_steps=8, batch_size=4, learning_rate=1e-2, validate_every=4, log_every=2,
            checkpoint_every_steps=1, precision="32-true", measure_speed=False, **settings,
        )  # fmt: skip
        data = pretraining_data(
            tiny.Examples(1), tiny.Examples(2), batch_size=4, validation_examples=6
        )
        task = PretrainingTask(PretrainingModel(MODEL, seed=1), config, tiny.piece_bp)
        names = list(task.model.state_dict())
        folder = tmp_path / name
        result = fit(
            task, data, config, checkpoints=folder, seed=3, settings={}, callbacks=callbacks
        )
        assert list(task.model.state_dict()) == names
        return task.model.state_dict(), result

    return run


def last_values(result):
    rows = [line.split("\t") for line in result.history.splitlines()[1:]]
    return {tuple(row[:3]): float(row[3]) for row in rows}


def test_compiled_training_is_eager_training_but_for_rounding(train, monkeypatch):
    """Graphs as they are, without a C++ compiler; dropout is drawn alike in both."""
    original = torch.nn.Module.compile
    asked = []

    def compile_as_it_is(self, **options):
        asked.append(options)
        original(self, backend="aot_eager", **options)

    monkeypatch.setattr(torch.nn.Module, "compile", compile_as_it_is)
    _, eager = train("eager")
    assert asked == []
    _, compiled = train("compiled", compile=True)
    assert asked == [{"dynamic": True, "options": COMPILER}]
    found, expected = last_values(compiled), last_values(eager)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-3)


@needs_compiler
@pytest.mark.slow
def test_a_killed_compiled_run_ends_like_an_undisturbed_one(train, tmp_path):
    undisturbed = train("a", compile=True)
    for step in (3, 6):
        with pytest.raises(KilledError, match="on purpose"):
            train("b", callbacks=(KillAt(step, "start"),), compile=True)
    continued = train("b", compile=True)
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)
