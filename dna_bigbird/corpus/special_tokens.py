"""Names and ids of the special entries of somebody else's vocabulary."""

import json
from collections.abc import Mapping
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import read_json

ROLES = ("pad", "unk", "cls", "sep", "mask")
USUAL_NAMES = {
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
    "cls": ("[CLS]",),
    "sep": ("[SEP]",),
    "mask": ("[MASK]",),
}
"""Taken if no file names the entry of a role."""
NAME_FILES = ("special_tokens_map.json", "tokenizer_config.json")


def read_names(folder: Path) -> dict[str, str]:
    """Return the names a folder gives to roles, {"cls": "[CLS]", …}; an unnamed role is absent."""
    names: dict[str, str] = {}
    for file in NAME_FILES:
        path = folder / file
        if not path.is_file():
            continue
        settings = read_json(path)
        for role in ROLES:
            value = settings.get(f"{role}_token")
            name = value.get("content") if isinstance(value, dict) else value
            if isinstance(name, str) and role not in names:
                names[role] = name
    return names


def names_file(names: Mapping[str, str]) -> bytes:
    """Return the text of `special_tokens_map.json`."""
    tokens = {f"{role}_token": names[role] for role in ROLES}
    return (json.dumps(tokens, indent=2) + "\n").encode()


def find_special(
    ids_by_piece: Mapping[str, int], names: Mapping[str, str], source: str
) -> dict[str, str]:
    """Return the entry of every role: one of `names`, or of `USUAL_NAMES`."""
    tokens = {}
    for role in ROLES:
        candidates = (names[role],) if role in names else USUAL_NAMES[role]
        name = next((name for name in candidates if name in ids_by_piece), None)
        if name is None:
            raise InputError(
                f"{source}: the vocabulary has no {' or '.join(candidates)}, needed as {role} token. "
                f'Name it in {NAME_FILES[0]} next to it: {{"{role}_token": …}}'
            )
        tokens[role] = name
    return tokens
