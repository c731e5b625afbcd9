"""Text of docstrings and help as Markdown."""

import inspect
import re


def escaped(text: str) -> str:
    """Return text in which signs are themselves, except in `code`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([*_<\[\]$|#])", r"\\\1", p) for p in parts)


def prose(text: str) -> str:
    """Return paragraphs; indented lines (commands, tables) become blocks."""
    parts = re.split(r"((?:^ {2,}.*\n|^\n(?= {2,}\S))+)", f"{text.strip()}\n", flags=re.MULTILINE)
    shown = [
        f"\n```text\n{inspect.cleandoc(part)}\n```\n" if part.lstrip("\n").startswith("  ")
        else escaped(part)
        for part in parts
    ]  # fmt: skip
    return "".join(shown).strip()
