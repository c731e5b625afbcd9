"""A bundle comes back as it was saved, or says in one line why it cannot."""

import json
import shutil
from dataclasses import replace

import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.bundles.bundle import FILES
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.pretraining_model import PretrainingModel
from tests.pretrained_bundle import write_pretrained_bundle


@pytest.fixture
def copy(bundle_folder, tmp_path):
    return shutil.copytree(bundle_folder, tmp_path / "copy")


def test_weights_and_settings_come_back(bundle_folder, tmp_path):
    first = load_bundle(bundle_folder)
    save_bundle(
        tmp_path / "again",
        model=first.model,
        config=first.config,
        tokenizer=first.tokenizer,
        metrics=first.metrics,
        card="# tiny\n",
    )
    for name in (*FILES, "tokenizer.model"):
        assert (tmp_path / "again" / name).read_bytes() == (bundle_folder / name).read_bytes(), name
    assert not first.model.training


def test_tied_weights_are_stored_once_and_stay_tied(bundle_folder, tmp_path):
    bundle = load_bundle(bundle_folder)
    config = {"task": "pretraining", "encoder": bundle.config["encoder"]}
    model = build_model(config)
    save_bundle(
        tmp_path / "lm",
        model=model,
        config=config,
        tokenizer=bundle.tokenizer,
        metrics={},
        card="",
    )
    loaded = load_bundle(tmp_path / "lm").model
    for (name, a), b in zip(model.state_dict().items(), loaded.state_dict().values(), strict=True):
        assert torch.equal(a, b), name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("word_memory", 40),
        ("layer_skips", True),
        ("value_embeddings", True),
        ("head_gates", True),
        ("untied_head", True),
        ("logit_cap", 0.1),
    ],
)
def test_a_switch_comes_back_and_is_refused_by_name_elsewhere(tmp_path, capsys, name, value):
    """The network that was saved is drawn again; without the switch it gives other logits."""
    sizes = {"num_layers": 2}
    folder = write_pretrained_bundle(tmp_path / "own", is_new=True, encoder={**sizes, name: value})
    bundle = load_bundle(folder)
    encoder = bundle.config.encoder
    assert getattr(encoder, name) == value
    ids = torch.randint(5, encoder.vocab_size, (1, 40), generator=torch.Generator().manual_seed(0))
    inputs = (ids, ids < 0, None, torch.arange(40))
    drawn, off = (
        PretrainingModel(replace(encoder, **{name: x}), seed=0).eval()
        for x in (value, type(value)())
    )
    with torch.no_grad():
        found, expected, other = (model(*inputs)[0] for model in (bundle.model, drawn, off))
    assert torch.equal(found, expected)
    assert not torch.allclose(found, other, atol=1e-4)
    with pytest.raises(SystemExit, match="2"):
        main(["convert", "--from", str(folder), "--to-huggingface", str(tmp_path / "theirs")])
    assert f"cannot hold this model: {name} is {value} (it" in capsys.readouterr().err
    assert not (tmp_path / "theirs").exists()
    plain = write_pretrained_bundle(tmp_path / "plain", encoder=sizes)
    assert name not in (plain / "config.json").read_text()


@pytest.mark.parametrize("name", [*FILES, "tokenizer.model"])
def test_a_missing_file_is_named(copy, name):
    (copy / name).unlink()
    with pytest.raises(InputError, match=f"copy: the bundle has no {name}"):
        load_bundle(copy)


def test_no_folder():
    with pytest.raises(InputError, match="no such model bundle"):
        load_bundle("nowhere")


def test_damaged_weights(copy):
    path = copy / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=r"model\.safetensors: damaged weights"):
        load_bundle(copy)


def test_weights_of_another_architecture(copy):
    config = json.loads((copy / "config.json").read_text())
    config["encoder"]["hidden_size"] = 48
    config["encoder"]["num_heads"] = 3
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="different bundles"):
        load_bundle(copy)


def test_newer_format(copy):
    (copy / "config.json").write_text('{"format_version": 99}')
    with pytest.raises(InputError, match="format_version is 99"):
        load_bundle(copy)


def test_a_pickle_is_never_loaded(copy):
    """A torch pickle under the name of the weights is refused, not run."""
    torch.save({"x": torch.ones(1)}, copy / "model.safetensors")
    with pytest.raises(InputError, match="damaged weights"):
        load_bundle(copy)
