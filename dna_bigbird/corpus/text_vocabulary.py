"""Learning a vocabulary of text, laid out as the published BigBird's (specification §1.5).

Pad 0, end 1, start 2, [CLS] 65, [SEP] 66, [MASK] 67, unknown 100, text from 101; the other ids
below 101 are reserved.
"""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import sentencepiece

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.settings import Positive, Range

PAD_ID, END_ID, START_ID, CLS_ID, SEP_ID, MASK_ID, UNK_ID = 0, 1, 2, 65, 66, 67, 100
FIRST_PIECE_ID = 101
PRINTABLE = "".join(map(chr, range(33, 127)))
"""Letters that every vocabulary has, for any text: marks such as <n> must survive."""
SMALLEST = FIRST_PIECE_ID + len(PRINTABLE) + 1
"""One more for the mark of a word."""
_LONGEST = 4000
"""Bytes of one sentence given to SentencePiece, which leaves out longer ones."""


@dataclass(frozen=True)
class VocabularyConfig:
    """Size of the vocabulary and of the text it is learnt from."""

    # Text stores hold 16 bits.
    size: Annotated[int, Range(SMALLEST, most=65536)] = 50358
    """Entries, the 101 special and reserved ones included."""
    max_characters: Positive = 50_000_000
    """Learn from the first so many characters; bounds the memory."""

    def __post_init__(self) -> None:
        check_fields(self)


def learn_vocabulary(documents: Iterable[str], config: VocabularyConfig) -> bytes:
    """Learn byte-pair pieces and return the SentencePiece model; equal text gives equal bytes."""
    # A letter that is too rare for a piece of its own becomes unknown, unless it is printable
    # ASCII.
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_sentences(documents, config.max_characters),
            model_writer=model,
            model_type="bpe",
            vocab_size=config.size,
            character_coverage=0.9995,
            required_chars=PRINTABLE,
            pad_id=PAD_ID,
            eos_id=END_ID,
            bos_id=START_ID,
            unk_id=UNK_ID,
            pad_piece="<pad>",
            control_symbols=_reserved(),
            max_sentence_length=2 * _LONGEST,
            shuffle_input_sentence=False,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        if needed := re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error)):
            raise InputError(
                f"--size {config.size} is too small for the letters of the text; it needs more than "
                f"{needed[1]}"
            ) from error
        largest = re.search(r"set it to a value <= (\d+)", str(error))
        if largest is None:
            raise InputError(f"SentencePiece learnt no vocabulary: {error}") from error
        raise InputError(
            f"--size {config.size} is too large for the text, which allows at most "
            f"{largest[1]}. Give more text or a smaller size"
        ) from error
    return model.getvalue()


def _reserved() -> list[str]:
    """Return the pieces that fill the ids from 3 to 99, in order."""
    named = {CLS_ID: "[CLS]", SEP_ID: "[SEP]", MASK_ID: "[MASK]"}
    return [named.get(i, f"<unused_{i}>") for i in range(START_ID + 1, UNK_ID)]


def _sentences(documents: Iterable[str], max_characters: int) -> Iterator[str]:
    """Cut documents at spaces into pieces that SentencePiece takes."""
    left = max_characters
    for text in documents:
        text = text[:left]
        left -= len(text)
        line: list[str] = []
        size = 0
        for word in text.split():
            # A single longer word is left out by SentencePiece.
            word_size = len(word.encode()) + 1
            if line and size + word_size > _LONGEST:
                yield " ".join(line)
                line, size = [], 0
            line.append(word)
            size += word_size
        if line:
            yield " ".join(line)
        if not left:
            return
