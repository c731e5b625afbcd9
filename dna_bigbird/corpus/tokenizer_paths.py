"""A vocabulary of text from the path that a user gives."""

from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.json_tokenizer import is_dna_vocabulary
from dna_bigbird.corpus.special_tokens import read_names
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.tokenizer_files import JSON, SENTENCEPIECE


def read_text_tokenizer(path: Path) -> TextTokenizer:
    """Read a SentencePiece model, a `tokenizer.json`, or a folder that has one of them.

    `special_tokens_map.json` next to the file names its special entries, if their names are
    unusual.

    Raises:
        InputError: If there is none, it is damaged, or it is a vocabulary of DNA.
    """
    path = Path(path)
    if path.is_dir():
        paths = [path / name for name in (JSON, SENTENCEPIECE) if (path / name).is_file()]
        if not paths:
            raise InputError(f"{path}: no vocabulary of text; expected {JSON} or {SENTENCEPIECE}")
        path = paths[0]
    if not path.is_file():
        raise InputError(f"{path}: no such vocabulary; expected a SentencePiece model or {JSON}")
    file = JSON if path.suffix == ".json" else SENTENCEPIECE
    tokenizer = TextTokenizer(path.read_bytes(), file, read_names(path.parent), str(path))
    if is_dna_vocabulary(tokenizer.pieces):
        raise InputError(f"{path}: a vocabulary of DNA; expected one of text")
    return tokenizer
