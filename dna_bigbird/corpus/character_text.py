"""Files of characters: text8, enwik8, and any other file, byte by byte."""

import hashlib
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import check_readable
from dna_bigbird.corpus.characters import Characters, CharacterSplit, numbers_of

PUBLISHED_BYTES = 100_000_000
"""Of text8 and of enwik8; the usual split has 90 M, 5 M and 5 M."""
TEXT8 = b" abcdefghijklmnopqrstuvwxyz"
ENWIK8_BYTES = 205
"""Different bytes of enwik8; programs that drop the line break count 204."""
_PACKED = {b"PK": "a zip archive", b"\x1f\x8b": "a gzip file", b"BZ": "a bzip2 file"}


def read_characters(path: Path, split: CharacterSplit, source: str) -> Characters:
    """Read a file; every byte is a character, and those that occur are the alphabet.

    The end of the file is for the test, what is before it for validation.

    Args:
        source: 'text8' or 'enwik8', which have known sizes, or 'bytes'.

    Raises:
        InputError: If the file is missing, packed or not what it should be, or a part is too short.
    """
    check_readable(path)
    content = Path(path).read_bytes()
    if archive := _PACKED.get(content[:2]):
        raise InputError(f"{path}: {archive}; expected the text itself: unpack it first")
    if split.validation or split.test:
        raise InputError(
            "--split.validation and --split.test are regions of DNA; give shares of text"
        )
    read = np.frombuffer(content, np.uint8)
    alphabet = bytes(np.flatnonzero(np.bincount(read, minlength=256)).astype(np.uint8))
    if source != "bytes":
        _check_published(path, len(content), alphabet, source)
    sizes = [round(share * len(read)) for share in (split.validation_share, split.test_share)]
    first = len(read) - sum(sizes)
    if min(first, *sizes) < 2:
        raise InputError(f"{path}: {len(read):,} bytes are too few for three parts")
    numbers = numbers_of(read, alphabet)
    return Characters(
        alphabet,
        {
            "train": numbers[:first],
            "validation": numbers[first : first + sizes[0]],
            "test": numbers[first + sizes[0] :],
        },
        None,
        hashlib.sha256(content).hexdigest(),
    )


def _check_published(path: Path, size: int, alphabet: bytes, source: str) -> None:
    if size != PUBLISHED_BYTES:
        raise InputError(
            f"{path}: {size:,} bytes; {source} has {PUBLISHED_BYTES:,}. Another text: --source bytes"
        )
    is_right = alphabet == TEXT8 if source == "text8" else len(alphabet) == ENWIK8_BYTES
    if not is_right:
        expected = "a to z and space" if source == "text8" else f"{ENWIK8_BYTES} of them"
        raise InputError(
            f"{path}: {len(alphabet)} different bytes; {source} has {expected}. Another text: --source bytes"
        )
