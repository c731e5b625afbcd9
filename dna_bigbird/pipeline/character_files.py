"""The file of a character model: text or DNA, in its parts."""

from pathlib import Path

from dna_bigbird.datasets.base_characters import read_bases
from dna_bigbird.datasets.characters import Characters, CharacterSplit
from dna_bigbird.datasets.text.characters import read_characters


def read_parts(path: Path, source: str, split: CharacterSplit) -> Characters:
    """Return the characters of a file.

    Args:
        source: 'bytes', 'text8', 'enwik8' or 'dna'.

    Raises:
        InputError: As `read_bases` and `read_characters`.
    """
    return read_bases(path, split) if source == "dna" else read_characters(path, split, source)
