"""Texts without what differs between two machines or two runs."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MACHINE = (
    (r"\[\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}\]", "[TIME]"),
    (r"tmpdir=[^,\s\"]+(, )?", ""),
    (r" at 0x[0-9a-f]+", ""),
)
"""Patterns and what is written for them."""


def cleaned(text: str) -> str:
    """Return a text without the folders of this machine, addresses and times."""
    for path, name in (
        (sys.executable, "PYTHON"),  # before the checkout, in which it may be
        (sys.prefix, "ENVIRONMENT"),
        (str(ROOT), "CHECKOUT"),
        (str(Path.home()), "HOME"),
    ):
        if len(path) > 1:
            text = re.sub(rf"{re.escape(path)}(?![\w.-])", name, text)
    for pattern, name in MACHINE:
        text = re.sub(pattern, name, text)
    return text


def lines_of(text: str) -> list[str]:
    """Return a text as lines, so that a diff shows the line that changed."""
    return cleaned(text).rstrip().split("\n")
