"""The backend that a run chooses for itself: recorded, kept and never compared."""

import json

import pytest

from dna_bigbird.attention.autotune import Choice
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training import training_checks
from dna_bigbird.training.run_folder import open_run, read_chosen, read_settings

SETTINGS = {"seed": 0, "training": {"max_steps": 5}}
SMALL = EncoderConfig(
    vocab_size=50, hidden_size=32, num_layers=1, num_heads=2, ffn_size=48, max_tokens=64,
    block_size=16, num_random=1,
)  # fmt: skip


def never():
    raise AssertionError("chosen again")


def test_it_is_recorded_next_to_the_settings_and_not_compared(tmp_path):
    open_run(tmp_path, SETTINGS, choose=lambda: {"attention_backend": "flex"})
    assert read_settings(tmp_path) == SETTINGS
    assert read_chosen(tmp_path) == {"attention_backend": "flex"}
    open_run(tmp_path, SETTINGS, choose=never)
    open_run(tmp_path, SETTINGS)  # on a CPU
    assert read_chosen(tmp_path) == {"attention_backend": "flex"}
    assert not list(tmp_path.glob("superseded-*"))
    open_run(tmp_path, SETTINGS, is_writer=False, choose=never)


def test_without_a_choice_the_file_has_the_settings_alone(tmp_path):
    open_run(tmp_path, SETTINGS)
    assert json.loads((tmp_path / "settings.json").read_text()) == SETTINGS
    assert read_chosen(tmp_path) == {}


def test_other_settings_choose_again(tmp_path):
    open_run(tmp_path, SETTINGS, choose=lambda: {"attention_backend": "flex"})
    open_run(tmp_path, {**SETTINGS, "seed": 1}, choose=lambda: {"attention_backend": "gather"})
    assert read_chosen(tmp_path) == {"attention_backend": "gather"}


def test_a_run_of_an_earlier_version_chooses_when_it_goes_on(tmp_path):
    open_run(tmp_path, SETTINGS)
    open_run(tmp_path, SETTINGS, choose=lambda: {"attention_backend": "flex"})
    assert read_chosen(tmp_path) == {"attention_backend": "flex"}


def test_the_model_takes_what_the_run_began_with(tmp_path):
    model = PretrainingModel(SMALL)
    open_run(tmp_path, SETTINGS, choose=lambda: {"attention_backend": "cpu_chunks"})
    training_checks.apply_backend(model, tmp_path)
    assert {layer.attention.backend for layer in model.encoder.layers} == {"cpu_chunks"}


def test_a_backend_that_is_not_there_stops_the_run(tmp_path):
    open_run(tmp_path, SETTINGS, choose=lambda: {"attention_backend": "of a later version"})
    message = (
        r"began with attention backend 'of a later version'.*or begin again with other --check"
    )
    with pytest.raises(InputError, match=message):
        training_checks.apply_backend(PretrainingModel(SMALL), tmp_path)


def test_who_chooses():
    model, config = PretrainingModel(SMALL), TrainConfig()
    assert training_checks.is_backend_open(model, config, "cuda")
    assert not training_checks.is_backend_open(model, config, "cpu")
    assert not training_checks.is_backend_open(
        model, TrainConfig(attention_backend="gather"), "cuda"
    )
    dropout = EncoderConfig(**{**SMALL.__dict__, "attention_dropout": 0.1})
    assert not training_checks.is_backend_open(PretrainingModel(dropout), config, "cuda")
    full = EncoderConfig(**{**SMALL.__dict__, "attention": "full"})
    assert not training_checks.is_backend_open(PretrainingModel(full), config, "cuda")


@pytest.mark.parametrize(("max_steps", "measures"), [(100, False), (10**9, True)])
def test_only_long_runs_measure(max_steps, measures, monkeypatch, capsys):
    asked = {}

    def choose(shape, device, measured):
        asked.update(shape=str(shape), measures=measured is not None)
        return Choice("flex", "is the fastest here")

    monkeypatch.setattr(training_checks, "choose", choose)
    monkeypatch.setattr(training_checks.Device, "here", lambda: None)
    config = TrainConfig(max_steps=max_steps, precision="bf16-mixed", validate_every=100)
    found = training_checks.choose_backend(PretrainingModel(SMALL), config)
    assert found == {"attention_backend": "flex"}
    shape = "bfloat16, heads of 16, blocks of 16, up to 128 tokens, forward and backward"
    assert asked == {"shape": shape, "measures": measures}
    assert "note: attention backend flex: is the fastest here" in capsys.readouterr().err
