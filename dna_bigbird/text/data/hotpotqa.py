"""HotpotQA, distractor setting: the task, its settings, files and rows (specification §3.1)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.settings import Positive, Range, Share
from dna_bigbird.models.attention_config import FIRST, QUESTION, SENTENCE
from dna_bigbird.models.attention_config import PARAGRAPH as PARAGRAPH_TYPE
from dna_bigbird.text.data.questions import table_2, table_3
from dna_bigbird.text.data.reading import check_ids, need, read_json_list, type_in_words
from dna_bigbird.text.data.rows import (
    QUESTION_SEGMENT,
    SENTENCE_SEGMENT,
    TITLE_SEGMENT,
    TextFeatures,
    TextSet,
    TwoStreams,
    find_text,
    recorded,
    tokens_of,
)

Fact = tuple[str, int]
"""Title of a paragraph and number of one of its sentences, from 0."""


@recorded("hotpotqa-paragraph", "dna_bigbird.datasets.text.hotpotqa_questions:Paragraph")
@dataclass(frozen=True)
class Paragraph:
    """A titled paragraph as the file has it."""

    title: str
    sentences: tuple[str, ...]


@recorded("hotpotqa", "dna_bigbird.datasets.text.hotpotqa_questions:HotpotQaExample")
@dataclass(frozen=True)
class HotpotQaExample:
    """One question; `answer` and `facts` are None in official test files."""

    id: str
    question: str
    paragraphs: tuple[Paragraph, ...]
    answer: str | None
    """Text of the paragraphs, or 'yes' or 'no'."""
    facts: tuple[Fact, ...] | None
    """The supporting sentences, as the file has them."""

    def sentences(self) -> set[Fact]:
        return {(each.title, i) for each in self.paragraphs for i in range(len(each.sentences))}


def read_hotpotqa(path: Path, *, gold: bool = True) -> tuple[list[HotpotQaExample], dict[str, int]]:
    """Read a JSON list, plain or gzip; also return counts of irregular items."""
    # Facts that name no sentence stay: the official metric counts them, no model can find them.
    items = enumerate(read_json_list(path))
    examples = [_example(item, f"{path}: item {i}", gold) for i, item in items]
    check_ids((example.id for example in examples), path)
    counts: Counter[str] = Counter()
    for example in examples:
        known = example.sentences()
        odd = sum(fact not in known for fact in example.facts or ())
        counts["supporting facts that name no sentence"] += odd
        counts["paragraphs without sentences"] += sum(not x.sentences for x in example.paragraphs)
    return examples, {reason: n for reason, n in counts.items() if n}


def _example(item: dict, where: str, gold: bool) -> HotpotQaExample:
    name = need(item, "_id", str, where)
    where = f"{where} ({shortened(name)})"
    context = need(item, "context", list, where)
    if not context:
        raise InputError(f"{where}: 'context' is empty; expected at least one paragraph")
    facts = answer = None
    if gold or "answer" in item:
        answer = need(item, "answer", str, where)
    if gold or "supporting_facts" in item:
        facts = tuple(_fact(fact, where) for fact in need(item, "supporting_facts", list, where))
    paragraphs = tuple(_paragraph(paragraph, where) for paragraph in context)
    return HotpotQaExample(name, need(item, "question", str, where), paragraphs, answer, facts)


def _paragraph(value: object, where: str) -> Paragraph:
    match value:
        case [str() as title, [*sentences]] if all(isinstance(each, str) for each in sentences):
            return Paragraph(title, tuple(sentences))
    raise InputError(f"{where}: 'context' holds {_shown(value)}, expected [title, [sentence, …]]")


def _fact(value: object, where: str) -> Fact:
    match value:
        case [str() as title, int() as sentence] if not isinstance(sentence, bool):
            return title, sentence
    raise InputError(
        f"{where}: 'supporting_facts' holds {_shown(value)}, expected [title, sentence number]"
    )


def _shown(value: object) -> str:
    return shortened(repr(value)) if isinstance(value, list) else type_in_words(value)


TITLE, PARAGRAPH, OTHER = -1, -2, -3
"""Number, among the sentences of its paragraph, of a title, of a paragraph, and of what is in none."""
NOWHERE = -1
"""Paragraph of a unit that is in none."""


@dataclass(frozen=True)
class HotpotQaOptions:
    """How HotpotQA is read, trained on and decoded."""

    max_tokens: Annotated[int, Range(4)] = 4096
    """Longest sequence in tokens: one question with its paragraphs; whole sentences that do not fit are left out."""
    max_global_tokens: Positive = 256
    """Most global tokens: of one question with its paragraphs; whole sentences that do not fit are left out. Read
    with attention etc."""
    max_question_tokens: Positive = 128
    """Tokens that are kept of a question."""
    top_spans: Positive = 50
    """Best starts and best ends whose pairs can become the answer: of the whole input."""
    max_answer_length: Positive = 30
    """Longest answer in `answer_unit`."""
    answer_unit: Literal["words", "pieces"] = "words"
    """What `max_answer_length` counts: 'words' between spaces, as in the paper, or 'pieces', as in its
    code."""
    fact_threshold: Share = 0.5
    """Probability from which a sentence is a supporting fact."""
    search_threshold: bool = False
    """Take the threshold among 0, 0.1, … 1 with the best joint F1 instead, which needs the gold
    answers of the scored examples; the metrics name the threshold."""

    def __post_init__(self) -> None:
        check_fields(self, "options")


class HotpotQaFeatures:
    """A row that grows, with marks or as both streams of BigBird-ETC."""

    # units: paragraph, number there and position of each: of its mark, or of its global token.
    # offsets: half-open characters of each token in the text of its unit.

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

    def row(self, number: int, arrays: dict[str, NDArray]) -> TextFeatures:
        if self.streams is None:
            return TextFeatures(np.array(self.ids, np.int32), number, arrays=arrays)
        return self.streams.row(number, arrays)


def encoded(tokenizer: Any, text: str) -> tuple:
    """Return ids, starts and ends; some vocabularies know no white space but the space."""
    return tokenizer.encode_with_offsets(re.sub(r"\s", " ", text))


def block_features(
    example: HotpotQaExample, tokenizer: Any, options: HotpotQaOptions, counts: Counter[str]
) -> HotpotQaFeatures:
    """Return `[CLS] [q] question [/q]`, then `<t> title </t>` and `sentence [s]` for each."""
    mark = tokenizer.marker_id
    question = _question(example, tokenizer, options, options.max_tokens - 3, counts)
    features = HotpotQaFeatures()
    features.ids += [tokenizer.cls_id, mark("[q]"), *question, mark("[/q]")]
    features.pad()
    for p, paragraph in enumerate(example.paragraphs):
        title = encoded(tokenizer, paragraph.title)
        if len(features.ids) + len(title[0]) + 2 > options.max_tokens:
            _count_lost(counts, paragraph)
            continue
        features.ids.append(mark("<t>"))
        features.pad()
        features.add_text(title)
        features.units.append((p, TITLE, len(features.ids) - len(title[0]) - 1))
        features.ids.append(mark("</t>"))
        features.pad()
        for s, sentence in enumerate(paragraph.sentences):
            text = encoded(tokenizer, sentence)
            if len(features.ids) + len(text[0]) + 1 > options.max_tokens:
                counts["sentences that do not fit"] += 1
                continue
            features.add_text(text)
            features.units.append((p, s, len(features.ids)))
            features.ids.append(mark("[s]"))
            features.pad()
    return features


def stream_features(
    example: HotpotQaExample, tokenizer: Any, options: HotpotQaOptions, counts: Counter[str]
) -> HotpotQaFeatures:
    """Return `[CLS] question`, then title and sentences of each paragraph, without marks."""
    # Global tokens: [CLS], which reads everything, then one for each token of the question, each
    # paragraph, title and sentence; each is a unit, at its own position. A token belongs to its
    # title or sentence and to its paragraph. [CLS], the question and each paragraph are parts of
    # their own (ETC, generate_tf_examples_lib.py).
    streams = TwoStreams()
    features = HotpotQaFeatures(streams)
    room = min(options.max_tokens, options.max_global_tokens) - 1
    question = _question(example, tokenizer, options, room, counts)
    streams.add_tokens([tokenizer.cls_id], SENTENCE_SEGMENT, [streams.add_global(FIRST, free=True)])
    streams.cut()
    streams.add_each(question, QUESTION_SEGMENT, QUESTION)
    features.units += [(NOWHERE, OTHER, position) for position in range(len(streams.types))]
    features.pad()
    for p, paragraph in enumerate(example.paragraphs):
        title = encoded(tokenizer, paragraph.title)
        if not _fits(streams, title, options, more=1):
            _count_lost(counts, paragraph)
            continue
        streams.cut()
        whole = streams.add_global(PARAGRAPH_TYPE)
        features.units.append((p, PARAGRAPH, whole))
        parts = [(TITLE, TITLE_SEGMENT, title)]
        parts += [
            (s, SENTENCE_SEGMENT, encoded(tokenizer, sentence))
            for s, sentence in enumerate(paragraph.sentences)
        ]
        for number, segment, text in parts:
            if not _fits(streams, text, options):
                counts["sentences that do not fit"] += 1
                continue
            own = streams.add_global(SENTENCE)
            streams.add_tokens(text[0], segment, [own, whole])
            features.add_text(text)
            features.units.append((p, number, own))
    return features


def _question(
    example: HotpotQaExample,
    tokenizer: Any,
    options: HotpotQaOptions,
    room: int,
    counts: Counter[str],
) -> list[int]:
    question = encoded(tokenizer, example.question)[0].tolist()
    room = min(options.max_question_tokens, room)
    counts["questions cut"] += len(question) > room
    return question[:room]


def _fits(streams: TwoStreams, text: tuple, options: HotpotQaOptions, more: int = 0) -> bool:
    """Return whether a text with its global token, and so many more, has room."""
    num_tokens = len(streams.ids) + len(text[0])
    num_global = len(streams.types) + 1 + more
    return num_tokens <= options.max_tokens and num_global <= options.max_global_tokens


def _count_lost(counts: Counter[str], paragraph: Paragraph) -> None:
    counts["titles that do not fit"] += 1
    counts["sentences that do not fit"] += len(paragraph.sentences)


# T tokens, U units: titles and sentences, and in the form of BigBird-ETC every global token

SPAN, YES, NO = range(3)
UNKNOWN = -1
"""An unknown target, which adds nothing to the loss."""


def hotpotqa_rows(
    examples: Sequence[HotpotQaExample],
    tokenizer: Any,
    options: HotpotQaOptions,
    *,
    training: bool,
    two_streams: bool = False,
) -> TextSet:
    """Make one row per example, as `block_features` or, for BigBird-ETC, `stream_features`."""
    # units (U, 3): paragraph, number there, place. labels (U,): 1 for supporting sentences and the
    # titles and paragraphs above them. targets (3,): type of answer, its first and last token,
    # [CLS] for yes and no. unit_of_token (T,), -1 for none; offsets (T, 2): half-open characters in
    # the text of the unit.
    features_of = stream_features if two_streams else block_features
    counts: Counter[str] = Counter()
    rows = []
    for number, example in enumerate(examples):
        features = features_of(example, tokenizer, options, counts)
        labels, targets = _gold(example, features)
        if training and not labels.any():
            counts["without a supporting fact in the row, not trained on"] += 1
            continue
        if training and targets[0] == UNKNOWN:
            counts["answer not in the evidence, not trained on"] += 1
            continue
        arrays = {"units": np.array(features.units, np.int32).reshape(-1, 3), "labels": labels}
        arrays["targets"] = targets
        if not training:
            arrays["unit_of_token"] = np.array(features.unit_of_token, np.int16)
            arrays["offsets"] = np.array(features.offsets, np.int32)
        rows.append(features.row(number, arrays))
    return TextSet(list(examples), rows, {reason: n for reason, n in counts.items() if n})


def unit_text(example: HotpotQaExample, unit: Sequence[int]) -> str:
    """Return the title or sentence that a line of `units` names, as the file has it; '' for another unit."""
    if unit[1] < TITLE:
        return ""
    paragraph = example.paragraphs[int(unit[0])]
    return paragraph.title if unit[1] == TITLE else paragraph.sentences[int(unit[1])]


def _gold(
    example: HotpotQaExample, features: HotpotQaFeatures
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    unknown = np.full(3, UNKNOWN, np.int64)
    if example.facts is None:
        return np.full(len(features.units), UNKNOWN, np.int8), unknown
    facts = set(example.facts)
    supporting = {
        (p, s) for p, s, _ in features.units if s >= 0 and (example.paragraphs[p].title, s) in facts
    }
    above = {p for p, _ in supporting}
    labels = np.zeros(len(features.units), np.int8)
    for unit, (p, s, _) in enumerate(features.units):
        labels[unit] = (p, s) in supporting or (s in (TITLE, PARAGRAPH) and p in above)
    if example.answer in ("yes", "no"):
        return labels, np.array([YES if example.answer == "yes" else NO, 0, 0])
    span = _find_answer(example, features, labels) if example.answer else None
    return labels, unknown if span is None else np.array([SPAN, *span])


def _find_answer(
    example: HotpotQaExample, features: HotpotQaFeatures, labels: NDArray[np.int8]
) -> tuple[int, int] | None:
    """Return first and last token of the answer in a labelled unit; whole words come first."""
    offsets, unit_of_token = np.array(features.offsets), np.array(features.unit_of_token)
    for whole_words in (True, False):
        for unit in np.flatnonzero(labels):
            text = unit_text(example, features.units[unit])
            tokens = np.flatnonzero(unit_of_token == unit)
            for start, end in find_text(text, example.answer, whole_words=whole_words):
                first_last = tokens_of(*offsets[tokens].T, start, end)
                if first_last:
                    return int(tokens[first_last[0]]), int(tokens[first_last[1]])
    return None


TASK = TaskDescription(
    name="hotpotqa",
    about="HotpotQA (distractor): answer and supporting facts",
    options=HotpotQaOptions,
    head="dna_bigbird.models.text_config:FactsHead",
    model="dna_bigbird.text.question_models:FactsModel",
    sets=(
        SetDescription(
            "hotpotqa",
            ("hotpotqa/hotpot_train_v1.1.json", "hotpotqa/hotpot_dev_distractor_v1.json"),
        ),
    ),
    train_data="the official files (hotpot_train_v1.1.json, hotpot_dev_distractor_v1.json), plain or gzip",
    recipe="config/text/hotpotqa.yaml",
    monitor="joint F1",
    old_command="train-hotpotqa",
    synthetic=(
        SyntheticText(
            "hotpotqa",
            "dna_bigbird.text.made.writing:hotpotqa",
            "sentences that begin with `truly` are the facts; the answer follows `called`; `indeed` is yes, `never` no",
        ),
    ),
    published=(
        table_2(
            "HotpotQA: F1 of answer, supporting facts and both.",
            "hotpotqa",
            {"HotpotQA Ans": "f1", "Sup": "sp_f1", "Joint": "joint_f1"},
            "73.5 83.4 63.5, 74.3 84.4 64.4, 75.7 86.8 67.7, 75.5 87.1 67.8",
        ),
        table_3(
            ("HotpotQA answer", "HotpotQA supporting facts", "HotpotQA joint"),
            """
            HGN | 82.2 | 88.5 | 74.2
            GSAN | 81.6 | 88.7 | 73.9
            Longformer | 81.2 | 88.3 | 73.2
            BigBird-ETC | 81.2 | 89.1 | 73.6
            """,
        ),
    ),
)
