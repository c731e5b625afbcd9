"""The weights of a bundle; their header is compared with the model before memory is allocated."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import nn

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import check_readable
from dna_bigbird.models.classifier import EnsembleClassifier, SequenceClassifier
from dna_bigbird.models.pretraining_model import PretrainingModel

EXTRA_STATE = "_extra_state"
"""Name that torch gives to what a module's `get_extra_state` returns."""
REAL = {"F32", "F16", "BF16"}
_PART = re.compile(r"(?:members\.(\d+)\.)?(?:encoder\.)?layers\.(\d+)\.")


def unique_tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return the state with tied weights once, without a Performer's count of training forwards."""
    seen: set[int] = set()
    state = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen and not name.endswith(EXTRA_STATE):
            seen.add(id(tensor))
            state[name] = tensor.detach()
    return state


def stored_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor of a safetensors file; only its header is read."""
    check_readable(path)
    shapes = {}
    try:
        with safetensors.safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118 - the file is not a mapping
                part = file.get_slice(name)
                if part.get_dtype() not in REAL:
                    raise InputError(
                        f"{path}: tensor {name!r} is of type {part.get_dtype()}, expected "
                        f"{', '.join(sorted(REAL))}"
                    )
                shapes[name] = tuple(part.get_shape())
    except (safetensors.SafetensorError, OSError) as error:
        raise _damaged(path, error) from error
    return shapes


def check_counts(
    shapes: Mapping[str, tuple[int, ...]],
    path: Path,
    *,
    num_layers: int,
    sizes: Mapping[str, int],
    members: int = 0,
) -> None:
    """Compare numbers of layers and members, and sizes, in config.json with a header."""
    # A model with a billion layers, heads or features would fill the memory even without weights.
    parts = {match.groups() for match in map(_PART.match, shapes) if match}
    for what, count, expected in (
        ("layers", len({layer for _, layer in parts}), num_layers),
        ("members", len({member for member, _ in parts if member is not None}), members),
    ):
        if count != expected:
            raise InputError(
                f"{path}: it has {count} {what}, config.json has {expected}; they belong to "
                "different bundles"
            )
    present = {size for shape in shapes.values() for size in shape}
    for what, expected in sizes.items():
        if expected not in present:
            raise InputError(
                f"{path}: no tensor has {what} {expected} of config.json as a size; they belong to "
                "different bundles"
            )


def check_shapes(model: nn.Module, shapes: dict[str, tuple[int, ...]], path: Path) -> None:
    """Compare a model, which may be on the `meta` device, with a header."""
    expected = {name: tuple(tensor.shape) for name, tensor in unique_tensors(model).items()}
    for name in sorted(expected.keys() | shapes.keys()):
        if expected.get(name) != shapes.get(name):
            raise InputError(
                f"{path}: tensor {name!r} is {shapes.get(name, 'missing')}, the architecture in "
                f"config.json expects {expected.get(name, 'none')}; they belong to different bundles"
            )


def fill(model: nn.Module, path: Path) -> None:
    """Load the weights of a file, which must be finite, into a model that fits its header."""
    try:
        state = safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise _damaged(path, error) from error
    for name, tensor in state.items():
        if not tensor.isfinite().all():
            raise InputError(
                f"{path}: tensor {name!r} has values that are not finite; every score would be "
                "undefined. Did its training diverge?"
            )
    model.load_state_dict(state, strict=False)


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: damaged weights ({error}). Copy the bundle again")


def build_model(config: BundleConfig | Mapping[str, Any]) -> nn.Module:
    """Build the model that a bundle's config describes, with fresh weights."""
    config = BundleConfig.from_json(config)
    if config.is_pretrained_only:
        return PretrainingModel(config.encoder, heads=config.heads, copies=config.copies)
    if config.is_text_task:
        task = text_tasks.describe(config.task)
        return task.build_model(config.encoder, config.head, len(config.label_names))
    if config.members is not None:
        own = [member.words for member in config.member_models[: config.members]]
        counts = own if any(own) else [config.words] * config.members
        members = [build_model(replace(config, members=None, words=words)) for words in counts]
        return EnsembleClassifier(members, config.label_type)
    num_labels = len(config.label_names)
    return SequenceClassifier(config.encoder, num_labels, config.head, words=config.words)


@contextmanager
def building(source: str) -> Iterator[None]:
    """Build without memory: a config of any size costs nothing until the weights agree with it."""
    try:
        with torch.device("meta"):
            yield
    except (TypeError, ValueError, RuntimeError) as error:  # products of sizes beyond 64 bits
        raise InputError(f"{source}: it describes no model: {error}") from error


def empty_model(folder: Path, config: BundleConfig, weights: str) -> nn.Module:
    """Return the model of a bundle, checked against its weights, without memory for them."""
    path = folder / weights
    shapes = stored_shapes(path)
    own = config.encoder
    sizes = {"hidden_size": own.hidden_size}
    if own.attention == "performer" and own.performer.num_features:
        sizes["performer.num_features"] = own.performer.num_features
    check_counts(shapes, path, num_layers=own.num_layers, sizes=sizes, members=config.members or 0)
    with building(f"{folder}/config.json"):
        model = build_model(config)
    check_shapes(model, shapes, path)
    return model
