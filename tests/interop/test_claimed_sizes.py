"""Weights that claim more numbers than their file has: one line, and no memory taken."""

import io
import json
import pickle
import struct
import zipfile

import pytest
import safetensors.torch
import torch

from dna_bigbird.bundles.huggingface.settings import encoder_config
from dna_bigbird.bundles.huggingface.tensor_names import library_names
from dna_bigbird.bundles.huggingface.weight_files import read_tensors
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.pretraining_model import PretrainingModel
from tests.limited_memory import error_line, run_limited

WORDS = "bert.embeddings.word_embeddings.weight"


def refusal(folder) -> str:
    with pytest.raises(InputError, match=r"\A.*\Z") as caught:
        read_tensors(folder)
    return str(caught.value)


def saved(tensors, **options) -> bytes:
    stream = io.BytesIO()
    torch.save(tensors, stream, **options)
    return stream.getvalue()


def old_form(tensors) -> bytes:
    return saved(tensors, _use_new_zipfile_serialization=False)


def deflated(content: bytes) -> bytes:
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as archive,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in archive.namelist():
            packed.writestr(name, archive.read(name))
    return stream.getvalue()


class _Bytes:
    """A hundred bytes of pickle that take as much memory as they say."""

    def __reduce__(self):
        return bytearray, (2**36,)


class _Unfilled:
    """A tensor of memory that no file has filled."""

    def __reduce__(self):
        return torch.FloatTensor, (2**34,)


def with_name(name: str, value: object) -> bytes:
    """A zip file of PyTorch whose pickle is `{name: value}`."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved({}))) as archive, zipfile.ZipFile(stream, "w") as changed:
        for member in archive.namelist():
            is_pickle = member.endswith("data.pkl")
            content = pickle.dumps({name: value}, 2) if is_pickle else archive.read(member)
            changed.writestr(member, content)
    return stream.getvalue()


def shared(count: int) -> dict:
    one = torch.ones(1000)
    return {f"x{i}": one for i in range(count)}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (saved({"x": torch.ones(1).expand(2**34)}), r"'x' of shape \(17179869184,\) takes 68,719"),
        (old_form({"x": torch.ones(1).expand(2**34)}), r"'x' of shape .* the file stores 4 for"),
        (saved({"x": torch.ones(9)[8:].expand(2)}), r"takes 8 bytes, but the file stores 4 for"),
        (saved({"x": torch.ones(6).as_strided((3, 4), (1, 1))}), "takes 48 bytes, but .* 24"),
        (saved(shared(50)), r"its tensors take 200,000 bytes, but the file has"),
        (deflated(saved({"x": torch.zeros(10**6)})), "compressed weights; PyTorch stores them as"),
        (with_name("x", _Bytes()), "holds more than tensors"),
        (with_name("x", _Unfilled()), "holds more than tensors"),
        (saved({"x": torch.ones(3).to_sparse()}), "holds more than tensors"),
        (saved({"x": torch.ones(3, device="meta")}), "holds more than tensors"),
        (saved({"x": 3}), "'x' is not a plain tensor of numbers"),
        (saved({3: torch.ones(3)}), "not a table of tensors by name"),
        (saved([torch.ones(3)]), "not a table of tensors by name"),
    ],
    ids=[
        "stride 0", "old form", "offset", "overlap", "names", "compressed", "bytearray", "unfilled",
        "sparse", "meta", "number", "numbers", "list",
    ],
)  # fmt: skip
def test_pytorch_files(tmp_path, content, words):
    (tmp_path / "pytorch_model.bin").write_bytes(content)
    message = refusal(tmp_path)
    assert message.startswith(str(tmp_path / "pytorch_model.bin"))
    with pytest.raises(InputError, match=words):
        read_tensors(tmp_path)


@pytest.mark.parametrize("save", [saved, old_form])
def test_whole_tensors_are_read(tmp_path, save):
    """Tied tables, parameters, half precision, parts of a table and transposed ones."""
    table = torch.arange(12.0).reshape(3, 4)
    tensors = {
        "a": table,
        "tied": table,
        "half": torch.ones(3, dtype=torch.bfloat16),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "transposed": torch.arange(6.0).reshape(2, 3).T,
        "part": torch.arange(12.0).reshape(3, 4)[:, 1:],
        "empty": torch.ones(0),
        "count": torch.tensor(3),
    }
    (tmp_path / "pytorch_model.bin").write_bytes(save(tensors))
    loaded = read_tensors(tmp_path)
    assert loaded.keys() == tensors.keys()
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_numbers_of_eight_bits_are_one_line(tmp_path, name, dtype):
    tensors = {"x": torch.ones(3).to(dtype)}
    content = saved(tensors) if name.endswith(".bin") else safetensors.torch.save(tensors)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"'x' is torch\.float8_e.*; expected float32, float16"):
        read_tensors(tmp_path)


@pytest.mark.parametrize("end", [4, 2**36])
def test_safetensors_checks_its_own_header(tmp_path, end):
    header = {WORDS: {"dtype": "F32", "shape": [2**34], "data_offsets": [0, end]}}
    text = json.dumps(header).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"\0\0\0\0")
    assert "damaged weights" in refusal(tmp_path)
    with pytest.raises(safetensors.SafetensorError):
        safetensors.safe_open(path, "pt")


def test_a_small_file_that_asks_for_64_gib(tmp_path):
    """The config agrees with every tensor, so nothing but their storage tells."""
    config = {"model_type": "big_bird", "hidden_size": 2**18, "vocab_size": 2**16}
    config |= {"num_hidden_layers": 1, "num_attention_heads": 1, "max_position_embeddings": 64}
    config |= {"intermediate_size": 4, "architectures": ["BigBirdModel"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with torch.device("meta"):
        model = PretrainingModel(encoder_config(config, None, "config.json"), heads=())
    tensors = {}
    for ours, tensor in model.state_dict().items():
        names = library_names(ours)
        shape = (tensor.shape[0] // len(names), *tensor.shape[1:])
        tensors |= {name: torch.ones(1).expand(shape) for name in names}
    content = saved(tensors)
    assert len(content) < 30_000
    (tmp_path / "pytorch_model.bin").write_bytes(content)
    done = run_limited("convert", "--from-huggingface", tmp_path, "--to", tmp_path / "bundle")
    assert "takes 68,719,476,736 bytes, but the file stores 4 for it" in error_line(done)
