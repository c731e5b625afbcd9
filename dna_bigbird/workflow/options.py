"""Settings of a config as words of a command line."""

import json
import shlex
from collections.abc import Collection, Mapping
from typing import Any

Section = Mapping[str, Any]
"""A section of a checked config."""

_GROUPS = ("etc", "cpc")
"""Nested sections that are settings of the same command."""


def option(name: str, value: object) -> str:
    """Write one option as the command line takes it: lists as JSON, booleans in lower case.

    Example:
        >>> option("regions", ["chr1", "chr2"]), option("pieces", True), option("title", "my run")
        ('--regions \\'["chr1", "chr2"]\\'', '--pieces true', "--title 'my run'")
    """
    text = value if isinstance(value, str) else json.dumps(value)
    return f"--{name} {shlex.quote(text)}"


def options(section: Section, group: str = "", keys: Collection[str] | None = None) -> str:
    """Write a section of the config as options `--group.key value`; without group `--key value`.

    Nested sections that are settings of another command are left out, and so is what `keys` lacks.

    Example:
        >>> options({"max_steps": 9, "cpc": {"weight": 0.5}, "lora": {"rank": 4}}, "training")
        '--training.max_steps 9 --training.cpc.weight 0.5'
    """
    prefix = f"{group}." if group else ""
    return " ".join(
        options(value, prefix + key) if isinstance(value, dict) else option(prefix + key, value)
        for key, value in section.items()
        if (key in _GROUPS or not isinstance(value, dict)) and (keys is None or key in keys)
    )
