"""The file of a bundle with the hashes of the sequences without coordinates that it has read.

    hashes    (n,) uint64, rising, each once: `labelled.labelled_set.sequence_hash`

The file exists if `n_sequences_read` in config.json is more than 0.
"""

from collections.abc import Iterable
from functools import reduce
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import check_readable

SEQUENCES = "sequences_read.safetensors"
_TENSOR = "hashes"


def no_sequences() -> NDArray[np.uint64]:
    """Return the hashes of a bundle that remembers no sequence."""
    return np.empty(0, dtype=np.uint64)


def union(parts: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return all hashes of several arrays, rising, each once."""
    return reduce(np.union1d, parts, no_sequences())


def to_bytes(hashes: NDArray[np.uint64]) -> bytes:
    """Return the content of the file; equal hashes give equal bytes."""
    return safetensors.numpy.save({_TENSOR: np.ascontiguousarray(hashes, dtype=np.uint64)})


def read_sequences(path: Path, count: int) -> NDArray[np.uint64]:
    """Read the hashes of a bundle, `count` as config.json says; of 0 no file is opened."""
    if count == 0:
        return no_sequences()
    check_readable(path)
    try:
        with safetensors.safe_open(path, "np") as file:
            names = list(file.keys())
            header = file.get_slice(_TENSOR) if names == [_TENSOR] else None
            if header is None or header.get_dtype() != "U64" or len(header.get_shape()) != 1:
                raise InputError(
                    f"{path}: expected one list of 64-bit hashes, {_TENSOR!r}; copy the bundle again"
                )
            hashes = np.array(file.get_tensor(_TENSOR))
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(f"{path}: damaged ({error}). Copy the bundle again") from error
    if len(hashes) != count:
        raise InputError(
            f"{path}: it has {len(hashes):,} hashes, config.json has n_sequences_read {count:,}; they "
            "belong to different bundles"
        )
    if not (hashes[1:] > hashes[:-1]).all():
        raise InputError(f"{path}: its hashes are not rising. Copy the bundle again")
    return hashes
