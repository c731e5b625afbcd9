"""Checks of inputs, backend and compiler before a training or a measurement."""

from pathlib import Path

from dna_bigbird.errors import InputError


def check_tokenizer(store, tokenizer, tokenizer_path: Path | str) -> None:
    """Refuse a token store that another tokenizer made.

    Raises:
        InputError: Naming both files.
    """
    import hashlib

    if hashlib.sha256(tokenizer.model_bytes).hexdigest() != store.tokenizer_sha256:
        raise InputError(
            f"{store.path}: made with another tokenizer than {tokenizer_path}; the ids would mean "
            "other bases. Make it again: dna-bigbird tokenize"
        )


def verify_stores(stores) -> None:
    """Compare token stores with their checksums, each file once; progress on a terminal.

    Raises:
        InputError: Naming the one that is damaged.
    """
    from tqdm import tqdm

    for store in {store.path: store for store in stores}.values():
        store.verify(lambda blocks: tqdm(blocks, desc="verify", unit="block", disable=None))


def check_trainable(data) -> None:
    """Refuse a labelled set that training could not use.

    Raises:
        InputError: If a split is empty, or no label has both positives and negatives in it.
    """
    for split in ("train", "validation"):
        rows = data.rows(split)
        if not len(rows):
            raise InputError(
                f"{data.path}: no row in the {split} split; build the set with other regions for its splits"
            )
        positives = data.packed_labels.positives(rows)
        if not ((positives > 0) & (positives < len(rows))).any():
            raise InputError(
                f"{data.path}: no label has both positives and negatives among the {len(rows)} "
                f"{split} rows; build the set with other regions for its splits"
            )


def set_training_backend(encoder, name: str) -> None:
    """Let a model that is to be trained here compute its attention with a backend.

    Raises:
        InputError: If that backend cannot train this model on this machine.
    """
    import torch

    on_gpu, dropout = torch.cuda.is_available(), encoder.config.attention_dropout
    option = f"--training.attention_backend {name}"
    if name == "flex" and not on_gpu:
        raise InputError(f"{option} has no backward pass on a CPU; use auto, merged or gather")
    if name in ("merged", "native") and on_gpu:
        raise InputError(f"{option} runs on a CPU, and training takes the GPU; use flex or gather")
    if name in ("flex", "merged", "native") and dropout:
        raise InputError(f"{option} has no dropout, the model's attention_dropout is {dropout}")
    encoder.set_backend(name)


def check_compiles(training) -> None:
    """Refuse --training.compile where nothing can be compiled.

    Raises:
        InputError: With what is missing.
    """
    from dna_bigbird.pipeline.machine import flex_obstacle, this_machine

    if training.compile and (missing := flex_obstacle(this_machine())):
        raise InputError(f"--training.compile true cannot compile here: {missing}; leave it out")


def validation_rows(data, limit: int, seed: int):
    """Return the validation rows, or `limit` of them drawn at random once (0: all), rising."""
    import numpy as np

    rows = data.rows("validation")
    if not 0 < limit < len(rows):
        return rows
    return np.sort(np.random.default_rng([seed, 2]).choice(rows, size=limit, replace=False))


def module_sha256(module) -> str:
    """Return a checksum of a module's weights."""
    import hashlib

    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy())
    return digest.hexdigest()
