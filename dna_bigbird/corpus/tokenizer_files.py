"""The tokenizer in a folder, by the name of its file."""

from collections.abc import Sequence
from pathlib import Path

import tokenizers

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import read_json
from dna_bigbird.corpus.json_tokenizer import JsonDnaTokenizer, is_dna_vocabulary, parse
from dna_bigbird.corpus.special_tokens import read_names
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.tokenizer import DnaTokenizer

OWN, JSON, SENTENCEPIECE = "tokenizer.model", "tokenizer.json", "spiece.model"
TOKENIZER_FILES = (OWN, JSON, SENTENCEPIECE)
"""`tokenizer.model` is a vocabulary of this package; a folder has one of them, or the first counts."""

Tokenizer = DnaTokenizer | JsonDnaTokenizer | TextTokenizer


def is_dna_json(folder: Path) -> bool:
    """Return True if a folder has a `tokenizer.json` of DNA."""
    path = folder / JSON
    return path.is_file() and is_dna_vocabulary(parse(path.read_bytes(), str(path)).get_vocab())


def load_tokenizer(folder: Path, files: Sequence[str] = TOKENIZER_FILES) -> Tokenizer:
    """Load the tokenizer of a bundle; `files` are looked for in this order."""
    folder = Path(folder)
    path = next((folder / name for name in files if (folder / name).is_file()), None)
    if path is None:
        raise InputError(f"{folder}: no tokenizer; expected {' or '.join(files)}")
    if path.name == OWN:
        return DnaTokenizer.from_file(path)
    content, names = path.read_bytes(), read_names(folder)
    if path.name == JSON and is_dna_vocabulary(parse(content, str(path)).get_vocab()):
        return JsonDnaTokenizer(content, names, str(path))
    return TextTokenizer(content, path.name, names, str(path))


def read_text_tokenizer(path: Path) -> TextTokenizer:
    """Read a SentencePiece model, a `tokenizer.json`, or a folder that has one of them."""
    # `special_tokens_map.json` next to the file names its special entries, if unusual.
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


# The vocabulary of a BERT or RoBERTa folder of the Hugging Face library.

WORD_PIECES, BYTE_PIECES, MERGES = "vocab.txt", "vocab.json", "merges.txt"
ROBERTA_NAMES = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}


def read_library_tokenizer(folder: Path, *, is_roberta: bool) -> TextTokenizer:
    """Read `tokenizer.json`, or make it of `vocab.txt` or of `vocab.json` and `merges.txt`."""
    names = (ROBERTA_NAMES if is_roberta else {}) | read_names(folder)
    content, source = _json_of(folder)
    return TextTokenizer(content, JSON, names, str(source))


def _json_of(folder: Path) -> tuple[bytes, Path]:
    for name in (JSON, WORD_PIECES, BYTE_PIECES):
        path = folder / name
        if not path.is_file():
            continue
        if name == JSON:
            return path.read_bytes(), path
        try:
            if name == BYTE_PIECES:
                tokenizer = tokenizers.ByteLevelBPETokenizer(str(path), str(folder / MERGES))
            else:
                settings = folder / "tokenizer_config.json"
                options = read_json(settings) if settings.is_file() else {}
                lowercase = options.get("do_lower_case", True) is not False
                tokenizer = tokenizers.BertWordPieceTokenizer(str(path), lowercase=lowercase)
        except Exception as error:  # the library raises plain Exception
            raise InputError(f"{path}: no vocabulary: {error}") from error
        return tokenizer.to_str().encode(), path
    raise InputError(
        f"{folder}: no vocabulary; expected {JSON}, {WORD_PIECES}, or {BYTE_PIECES} and {MERGES}"
    )
