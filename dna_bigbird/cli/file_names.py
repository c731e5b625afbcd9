"""File names that are not UTF-8, on their way through the parser, which reads values as YAML.

Python gives a byte that is not text as half of a character (`surrogateescape`), which YAML cannot hold.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HALVES, _PRIVATE = 0xDC00, 0x10F000
"""Python's character of byte 0, and a character for private use that stands for it here."""


def hidden(text: str) -> str:
    """Return a text whose bytes that are not UTF-8 are characters for private use.

    Example:
        >>> ascii(hidden("caf\\udce9.fa"))
        "'caf\\\\U0010f0e9.fa'"
    """
    return re.sub("[\udc80-\udcff]", lambda byte: chr(ord(byte[0]) - _HALVES + _PRIVATE), text)


def revealed(value: Any) -> Any:
    """Return a value, a list or a mapping with the names that went into `hidden`."""
    if isinstance(value, str):
        pattern = f"[{chr(_PRIVATE + 0x80)}-{chr(_PRIVATE + 0xFF)}]"
        return re.sub(pattern, lambda byte: chr(ord(byte[0]) - _PRIVATE + _HALVES), value)
    if isinstance(value, Path):
        return Path(revealed(str(value)))
    if isinstance(value, list):
        return [revealed(each) for each in value]
    if isinstance(value, Mapping):
        return {key: revealed(each) for key, each in value.items()}
    return value
