"""The file of a character model: text or DNA, in its parts."""

from pathlib import Path

from dna_bigbird.corpus.base_characters import read_bases
from dna_bigbird.corpus.character_text import read_characters
from dna_bigbird.corpus.characters import Characters, CharacterSplit


def read_parts(path: Path, source: str, split: CharacterSplit) -> Characters:
    """Return the characters of a file.

    Args:
        source: 'bytes', 'text8', 'enwik8' or 'dna'.

    Raises:
        InputError: As `read_bases` and `read_characters`.
    """
    return read_bases(path, split) if source == "dna" else read_characters(path, split, source)
