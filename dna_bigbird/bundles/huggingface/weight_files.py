"""Reading the weight files of a Hugging Face folder: safetensors, or PyTorch's without pickled code."""

import json
from pathlib import Path

import safetensors
import safetensors.torch
import torch

from dna_bigbird.bundles.huggingface.pytorch_file import read_pytorch_file
from dna_bigbird.core.errors import InputError, shortened

SINGLE = ("model.safetensors", "pytorch_model.bin")
"""In the order of preference; each may also come in parts, named by an index."""
REAL = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
OF_OTHERS = ("tf_model.h5", "flax_model.msgpack", "model.ckpt.index")


def read_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """Return all tensors of a folder by name, as they are stored.

    Raises:
        InputError: If there are none, a part is missing or damaged, or reading a file would run code.
    """
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
