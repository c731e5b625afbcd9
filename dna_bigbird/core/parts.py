"""Finished parts of a run, from which it continues after a kill: JSON or NPZ files with a checksum.

    result.json     {"settings": what decides the content, ..., "sha256": of all bytes before}
    000017.npz      an NPZ file with an array `key`, then one line: sha256 of all bytes before

So the checksum covers the values and what they belong to. A part that is not as it was written is
computed again, with a note, as one of an earlier version without a checksum; a part of other settings too.
"""

import hashlib
import io
import json
import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import note
from dna_bigbird.core.files import parse_json_object
from dna_bigbird.core.writing import atomic_path, json_text

SETTINGS, SHA256, KEY = "settings", "sha256", "key"
_JSON_END = f',\n  "{SHA256}": "%s"\n}}\n'
_NPZ_END = f"\n{SHA256} %s\n"


def write_json_part(path: Path, settings: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    """Write a part of JSON values; `settings` are all that decides them, checksums of inputs too."""
    text = json_text({SETTINGS: dict(settings), **content}).removesuffix("\n}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as partial:
        partial.write_bytes(_sealed(text.encode(), _JSON_END))


def read_json_part(path: Path, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the content of a part, settings included; None if it must be computed."""
    text = _unsealed(path, _JSON_END)
    if text is None:
        return None
    part = parse_json_object(text.decode() + "}", path)
    return part if part[SETTINGS] == json.loads(json.dumps(settings)) else None


def array_part(key: str, arrays: Mapping[str, NDArray]) -> bytes:
    """Return the bytes of a part of arrays; `key` stands for everything that decides them."""
    stream = io.BytesIO()
    np.savez(stream, **{KEY: np.array(key)}, **arrays)
    return _sealed(stream.getvalue(), _NPZ_END)


def read_array_part(path: Path, key: str) -> dict[str, NDArray] | None:
    """Return the arrays of a part; None if they must be computed."""
    content = _unsealed(path, _NPZ_END)
    if content is None:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = dict(stored)
    return arrays if str(arrays.pop(KEY)) == key else None


def place_in_part(path: Path, name: str) -> tuple[np.dtype, tuple[int, ...], int]:
    """Return type, shape and first byte of an array of a part, in C order, to map it into memory."""
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{name}.npy").header_offset
    with open(path, "rb") as stream:
        stream.seek(member + 26)  # of the member's own header, whose length is not in the directory
        stream.seek(sum(struct.unpack("<HH", stream.read(4))), os.SEEK_CUR)
        np.lib.format.read_magic(stream)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        return dtype, shape, stream.tell()


def note_damaged(path: Path) -> None:
    """Tell the user that a part is not used."""
    note(f"{path}: damaged, changed, or of an earlier version; it is computed again")


def _sealed(content: bytes, end: str) -> bytes:
    return content + (end % hashlib.sha256(content).hexdigest()).encode()


def _unsealed(path: Path, end: str) -> bytes | None:
    """Return the content of a file; None, with a note, if it is not as it was written."""
    if not path.is_file():
        return None
    whole = path.read_bytes()
    content = whole[: -len(end % ("0" * 64))]
    if whole == _sealed(content, end):
        return content
    note_damaged(path)
    return None
