"""The vocabulary of a BERT or RoBERTa folder of the Hugging Face library."""

from pathlib import Path

import tokenizers

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import read_json
from dna_bigbird.corpus.special_tokens import read_names
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.tokenizer_files import JSON

WORD_PIECES, BYTE_PIECES, MERGES = "vocab.txt", "vocab.json", "merges.txt"
ROBERTA_NAMES = {
    "pad": "<pad>",
    "unk": "<unk>",
    "cls": "<s>",
    "sep": "</s>",
    "mask": "<mask>",
}


def read_library_tokenizer(folder: Path, *, is_roberta: bool) -> TextTokenizer:
    """Read `tokenizer.json`, or make it of `vocab.txt` or of `vocab.json` and `merges.txt`.

    Raises:
        InputError: If there is none of them, or one is damaged.
    """
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
            tokenizer = _word_pieces(path) if name == WORD_PIECES else _byte_pieces(path)
        except Exception as error:  # the library raises plain Exception
            raise InputError(f"{path}: no vocabulary: {error}") from error
        return tokenizer.to_str().encode(), path
    raise InputError(
        f"{folder}: no vocabulary; expected {JSON}, {WORD_PIECES}, or {BYTE_PIECES} and {MERGES}"
    )


def _word_pieces(path: Path) -> tokenizers.implementations.BaseTokenizer:
    settings = path.parent / "tokenizer_config.json"
    options = read_json(settings) if settings.is_file() else {}
    return tokenizers.BertWordPieceTokenizer(
        str(path), lowercase=options.get("do_lower_case", True) is not False
    )


def _byte_pieces(path: Path) -> tokenizers.implementations.BaseTokenizer:
    return tokenizers.ByteLevelBPETokenizer(str(path), str(path.parent / MERGES))
