"""Whatever stands in the files of a bundle: one line that names the file, and no memory taken."""

import json
import re
import shutil
import struct
import tracemalloc

import pytest
import safetensors.torch
import torch

from dna_bigbird import load_bundle
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.tokenizer import TokenizerConfig, train_tokenizer


@pytest.fixture
def copy(bundle_folder, tmp_path):
    return shutil.copytree(bundle_folder, tmp_path / "copy")


def edit(folder, part=None, remove=(), **values):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    changed = config[part] if part else config
    changed.update(values)
    for name in remove:
        del changed[name]
    path.write_text(json.dumps(config))


def refusal(folder):
    with pytest.raises(InputError, match=r"\A.*\Z") as caught:
        load_bundle(folder)
    return str(caught.value)


def without_sums(folder):
    """As bundles of older versions: only then is the next check reached."""
    edit(folder, remove=["sha256"])


@pytest.mark.parametrize(
    ("part", "values", "words"),
    [
        ("encoder", {"hidden_size": 48, "num_heads": 3}, "different bundles"),
        ("encoder", {"hidden_size": 10**9}, "different bundles|Storage size calculation overflowed"),
        ("encoder", {"max_tokens": 10**12}, "encoder: max_tokens "),
        ("encoder", {"max_tokens": 10**9}, "different bundles"),
        ("encoder", {"block_size": 2**31 - 1}, "block_size 2147483647 must be at most 1024"),
        ("encoder", {"block_size": 1025}, "encoder: block_size 1025 must be at most 1024"),
        ("encoder", {"num_layers": 10**9}, "it has 2 layers, config.json has 1000000000"),
        ("encoder", {"vocab_size": 2**31 - 1}, "different bundles"),
        ("encoder", {"hidden_size": "32"}, "encoder: hidden_size is '32', expected a whole number"),
        ("encoder", {"hidden_size": 32.0}, "hidden_size is 32.0, expected a whole number"),
        ("encoder", {"num_heads": True}, "num_heads is True, expected a whole number"),
        ("encoder", {"num_heads": [2]}, r"num_heads is \[2\], expected a whole number"),
        ("encoder", {"num_heads": None}, "num_heads is None, expected a whole number"),
        ("encoder", {"num_heads": 0}, "encoder: num_heads 0"),
        ("encoder", {"norm_eps": float("nan")}, "norm_eps is nan, expected a finite number"),
        ("encoder", {"norm_eps": float("inf")}, "norm_eps is inf, expected a finite number"),
        ("encoder", {"norm_eps": 10**400}, "norm_eps is 1000.*expected a finite number"),
        ("encoder", {"qkv_bias": 1}, "qkv_bias is 1, expected true or false"),
        ("encoder", {"activation": "exp"}, "encoder: activation='exp'"),
        ("encoder", {"attention": {}}, "encoder: attention={}"),
        ("encoder", {"depth": 3}, "encoder: unknown setting 'depth'"),
        ("encoder", {"max_tokens": 2}, "max_tokens leaves no position"),
        ("head", {"pooling": "max"}, "head: pooling='max'"),
        ("head", {"pooling": "mean"}, "head.pooler.dense.* different bundles"),
        (None, {"encoder": []}, "encoder: expected an object, found list"),
        (None, {"head": None}, "head is missing"),
        (None, {"task": 7}, "task is 7, expected a text"),
        (None, {"task": "pretraining"}, "different bundles"),
        (None, {"members": 10**9}, "it has 0 members, config.json has 1000000000"),
        (None, {"members": 1}, "members 1: "),
        (None, {"members": "2"}, "members is '2', expected"),
        (None, {"label_names": ["CTCF"], "label_groups": None}, "head.dense.bias.* different bundles"),
        (None, {"label_names": []}, "at least one name"),
        (None, {"label_names": ["CTCF", ""]}, "no empty name"),
        (None, {"label_names": ["CTCF", 1]}, "label_names is "),
        (None, {"label_names": ["a\tb", "c"]}, "label_names is "),
        (None, {"label_names": "ab"}, "label_names is 'ab'"),
        (None, {"label_names": ["\ud800", "c"]}, "is half of a character"),
        (None, {"label_groups": ["TF"]}, "2 label_names and 1 label_groups"),
        (None, {"window_bp": None}, "window_bp is missing"),
        (None, {"encoder": None}, "encoder is missing"),
        (None, {"task": None}, "task is missing"),
        (None, {"window_bp": -1}, "window_bp -1: "),
        (None, {"window_bp": 10**12}, "window_bp 1000000000000: "),
        (None, {"window_bp": 200.5}, "window_bp is 200.5, expected"),
        (None, {"training": "none"}, "training: "),
        (None, {"training": {"max_steps": "9"}}, "training: max_steps "),
        (None, {"seed": "0"}, "seed is '0'"),
        (None, {"member_models": [{"seed": 0.5}]}, "member_models: seed "),
        (None, {"regions_read": [{"training": "promoter", "assembly": "hg19"}]}, "regions_read: regions is missing"),
        (None, {"regions_read": [{"training": "promoter", "assembly": "hg19", "regions": {"1": "5"}}]}, "regions_read: "),
        (None, {"format_version": [1]}, r"format_version is \[1\]"),
        (None, {"sha256": "abc"}, "sha256 is 'abc', expected an object"),
        (None, {"sha256": {}}, "model.safetensors: its sha256 is .*config.json has None"),
    ],
    ids=str,
)  # fmt: skip
def test_settings(copy, part, values, words):
    edit(copy, part, **values)
    tracemalloc.start()
    message = refusal(copy)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert re.search(words, message), message
    assert message.startswith((f"{copy}/config.json: ", f"{copy}/model.safetensors: "))
    assert peak < 20e6, "the model of two layers takes less than a megabyte"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "not valid JSON"),
        ('{"a":' * 50 + "1" + "}" * 50, "nested deeper than 20 levels"),
        ("9" * 5000, "not valid JSON"),
        ("", "not valid JSON"),
        ("[]", "expected a JSON object, found list"),
        ("{}", "format_version is None"),
        ('{"format_version": 1, "task": "promoter"}', "encoder is missing"),
        (" " * (16 * 2**20 + 1), "16,777,217 bytes, expected at most 16,777,216"),
    ],
    ids=["brackets", "deep", "digits", "empty", "list", "object", "no encoder", "large"],
)
def test_config_that_is_none(copy, text, words):
    (copy / "config.json").write_text(text)
    assert words in refusal(copy)


@pytest.mark.parametrize("name", ["num_layers", "num_heads", "num_random", "vocab_size"])
def test_a_setting_is_not_guessed(copy, name):
    edit(copy, "encoder", remove=[name])
    assert f"it describes no model: encoder: {name} is missing" in refusal(copy)


def test_labels_of_one_name_stay_two(copy):
    """Replicates of the 919 published labels share their names."""
    edit(copy, label_names=["CTCF", "CTCF"])
    assert load_bundle(copy).config["label_names"] == ["CTCF", "CTCF"]


def header_of(content):
    (length,) = struct.unpack("<Q", content[:8])
    return length, json.loads(content[8 : 8 + length])


def with_header(content, header):
    length, _ = header_of(content)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


def longer_header(content):
    return struct.pack("<Q", 2**62) + content[8:]


def overlapping(content):
    _, header = header_of(content)
    names = [name for name in header if name != "__metadata__"]
    header[names[0]]["data_offsets"] = header[names[1]]["data_offsets"]
    return with_header(content, header)


def beyond_the_end(content):
    _, header = header_of(content)
    last = max((x for x in header if x != "__metadata__"), key=lambda x: header[x]["data_offsets"])
    header[last]["data_offsets"][1] += 10**12
    header[last]["shape"][0] += 10**12
    return with_header(content, header)


def other_type(content):
    return content.replace(b'"F32"', b'"I32"')


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content[:-1], "damaged weights"),
        (lambda content: content[: len(content) // 2], "damaged weights"),
        (lambda content: content[:7], "damaged weights"),
        (lambda content: b"", "damaged weights"),
        (lambda content: content + b"\0", "damaged weights"),
        (longer_header, "damaged weights"),
        (overlapping, "damaged weights"),
        (beyond_the_end, "damaged weights"),
        (other_type, "is of type I32, expected BF16, F16, F32"),
    ],
    ids=["cut", "half", "stub", "empty", "longer", "header", "overlap", "beyond", "type"],
)
def test_weight_file(copy, change, words):
    without_sums(copy)
    path = copy / "model.safetensors"
    path.write_bytes(change(path.read_bytes()))
    assert words in refusal(copy)
    assert refusal(copy).startswith(f"{path}: ")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model"])
def test_one_changed_byte(copy, name):
    content = bytearray((copy / name).read_bytes())
    content[-1] ^= 1
    (copy / name).write_bytes(content)
    assert re.search("sha256 is|no SentencePiece model", refusal(copy))
    assert str(copy / name) in refusal(copy)


def test_a_weight_that_is_not_finite(copy):
    without_sums(copy)
    path = copy / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors["head.dense.bias"][1] = float("nan")
    safetensors.torch.save_file(tensors, path)
    assert "tensor 'head.dense.bias' has values that are not finite" in refusal(copy)


def test_a_tokenizer_of_another_model_of_the_same_size(copy, random_dna):
    size = load_bundle(copy).tokenizer.vocab_size
    words = [random_dna(500, seed) for seed in range(50, 70)]
    other = train_tokenizer(words, TokenizerConfig(vocab_size=size))
    (copy / "tokenizer.model").write_bytes(other)
    assert "tokenizer.model: its sha256 is" in refusal(copy)


def test_a_larger_tokenizer_of_an_older_bundle(copy, random_dna):
    without_sums(copy)
    words = [random_dna(500, seed) for seed in range(20)]
    (copy / "tokenizer.model").write_bytes(train_tokenizer(words, TokenizerConfig(vocab_size=80)))
    assert "tokenizer.model has 80 pieces, the model 64" in refusal(copy)


def test_a_second_tokenizer_does_not_slip_in(copy):
    """config.json vouches for the file that is read, not for one beside it."""
    edit(
        copy, sha256={"model.safetensors": load_bundle(copy).config["sha256"]["model.safetensors"]}
    )
    assert "tokenizer.model: its sha256 is" in refusal(copy)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.model"])
def test_a_folder_in_place_of_a_file(copy, name):
    (copy / name).unlink()
    (copy / name).mkdir()
    assert f"the bundle has no {name}" in refusal(copy)


def test_files_may_be_links(copy, bundle_folder):
    """A shared cache links the weights; reading follows, as everywhere on the system."""
    (copy / "model.safetensors").unlink()
    (copy / "model.safetensors").symlink_to(bundle_folder / "model.safetensors")
    load_bundle(copy)
    (copy / "config.json").unlink()
    (copy / "config.json").symlink_to(copy / "config.json")
    assert "the bundle has no config.json" in refusal(copy)


def test_checksums_are_written_and_follow_what_is_saved(bundle_folder, tmp_path):
    first = load_bundle(bundle_folder)
    assert set(first.config["sha256"]) == {"model.safetensors", "tokenizer.model"}
    with torch.no_grad():
        first.model.head.dense.bias += 1
    save_bundle(
        tmp_path / "other",
        model=first.model,
        config=first.config,
        tokenizer=first.tokenizer,
        metrics={},
        card="",
    )
    again = load_bundle(tmp_path / "other").config["sha256"]
    before = first.config["sha256"]
    assert again["model.safetensors"] != before["model.safetensors"]
    assert again["tokenizer.model"] == before["tokenizer.model"]


@pytest.mark.parametrize("name", ["../out.txt", "/out.txt", "a/b", "", "..", "config.json"])
def test_an_extra_file_stays_in_the_bundle(bundle_folder, tmp_path, name):
    first = load_bundle(bundle_folder)
    with pytest.raises(ValueError, match="cannot be the name of an extra file"):
        save_bundle(
            tmp_path / "new",
            model=first.model,
            config=first.config,
            tokenizer=first.tokenizer,
            metrics={},
            card="",
            extra_files={name: "x"},
        )
    assert list(tmp_path.iterdir()) == []
