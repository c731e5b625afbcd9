"""Every option name has one meaning: the first words of its description, equal in all commands.

`option_meanings.yaml` lists the names that several commands have.
"""

import re
from pathlib import Path

TABLE = Path(__file__).with_name("option_meanings.yaml")


def meaning(description: str) -> str:
    """The first words of a description, up to a full stop, colon or semicolon."""
    return re.split(r"[.:;](?:\s|$)", " ".join(description.split()))[0]
