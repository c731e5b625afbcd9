"""The training text in a bundle whose model copies from it: token ids of 8 or 16 bits, both strands."""

from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import check_readable
from dna_bigbird.models.read_text import ReadText, Strand

TEXT = "text_read.safetensors"
_NAMES = ("documents", "forward", "forward_starts", "reverse", "reverse_starts")


def _bits(vocab_size: int) -> int:
    return 8 if vocab_size <= 256 else 16


def _types(vocab_size: int) -> dict[str, str]:
    ids = f"U{_bits(vocab_size)}"
    return {name: ids if name in ("forward", "reverse") else "I64" for name in _NAMES}


def to_bytes(text: ReadText, vocab_size: int) -> bytes:
    """Return the content of the file; equal texts give equal bytes."""
    ids = np.dtype(f"uint{_bits(vocab_size)}")
    arrays = {
        "forward": text.forward.tokens.astype(ids),
        "forward_starts": text.forward.starts,
        "reverse": text.reverse.tokens.astype(ids),
        "reverse_starts": text.reverse.starts,
        "documents": text.documents,
    }
    return safetensors.numpy.save({k: np.ascontiguousarray(x) for k, x in arrays.items()})


def read_text(path: Path, vocab_size: int, chromosomes: int) -> ReadText:
    """Read the text of a bundle.

    Raises:
        InputError: If the file is damaged, or its ids and documents do not fit the bundle.
    """
    check_readable(path)
    try:
        with safetensors.safe_open(path, "np") as file:
            types = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
            if types != _types(vocab_size):
                raise InputError(
                    f"{path}: expected {', '.join(_NAMES)} with ids of a vocabulary of {vocab_size:,}; copy "
                    "the bundle again"
                )
            arrays = {name: np.array(file.get_tensor(name)) for name in _NAMES}
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(f"{path}: damaged ({error}). Copy the bundle again") from error
    documents = arrays["documents"]
    strands = [
        Strand(arrays[name].astype(np.int32), arrays[f"{name}_starts"])
        for name in ("forward", "reverse")
    ]
    fits = documents.ndim == 2 and documents.shape[1] == 3
    fits &= all(_fits(strand, len(documents), vocab_size) for strand in strands)
    if not fits or not ((documents[:, 0] >= 0) & (documents[:, 0] < chromosomes)).all():
        raise InputError(
            f"{path}: it belongs to another bundle, or is damaged; copy it again whole"
        )
    return ReadText(*strands, documents)


def _fits(strand: Strand, num_documents: int, vocab_size: int) -> bool:
    """Return True if the documents divide the tokens, which are of the vocabulary."""
    tokens, starts = strand.tokens, strand.starts
    if tokens.ndim != 1 or starts.shape != (num_documents + 1,):
        return False
    ends = starts[0] == 0 and starts[-1] == len(tokens)
    return bool(ends and (np.diff(starts) > 0).all() and tokens.max(initial=0) < vocab_size)
