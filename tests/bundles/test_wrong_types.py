"""Each value of each config.json as every wrong type: the model is read, or one line names the file."""

import copy
import json
import shutil

import pytest

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.character_model import (
    CharacterDescription,
    load_character_model,
    save_character_model,
)
from dna_bigbird.bundles.convert import convert
from dna_bigbird.bundles.ensemble import ensemble
from dna_bigbird.bundles.huggingface.huggingface_reading import read_huggingface
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.characters import CharacterSplit
from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.models.character_model import CharacterModel
from tests.pretrained_bundle import write_pretrained_bundle
from tests.text_bundle import write_text_bundle

MISSING = object()
WRONG = (
    "x", "", [], ["x"], [[1]], {}, {"x": {"y": [1]}}, None, True, -1, 0, 3, 0.5, -0.5, 2**31 - 1, 10**30,
    10**400, float("nan"), float("inf"), [10**30], [True], [0.5], MISSING,
)  # fmt: skip


def write_characters(folder):
    config = CharacterConfig(
        vocab_size=4,
        hidden_size=8,
        num_heads=2,
        ffn_size=8,
        causal_windows=[4, 4],
        dilations=[1, 1],
    )
    description = CharacterDescription(
        config, list(b"ACGT"), None, "bytes", CharacterSplit(), "0" * 64, 0, {"batch_size": 2}
    )
    model = CharacterModel(config)
    save_character_model(folder, model, description, metrics={}, history="")
    return folder


def write_ensemble(folder, first):
    other = shutil.copytree(first, folder.with_name("other"))
    weights = other / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x3c")
    edit(other, lambda config: config.pop("sha256"))
    ensemble([first, other], folder)
    return folder


def write_huggingface(folder):
    own = write_pretrained_bundle(folder.with_name("own"))
    convert(from_=own, to_huggingface=folder, allow_different_attention=True)
    return folder


READERS = {
    "labels": load_bundle,
    "pretrained": load_bundle,
    "text": load_bundle,
    "ensemble": load_bundle,
    "characters": load_character_model,
    "huggingface": read_huggingface,
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory, bundle_folder):
    folder = tmp_path_factory.mktemp("kinds")
    return {
        "labels": shutil.copytree(bundle_folder, folder / "labels"),
        "pretrained": write_pretrained_bundle(folder / "pretrained"),
        "text": write_text_bundle(folder / "text"),
        "ensemble": write_ensemble(folder / "ensemble", bundle_folder),
        "characters": write_characters(folder / "characters"),
        "huggingface": write_huggingface(folder / "huggingface"),
    }


def edit(folder, change):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))


def keys_of(values, above=()):
    """The keys of an object and of the objects in it, each as the way to it."""
    for name, value in values.items():
        yield (*above, name)
        if isinstance(value, dict):
            yield from keys_of(value, (*above, name))


def changed(config, way, value):
    config = copy.deepcopy(config)
    inner = config
    for name in way[:-1]:
        inner = inner[name]
    if value is MISSING:
        del inner[way[-1]]
    else:
        inner[way[-1]] = value
    return config


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[pytest.mark.slow] * (k != "characters")) for k in READERS]
)
def test_every_key_as_every_wrong_type(folders, kind):
    path = folders[kind] / "config.json"
    text = path.read_text()
    config = json.loads(text)
    READERS[kind](path.parent)  # the intact one is read
    ways = [
        *keys_of(config),
        ("extra",),
        *((k, "extra") for k, v in config.items() if isinstance(v, dict)),
    ]
    try:
        for way in ways:
            for value in WRONG:
                if value is MISSING and way[-1] == "extra":
                    continue
                path.write_text(json.dumps(changed(config, way, value)))
                try:
                    READERS[kind](path.parent)
                except InputError as error:
                    message = str(error)
                    assert message.startswith(str(path.parent)), (way, value, message)
                    assert "\n" not in message, (way, value)
                    assert len(message) < 1000, (way, value)
    finally:
        path.write_text(text)


def test_a_character_model_of_millions_of_layers(folders, monkeypatch):
    """They are compared with the weights before any is built."""
    edited = shutil.copytree(folders["characters"], folders["characters"].with_name("layers"))
    many = {"causal_windows": [4] * 100_000, "dilations": [1] * 100_000}
    edit(edited, lambda config: config["model"].update(many))
    monkeypatch.setattr(
        "dna_bigbird.bundles.character_model.CharacterModel", lambda config: pytest.fail("built")
    )
    with pytest.raises(
        InputError, match=r"model\.safetensors: it has 2 layers, config\.json has 100000"
    ):
        load_character_model(edited)


@pytest.mark.parametrize("own", [{"num_features": 2**30}, {}], ids=["features", "heads"])
def test_sizes_that_no_weight_has_build_nothing(tmp_path, own, monkeypatch):
    """A billion random features, or heads, take minutes and memory without any weight."""
    folder = write_text_bundle(tmp_path / "performer", attention="performer")
    heads = {} if own else {"hidden_size": 2**30, "num_heads": 2**30}
    edit(folder, lambda config: config["encoder"]["performer"].update(own))
    edit(folder, lambda config: config["encoder"].update(heads))
    monkeypatch.setattr(
        "dna_bigbird.bundles.weights.build_model", lambda config: pytest.fail("built")
    )
    with pytest.raises(
        InputError, match=rf"no tensor has \S*{next(iter(own or heads))} 1073741824"
    ):
        load_bundle(folder)


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("alphabet",), [65, "x", 67, 71]),
        (("alphabet",), [65, 65, 67, 71]),
        (("unscored",), "N"),
        (("source",), ["bytes"]),
        (("source",), "novel"),
        (("input_sha256",), 3),
        (("seed",), -1),
        (("training",), []),
        (("sha256",), None),
        (("model", "hidden_size"), "8"),
        (("model", "norm_eps"), float("nan")),
        (("model", "causal_windows"), 4),
        (("split", "validation_share"), "half"),
        (("split", "test"), {}),
    ],
    ids=str,
)
def test_a_character_model_names_the_key(folders, way, value, tmp_path, capsys):
    folder = shutil.copytree(folders["characters"], tmp_path / "copy")
    path = folder / "config.json"
    path.write_text(json.dumps(changed(json.loads(path.read_text()), way, value)))
    with pytest.raises(SystemExit, match="2"):
        main(["info", str(folder)])
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"{path}: " in message
    assert way[-1] in message
