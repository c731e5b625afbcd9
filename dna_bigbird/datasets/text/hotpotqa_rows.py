"""HotpotQA's questions as tokens, with what is to be learnt of them (specification §3.1, ITC)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.datasets.text.hotpotqa import HotpotQaExample
from dna_bigbird.datasets.text.hotpotqa_options import HotpotQaOptions
from dna_bigbird.datasets.text.rows import TextRow, TextSet
from dna_bigbird.datasets.text.spans import find_text, tokens_of

# T tokens, U units: titles and sentences

SPAN, YES, NO = range(3)
UNKNOWN = -1
"""Target of what is not known: the row brings no loss for it."""
TITLE = -1
"""Number of a title among the sentences of its paragraph."""


def hotpotqa_rows(
    examples: Sequence[HotpotQaExample],
    tokenizer: TextTokenizer,
    options: HotpotQaOptions,
    *,
    training: bool,
) -> TextSet:
    """Make one row an example: `[CLS] [q] question [/q]`, then `<t> title </t> sentence [s] …` each.

    A sentence that does not fit is left out, a later one that does is not; a paragraph whose title
    does not fit is left out.

    Arrays of a row: `units` (U, 3), of every title and sentence its paragraph, its number there
    (`TITLE`) and the place of its mark, `<t>` or `[s]`; `labels` (U,), 1 for supporting sentences and
    the titles above them, and `targets` (3,), the kind of answer, its first and last token ([CLS]
    for yes and no), all `UNKNOWN` without gold. Beside them, unless for training, `unit_of_token`
    (T,), -1 for tokens of none, and the `offsets` (T, 2) of tokens in the text of their unit,
    half-open, in characters.

    Args:
        training: Leave out examples none of whose supporting facts is in the row, or whose answer
            is not in them, nor in the titles above them.
    """
    counts: Counter[str] = Counter()
    rows = []
    for number, example in enumerate(examples):
        draft = _draft(example, tokenizer, options, counts)
        labels, targets = _gold(example, draft)
        if training and not labels.any():
            counts["without a supporting fact in the row, not trained on"] += 1
            continue
        if training and targets[0] == UNKNOWN:
            counts["answer not in the evidence, not trained on"] += 1
            continue
        arrays = {"units": np.array(draft.units, np.int32).reshape(-1, 3), "labels": labels}
        arrays["targets"] = targets
        if not training:
            arrays["unit_of_token"] = np.array(draft.unit_of_token, np.int16)
            arrays["offsets"] = np.array(draft.offsets, np.int32)
        rows.append(TextRow(np.array(draft.ids, np.int32), number, arrays=arrays))
    return TextSet(list(examples), rows, {reason: n for reason, n in counts.items() if n})


def unit_text(example: HotpotQaExample, unit: Sequence[int]) -> str:
    """Return the title or sentence that a line of `units` names, as the file has it."""
    paragraph = example.paragraphs[int(unit[0])]
    return paragraph.title if unit[1] == TITLE else paragraph.sentences[int(unit[1])]


@dataclass
class _Draft:
    """A row that grows."""

    ids: list[int]
    unit_of_token: list[int] = field(init=False)
    offsets: list[tuple[int, int]] = field(init=False)
    units: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unit_of_token = [-1] * len(self.ids)
        self.offsets = [(0, 0)] * len(self.ids)

    def add_mark(self, token: int) -> None:
        self.ids.append(token)
        self.unit_of_token.append(-1)
        self.offsets.append((0, 0))

    def add_unit(self, paragraph: int, sentence: int, mark_place: int, encoded: tuple) -> None:
        ids, starts, ends = (part.tolist() for part in encoded)
        self.ids += ids
        self.unit_of_token += [len(self.units)] * len(ids)
        self.offsets += zip(starts, ends, strict=True)
        self.units.append((paragraph, sentence, mark_place))


def _draft(
    example: HotpotQaExample,
    tokenizer: TextTokenizer,
    options: HotpotQaOptions,
    counts: Counter[str],
) -> _Draft:
    def encode(text: str) -> tuple:
        # Some vocabularies know no white space but the space; offsets stay those of the file.
        return tokenizer.encode_with_offsets(re.sub(r"\s", " ", text))

    mark = tokenizer.marker_id
    question = encode(example.question)[0].tolist()
    room = min(options.max_question_tokens, options.max_tokens - 3)
    counts["questions cut"] += len(question) > room
    question = question[:room]
    draft = _Draft([tokenizer.cls_id, mark("[q]"), *question, mark("[/q]")])
    for p, paragraph in enumerate(example.paragraphs):
        title = encode(paragraph.title)
        if len(draft.ids) + len(title[0]) + 2 > options.max_tokens:
            counts["titles that do not fit"] += 1
            counts["sentences that do not fit"] += len(paragraph.sentences)
            continue
        draft.add_mark(mark("<t>"))
        draft.add_unit(p, TITLE, len(draft.ids) - 1, title)
        draft.add_mark(mark("</t>"))
        for s, sentence in enumerate(paragraph.sentences):
            encoded = encode(sentence)
            if len(draft.ids) + len(encoded[0]) + 1 > options.max_tokens:
                counts["sentences that do not fit"] += 1
                continue
            draft.add_unit(p, s, len(draft.ids) + len(encoded[0]), encoded)
            draft.add_mark(mark("[s]"))
    return draft


def _gold(example: HotpotQaExample, draft: _Draft) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return `labels` and `targets`."""
    unknown = np.full(3, UNKNOWN, np.int64)
    if example.facts is None:
        return np.full(len(draft.units), UNKNOWN, np.int8), unknown
    facts = set(example.facts)
    supporting = {
        (p, s)
        for p, s, _ in draft.units
        if (example.paragraphs[p].title, s) in facts and s != TITLE
    }
    above = {p for p, _ in supporting}
    labels = np.array(
        [(p, s) in supporting or (s == TITLE and p in above) for p, s, _ in draft.units], np.int8
    )
    if example.answer in ("yes", "no"):
        return labels, np.array([YES if example.answer == "yes" else NO, 0, 0])
    span = _find_answer(example, draft, labels) if example.answer else None
    return labels, unknown if span is None else np.array([SPAN, *span])


def _find_answer(
    example: HotpotQaExample, draft: _Draft, labels: NDArray[np.int8]
) -> tuple[int, int] | None:
    """Return first and last token of the answer that ends first among what is labelled.

    A place where it is no part of a longer word comes before all others.
    """
    offsets, unit_of_token = np.array(draft.offsets), np.array(draft.unit_of_token)
    for whole_words in (True, False):
        for unit in np.flatnonzero(labels):
            text = unit_text(example, draft.units[unit])
            tokens = np.flatnonzero(unit_of_token == unit)
            for start, end in find_text(text, example.answer, whole_words=whole_words):
                found = tokens_of(*offsets[tokens].T, start, end)
                if found:
                    return int(tokens[found[0]]), int(tokens[found[1]])
    return None
