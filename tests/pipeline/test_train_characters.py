"""A staged training: a kill changes nothing, phases follow each other, the folder can be read."""

import json
import shutil

import numpy as np
import pytest
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.character_model import load_character_model
from dna_bigbird.bundles.info import info
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.training.character_config import StagedTraining
from dna_bigbird.training.character_phases import CharacterTask
from dna_bigbird.training.train_characters import train_characters

MODEL = CharacterConfig(
    hidden_size=16, num_heads=2, ffn_size=16, causal_windows=[4, 6], dilations=[1, 2], dilated_heads=1, dropout=0.2,
    init_std=0.1,
)  # fmt: skip
TRAINING = StagedTraining(
    phase_steps=[8, 4, 4], examples_per_step=[4, 2, 2], batch_size=2, max_tokens=32, longest=100,
    learning_rate=0.02, validations=2, checkpoint_every_steps=1, log_every=2, precision="32-true",
)  # fmt: skip


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A text whose next letter depends on the two before it."""
    path = tmp_path_factory.mktemp("characters") / "text"
    rng = np.random.default_rng(0)
    letters = [0, 1]
    while len(letters) < 5000:
        likely = (letters[-1] + 2 * letters[-2] + 1) % 5
        letters.append(likely if rng.random() < 0.9 else int(rng.integers(5)))
    path.write_bytes(bytes(b"abcde"[i] for i in letters))
    return path


def train(text, folder, **changes):
    settings = {"model": MODEL, "training": TRAINING, "seed": 1, "threads": 1} | changes
    return train_characters(text, folder / "model", folder / "checkpoints", **settings)


@pytest.fixture(scope="module")
def whole(text, tmp_path_factory):
    """An undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, train(text, folder)


def files(folder):
    return {path.name: path.read_bytes() for path in (folder / "model").iterdir()}


class KilledError(Exception):
    pass


@pytest.mark.parametrize("at", [5, 8, 11, 15], ids=["in 1", "between 1 and 2", "in 2", "in 3"])
def test_a_killed_training_ends_with_the_same_files(text, whole, tmp_path, monkeypatch, at):
    """Step `at`, counted over all phases, does not happen; then the same command again."""
    steps = CharacterTask.training_step
    done = []

    def until(task, batch, batch_idx):
        done.append(1)
        per_step = task.config.accumulate
        if len(done) > 2 * min(at, 8) + max(at - 8, 0) * per_step:
            raise KilledError
        return steps(task, batch, batch_idx)

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(CharacterTask, "training_step", until)
        train(text, tmp_path)
    assert not (tmp_path / "model").exists()
    train(text, tmp_path)
    assert files(tmp_path) == files(whole[0])


def test_a_complete_training_is_not_repeated(text, whole, tmp_path, monkeypatch):
    def step(*_):
        raise KilledError

    shutil.copytree(whole[0], tmp_path / "copy")
    monkeypatch.setattr(CharacterTask, "training_step", step)
    train(text, tmp_path / "copy")
    assert files(tmp_path / "copy") == files(whole[0])


def test_another_first_phase_starts_the_later_ones_over(text, whole, tmp_path):
    shutil.copytree(whole[0] / "checkpoints", tmp_path / "checkpoints")
    other = StagedTraining(**vars(TRAINING) | {"phase_steps": [4, 4, 4]})
    train(text, tmp_path, training=other)
    fresh = tmp_path / "fresh"
    train(text, fresh, training=other)
    assert files(tmp_path) == files(fresh)


def test_the_phases_double_windows_and_lengths(whole):
    folder, result = whole
    phases = json.loads((folder / "model/metrics.json").read_text())["phases"]
    assert [phase["windows"] for phase in phases] == [[4, 6], [8, 12], [16, 24]]
    assert [phase["characters"] for phase in phases] == [32, 64, 100]
    table = result.to_dataframe()
    rates = table[table["name"] == "next_learning_rate"]
    assert [rates[rates["phase"] == p]["value"].iloc[-1] for p in (1, 2, 3)] == [0.02, 0.01, 0.005]
    assert "phase 3, windows of 100" in result.summary()


def test_learning_falls_below_the_entropy_of_single_letters(text, tmp_path):
    longer = StagedTraining(
        **vars(TRAINING)
        | {"phase_steps": [60, 10], "checkpoint_every_steps": 0}
        | {"examples_per_step": [4, 2]}
    )
    plain = CharacterConfig(**vars(MODEL) | {"dropout": 0.0})
    bits = [p["bits_per_character"] for p in train(text, tmp_path, training=longer, model=plain).phases]  # fmt: skip
    assert bits[-1] < bits[0] < 2.2  # single letters: 2.32


def test_the_folder_has_the_model_of_the_last_phase(whole):
    model, description = load_character_model(whole[0] / "model")
    assert description.model.causal_windows == [16, 24]
    assert bytes(description.alphabet) == b"abcde"
    assert model.output.weight is model.embedding.weight
    assert not model.training
    assert model(torch.zeros(1, 5, dtype=torch.int64)).shape == (1, 5, 5)


def test_info_describes_it_and_bundles_are_something_else(whole):
    folder = whole[0] / "model"
    description = info(folder)
    assert description.facts["parameters"] == sum(
        p.numel() for p in load_character_model(folder)[0].parameters()
    )
    assert description.facts["metrics"]["phases"][-1]["windows"] == [16, 24]
    assert "bytes, 5 characters" in description.text
    assert json.loads(info(folder, format="json").text) == description.facts
    with pytest.raises(InputError, match="labels is for a model bundle; a character"):
        info(folder, labels="*")
    with pytest.raises(InputError, match="model: a character model, which evaluate-characters"):
        load_bundle(folder)


def test_damaged_folders_are_refused(whole, tmp_path):
    def copy(name):
        return shutil.copytree(whole[0] / "model", tmp_path / name)

    with pytest.raises(InputError, match="no character model"):
        load_character_model(tmp_path)
    damaged = copy("damaged")
    weights = damaged / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(InputError, match=r"its sha256 is not that of config\.json"):
        load_character_model(damaged)
    for key, value, message in (
        ("task", "promoter", "task 'promoter'"),
        ("alphabet", [1, 2], "alphabet has 2 characters"),
        ("model", {"causal_windows": [1]}, "describes no character model"),
    ):
        other = copy(key)
        config = json.loads((other / "config.json").read_text()) | {key: value}
        (other / "config.json").write_text(json.dumps(config))
        with pytest.raises(InputError, match=message):
            load_character_model(other)


def test_data_that_are_too_short(text, tmp_path):
    long = StagedTraining(**vars(TRAINING) | {"max_tokens": 4000, "longest": 4000})
    with pytest.raises(
        InputError, match="in phase 1 a window has 4,000 characters, and the train part"
    ):
        train(text, tmp_path, training=long)
    assert not (tmp_path / "model").exists()


def test_a_folder_with_other_files_is_not_replaced(text, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/thesis.txt").write_text("")
    with pytest.raises(InputError, match=r"model: the folder holds thesis\.txt"):
        train(text, tmp_path)
