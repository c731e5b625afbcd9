"""Reading the weight files of a Hugging Face folder: safetensors, or PyTorch's without pickled code."""

import io
import json
import pickle
import pickletools
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import safetensors
import safetensors.torch
import torch

from dna_bigbird.core.errors import InputError, shortened

# PyTorch's own form of weights: no code is run, and no size in it is believed before it is checked.

ZIP_MAGIC = b"PK\x03\x04"
_TENSORS = {
    "collections OrderedDict",
    "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_tensor",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_tensor_v3",
    "torch.storage UntypedStorage",
}
"""What a table of tensors is pickled with. torch allows more without running code from the file, but
`bytearray(n)`, for example, takes n bytes of memory."""
_OTHER_IMPORTS = {"STACK_GLOBAL", "INST", "OBJ", "EXT1", "EXT2", "EXT4"}
_OLD_PICKLES = 5
"""The form without zip starts with so many pickles: magic number, version, system, tensors, keys."""
_NAMES_OF_ONE_TENSOR = 4
"""A tied table may have so many names; Pegasus has four of its word table."""


def read_pytorch_file(path: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a `pytorch_model.bin`; what it claims takes no memory."""
    try:
        _check_pickles(path)
        with warnings.catch_warnings():  # of protocols: what cannot be read is reported below
            warnings.simplefilter("ignore")
            tensors = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{path}: it is damaged, or holds more than tensors and reading it could run code. Ask "
            "for model.safetensors"
        ) from error
    except InputError:
        raise
    except PermissionError as error:
        raise InputError(f"{path}: no permission to read it") from error
    except Exception as error:  # a damaged zip or pickle raises nearly anything
        raise InputError(f"{path}: damaged weights ({shortened(error)}). Copy it again") from error
    if not isinstance(tensors, dict) or not all(isinstance(name, str) for name in tensors):
        raise InputError(f"{path}: not a table of tensors by name")
    _check_sizes(tensors, path)
    return tensors


def _check_pickles(path: Path) -> None:
    """Raise InputError for compression, and for names that a table of tensors does not need."""
    with open(path, "rb") as stream:
        is_zip = stream.read(4) == ZIP_MAGIC
        stream.seek(0)
        if not is_zip:
            for _ in range(_OLD_PICKLES):
                _check_names(stream)
            return
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise InputError(f"{path}: compressed weights; PyTorch stores them as they are")
            if sum(member.file_size for member in members) > path.stat().st_size:
                raise InputError(f"{path}: its parts claim more bytes than it has. Copy it again")
            for member in members:
                if member.filename.endswith(".pkl"):
                    _check_names(io.BytesIO(archive.read(member)))


def _check_names(stream: BinaryIO) -> None:
    for code, name, _ in pickletools.genops(stream):
        if code.name in _OTHER_IMPORTS or (code.name == "GLOBAL" and not _is_of_tensors(str(name))):
            raise pickle.UnpicklingError(f"it names {name}")


def _is_of_tensors(name: str) -> bool:
    module, _, member = name.partition(" ")
    is_storage = module == "torch" and member.endswith("Storage")
    is_dtype = module == "torch" and isinstance(getattr(torch, member, None), torch.dtype)
    return name in _TENSORS or is_storage or is_dtype


def _check_sizes(tensors: Mapping[str, object], path: Path) -> None:
    """Raise InputError for tensors that are larger than what the file stores of them."""
    # A tensor of stride 0 repeats one number as often as its shape says: a few bytes would become
    # as much memory as they like once the model is filled.
    stored: dict[int, int] = {}
    total = 0
    for name, tensor in tensors.items():
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or _is_odd(tensor):
            raise InputError(f"{path}: {shortened(ascii(name))} is not a plain tensor of numbers")
        storage = tensor.untyped_storage()
        needed = tensor.numel() * tensor.element_size()
        present = storage.nbytes() - tensor.storage_offset() * tensor.element_size()
        if needed > present:
            raise InputError(
                f"{path}: tensor {shortened(ascii(name))} of shape {tuple(tensor.shape)} takes "
                f"{needed:,} bytes, but the file stores {max(0, present):,} for it. Ask for "
                "model.safetensors"
            )
        stored[storage.data_ptr()] = storage.nbytes()
        total += needed
    size = path.stat().st_size
    if sum(stored.values()) > size or total > _NAMES_OF_ONE_TENSOR * size:
        raise InputError(
            f"{path}: its tensors take {max(total, *stored.values()):,} bytes, but the file has "
            f"{size:,}. Ask for model.safetensors"
        )


def _is_odd(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout != torch.strided
        or tensor.device.type != "cpu"
        or tensor.is_quantized
        or tensor.is_nested
    )


SINGLE = ("model.safetensors", "pytorch_model.bin")
"""In the order of preference; each may also come in parts, named by an index."""
REAL = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
OF_OTHERS = ("tf_model.h5", "flax_model.msgpack", "model.ckpt.index")


def read_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """Return all tensors of a folder by name, as stored; nothing is read that runs code."""
    for name in SINGLE:
        if (folder / name).is_file():
            return _checked_types(_read_file(folder / name), folder)
        index = folder / f"{name}.index.json"
        if index.is_file():
            return _checked_types(_read_parts(folder, index), folder)
    others = [name for name in OF_OTHERS if (folder / name).is_file()]
    raise InputError(
        f"{folder}: no weights; expected {' or '.join(SINGLE)}"
        + (f", found only {others[0]}, which needs another framework" if others else "")
    )


def _checked_types(tensors: dict[str, torch.Tensor], folder: Path) -> dict[str, torch.Tensor]:
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and tensor.dtype not in REAL:  # of 8 bits and fewer
            raise InputError(
                f"{folder}: {shortened(ascii(name))} is {tensor.dtype}; expected float32, float16, "
                "bfloat16 or float64"
            )
    return tensors


def _read_parts(folder: Path, index: Path) -> dict[str, torch.Tensor]:
    try:
        file_of = dict(json.loads(index.read_text(encoding="utf-8"))["weight_map"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{index}: not an index of weights: {error!r}") from error
    tensors: dict[str, torch.Tensor] = {}
    for name in sorted(set(map(str, file_of.values()))):
        path = folder / name
        if path.parent != folder or not path.is_file():
            raise InputError(f"{index}: its part {name} is not in the folder. Copy it again whole")
        tensors |= _read_file(path)
    for name in file_of:
        if name not in tensors:
            raise InputError(
                f"{folder}/{file_of[name]}: the index promises {name}, which is not in it"
            )
    return tensors


def _read_file(path: Path) -> dict[str, torch.Tensor]:
    if path.suffix == ".safetensors":
        try:
            return safetensors.torch.load_file(path)
        except (safetensors.SafetensorError, OSError) as error:
            raise InputError(f"{path}: damaged weights ({error}). Copy it again") from error
    return read_pytorch_file(path)
