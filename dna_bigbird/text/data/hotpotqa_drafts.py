"""Rows of HotpotQA while they grow: with marks between the parts, or with global tokens for them."""

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.models.attention_config import FIRST, QUESTION, SENTENCE
from dna_bigbird.models.attention_config import PARAGRAPH as PARAGRAPH_TYPE
from dna_bigbird.text.data.hotpotqa_questions import HotpotQaExample, Paragraph
from dna_bigbird.text.data.rows import TextRow
from dna_bigbird.text.data.two_streams import (
    QUESTION_SEGMENT,
    SENTENCE_SEGMENT,
    TITLE_SEGMENT,
    TwoStreams,
)

if TYPE_CHECKING:
    from dna_bigbird.corpus.text_tokenizer import TextTokenizer

TITLE, PARAGRAPH, OTHER = -1, -2, -3
"""Number, among the sentences of its paragraph, of a title, of a paragraph, and of what is in none."""
NOWHERE = -1
"""Paragraph of a unit that is in none."""


class Limits(NamedTuple):
    """Most tokens of a row, most global tokens, most tokens of a question."""

    tokens: int
    global_tokens: int
    question: int


class Draft:
    """A row that grows.

    Attributes:
        streams: Both streams of BigBird-ETC; None for a row with marks.
        unit_of_token: Number of the unit of each token, -1 for none.
        offsets: Half-open characters of each token in the text of its unit.
        units: Paragraph, number there and position of each unit: position of its mark, or its global token.
    """

    def __init__(self, streams: TwoStreams | None = None) -> None:
        self.streams = streams
        self.ids: list[int] = streams.ids if streams else []
        self.unit_of_token: list[int] = []
        self.offsets: list[tuple[int, int]] = []
        self.units: list[tuple[int, int, int]] = []

    def pad(self) -> None:
        """Note that the tokens added since are in no unit."""
        missing = len(self.ids) - len(self.unit_of_token)
        self.unit_of_token += [-1] * missing
        self.offsets += [(0, 0)] * missing

    def add_text(self, encoded: tuple) -> None:
        """Note tokens as those of the next unit; in a row with marks also add them."""
        ids, starts, ends = (part.tolist() for part in encoded)
        if self.streams is None:
            self.ids += ids
        self.unit_of_token += [len(self.units)] * len(ids)
        self.offsets += zip(starts, ends, strict=True)

    def row(self, number: int, arrays: dict[str, NDArray]) -> TextRow:
        """Return the row of an example, with more arrays."""
        ids = np.array(self.ids, np.int32)
        if self.streams is None:
            return TextRow(ids, number, arrays=arrays)
        return TextRow(ids, number, self.streams.segment_ids, arrays | self.streams.arrays())


def encoded(tokenizer: "TextTokenizer", text: str) -> tuple:
    """Return ids, starts and ends; some vocabularies know no white space but the space."""
    return tokenizer.encode_with_offsets(re.sub(r"\s", " ", text))


def draft_blocks(
    example: HotpotQaExample,
    tokenizer: "TextTokenizer",
    limits: Limits,
    counts: Counter[str],
) -> Draft:
    """Return `[CLS] [q] question [/q]`, then `<t> title </t>` and `sentence [s]` for each.

    The position of a unit is the position of its `<t>` or `[s]`.
    """
    mark = tokenizer.marker_id
    question = _question(example, tokenizer, limits, limits.tokens - 3, counts)
    draft = Draft()
    draft.ids += [tokenizer.cls_id, mark("[q]"), *question, mark("[/q]")]
    draft.pad()
    for p, paragraph in enumerate(example.paragraphs):
        title = encoded(tokenizer, paragraph.title)
        if len(draft.ids) + len(title[0]) + 2 > limits.tokens:
            _count_lost(counts, paragraph)
            continue
        draft.ids.append(mark("<t>"))
        draft.pad()
        draft.add_text(title)
        draft.units.append((p, TITLE, len(draft.ids) - len(title[0]) - 1))
        draft.ids.append(mark("</t>"))
        draft.pad()
        for s, sentence in enumerate(paragraph.sentences):
            text = encoded(tokenizer, sentence)
            if len(draft.ids) + len(text[0]) + 1 > limits.tokens:
                counts["sentences that do not fit"] += 1
                continue
            draft.add_text(text)
            draft.units.append((p, s, len(draft.ids)))
            draft.ids.append(mark("[s]"))
            draft.pad()
    return draft


def draft_streams(
    example: HotpotQaExample,
    tokenizer: "TextTokenizer",
    limits: Limits,
    counts: Counter[str],
) -> Draft:
    """Return `[CLS] question`, then title and sentences of each paragraph, without marks.

    Global tokens: one for [CLS], which reads everything, for each token of the question, for each
    paragraph, title and sentence, in this order; each is a unit, whose position is its own. A token of a
    paragraph belongs to its title or sentence and to its paragraph. [CLS], the question and each
    paragraph are parts of their own (ETC, generate_tf_examples_lib.py).
    """
    streams = TwoStreams()
    draft = Draft(streams)
    room = min(limits.tokens, limits.global_tokens) - 1
    question = _question(example, tokenizer, limits, room, counts)
    streams.add_tokens([tokenizer.cls_id], SENTENCE_SEGMENT, [streams.add_global(FIRST, free=True)])
    streams.cut()
    streams.add_each(question, QUESTION_SEGMENT, QUESTION)
    draft.units += [(NOWHERE, OTHER, position) for position in range(len(streams.types))]
    draft.pad()
    for p, paragraph in enumerate(example.paragraphs):
        title = encoded(tokenizer, paragraph.title)
        if not _fits(streams, title, limits, more=1):
            _count_lost(counts, paragraph)
            continue
        streams.cut()
        whole = streams.add_global(PARAGRAPH_TYPE)
        draft.units.append((p, PARAGRAPH, whole))
        parts = [(TITLE, TITLE_SEGMENT, title)]
        parts += [
            (s, SENTENCE_SEGMENT, encoded(tokenizer, sentence))
            for s, sentence in enumerate(paragraph.sentences)
        ]
        for number, segment, text in parts:
            if not _fits(streams, text, limits):
                counts["sentences that do not fit"] += 1
                continue
            own = streams.add_global(SENTENCE)
            streams.add_tokens(text[0], segment, [own, whole])
            draft.add_text(text)
            draft.units.append((p, number, own))
    return draft


def _question(
    example: HotpotQaExample,
    tokenizer: "TextTokenizer",
    limits: Limits,
    room: int,
    counts: Counter[str],
) -> list[int]:
    question = encoded(tokenizer, example.question)[0].tolist()
    room = min(limits.question, room)
    counts["questions cut"] += len(question) > room
    return question[:room]


def _fits(streams: TwoStreams, text: tuple, limits: Limits, more: int = 0) -> bool:
    """Return whether a text with its global token, and so many more, has room."""
    num_tokens = len(streams.ids) + len(text[0])
    num_global = len(streams.types) + 1 + more
    return num_tokens <= limits.tokens and num_global <= limits.global_tokens


def _count_lost(counts: Counter[str], paragraph: Paragraph) -> None:
    counts["titles that do not fit"] += 1
    counts["sentences that do not fit"] += len(paragraph.sentences)
