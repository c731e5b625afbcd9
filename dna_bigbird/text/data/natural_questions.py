"""Natural Questions: the task, its settings, and windows of pages (specification §3.2; ETC's preproc_nq_lib.py)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.settings import Count, Positive, Share
from dna_bigbird.text.data.questions import (
    FILE_SPLITS,
    check_room,
    check_stride,
    front_segments,
    question_and_parts,
    question_front,
    table_2,
    table_3,
)
from dna_bigbird.text.data.reading import check_ids, need, read_json_lines, type_in_words
from dna_bigbird.text.data.rows import TextFeatures, TextSet, recorded

# Natural Questions: whole Wikipedia pages with long, short and yes/no answers (Kwiatkowski et al. 2019).
#
# Both published forms give the same examples, bytes apart: the native one (`document_tokens`) and the
# simplified one (`document_text`, tokens between single spaces, no bytes).

YES_NO = ("YES", "NO", "NONE")
_MAX_OFFSET = 2**31 - 1
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(_[^ ]*)?>")


@recorded("nq-span", "dna_bigbird.datasets.text.natural_questions_pages:PageSpan")
class PageSpan(NamedTuple):
    """Half-open, in tokens of the page and bytes of its HTML; all -1: no span; bytes -1: not known."""

    start: int = -1
    end: int = -1
    start_byte: int = -1
    end_byte: int = -1


@recorded("nq-annotation", "dna_bigbird.datasets.text.natural_questions_pages:Annotation")
class Annotation(NamedTuple):
    """What one annotator marked."""

    long: PageSpan
    short: tuple[PageSpan, ...]
    yes_no: str
    """'yes', 'no' or 'none'."""


@recorded("nq-page", "dna_bigbird.datasets.text.natural_questions_pages:NqExample")
@dataclass(frozen=True)
class NqExample:
    """A question and a page."""

    id: int | str
    question: str
    text: str
    """The page's tokens between single spaces; a space in a token is an underscore."""
    is_html: bytes
    """One byte per token: 1 for a tag."""
    candidates: tuple[PageSpan, ...]
    """Where a long answer may be."""
    is_top_level: tuple[bool, ...]
    """Of every candidate: it lies in no other one."""
    annotations: tuple[Annotation, ...] | None
    """None: no gold."""
    token_bytes: NDArray[np.int32] | None = field(default=None, compare=False)
    """(tokens, 2), half-open; None in the simplified form."""

    @property
    def tokens(self) -> list[str]:
        return self.text.split(" ")


def iter_natural_questions(path: Path, split: str, *, gold: bool = True) -> Iterator[NqExample]:
    """Yield pages of JSON lines, or of nq-train-*, nq-dev-* or nq-test-*.jsonl[.gz] in a folder."""
    ids = []
    for file in _files(Path(path), split):
        for number, item in read_json_lines(file):
            example = _example(item, f"{file}:{number}", gold)
            ids.append(example.id)
            yield example
    check_ids(ids, path)


def _files(path: Path, split: str) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    pattern = re.compile(rf"(.*-)?nq-{FILE_SPLITS[split]}\b.*\.jsonl(\.gz)?")
    files = sorted(file for file in path.rglob("*") if pattern.fullmatch(file.name))
    if not files:
        raise InputError(f"{path}: no file named nq-{FILE_SPLITS[split]}-*.jsonl.gz in it")
    native = [file for file in files if "simplified" not in file.name]
    yield from native or files


def _example(item: dict, where: str, gold: bool) -> NqExample:
    name = need(item, "example_id", (int, str), where)
    where = f"{where} ({name})"
    if "document_tokens" in item:
        words, is_html, token_bytes = _native_tokens(item, where)
    else:
        words = need(item, "document_text", str, where).split(" ")
        is_html, token_bytes = bytes(map(is_tag, words)), None
    candidates = _objects(item, "long_answer_candidates", where)
    annotations = _objects(item, "annotations", where) if gold or "annotations" in item else []
    if gold and not annotations:
        raise InputError(f"{where}: 'annotations' is empty; expected at least one")
    spans = tuple(
        _span(span, f"{where}: candidate {i}", len(words)) for i, span in enumerate(candidates)
    )
    if PageSpan() in spans:
        raise InputError(f"{where}: a candidate without tokens; expected a span of the page")
    return NqExample(
        id=name,
        question=need(item, "question_text", str, where),
        text=" ".join(words),
        is_html=is_html,
        candidates=spans,
        is_top_level=tuple(bool(need(span, "top_level", bool, where)) for span in candidates),
        annotations=tuple(_annotation(each, where, len(words)) for each in annotations) or None,
        token_bytes=token_bytes,
    )


def is_tag(word: str) -> bool:
    """Return True if a token of the simplified form is HTML."""
    return bool(_TAG.fullmatch(word))


def _native_tokens(item: dict, where: str) -> tuple[list[str], bytes, NDArray[np.int32]]:
    tokens = _objects(item, "document_tokens", where)
    words = [word.replace(" ", "_") for word in _column(tokens, "token", str, where)]
    is_html = bytes(_column(tokens, "html_token", bool, where))
    offsets = [_column(tokens, key, int, where, -1) for key in ("start_byte", "end_byte")]
    if not all(-1 <= offset <= _MAX_OFFSET for column in offsets for offset in column):
        raise InputError(
            f"{where}: a token with 'start_byte' or 'end_byte' beyond -1 to {_MAX_OFFSET:,}"
        )
    return words, is_html, np.array(offsets, dtype=np.int32).T.copy()


def _column(
    items: list[dict], key: str, expected: type, where: str, missing: object = None
) -> list:
    """Return `need` of every item; it is asked only where something is wrong, as it takes long."""
    values = [item.get(key, missing) for item in items]
    if not set(map(type, values)) <= {expected}:
        absent = {} if missing is None else {key: missing}
        values = [need(absent | item, key, expected, where) for item in items]
    return values


def _objects(item: dict, key: str, where: str) -> list[dict]:
    values = need(item, key, list, where)
    for i, value in enumerate(values):
        if not isinstance(value, dict):
            raise InputError(f"{where}: {key!r} {i} is {type_in_words(value)}, expected an object")
    return values


def _span(item: dict, where: str, length: int) -> PageSpan:
    start, end = need(item, "start_token", int, where), need(item, "end_token", int, where)
    names = ("start_byte", "end_byte")
    first, last = (need(item, key, int, where) if key in item else -1 for key in names)
    if (start, end) == (-1, -1):
        return PageSpan()
    if not 0 <= start < end <= length:
        raise InputError(
            f"{where}: tokens {start} to {end}, expected a span within the {length} of the page"
        )
    return PageSpan(start, end, first, last)


def _annotation(item: dict, where: str, length: int) -> Annotation:
    yes_no = need(item, "yes_no_answer", str, where)
    if yes_no.upper() not in YES_NO:
        raise InputError(f"{where}: 'yes_no_answer' is {yes_no!r}, expected YES, NO or NONE")
    spans = _objects(item, "short_answers", where)
    shorts = [_span(span, f"{where}: short answer", length) for span in spans]
    long = _span(need(item, "long_answer", dict, where), f"{where}: long answer", length)
    return Annotation(long, tuple(span for span in shorts if span.start >= 0), yes_no.lower())


@dataclass(frozen=True)
class NaturalQuestionsOptions:
    """How Natural Questions is read, trained on, decoded and scored."""

    max_tokens: Positive = 4096
    """Longest sequence in tokens: one window, the question included."""
    max_global_tokens: Positive = 230
    """Most global tokens: of one window; the tokens of further candidates belong to the last one. Read with
    attention etc."""
    max_question_tokens: Positive = 32
    """Tokens that are kept of a question."""
    stride: Positive = 2048
    """Step between windows: tokens of the document from the start of a window to that of the next one."""
    null_rate: Share = 1.0
    """Share of the training windows without an answer that is kept, drawn at random."""
    unanswerable_rate: Share = 0.0
    """The same for the windows of questions without any answer; 0: four times `null_rate`, at most 1."""
    null_seed: Count = 0
    """Seed of both draws."""
    top: Positive = 50
    """Best places of each head that are kept of a window; a document pools those of its windows."""
    max_short: Positive = 38
    """A short answer is shorter than this, in `short_unit`; the ETC code has 32."""
    short_unit: Literal["words", "pieces"] = "words"
    """What `max_short` counts: 'words', the tokens of the page, or 'pieces' of the vocabulary."""
    score: Literal["difference", "ratio"] = "difference"
    """Score: of a place, its logit minus that of the first token of its window ('difference'), or
    divided by it ('ratio'), as the ETC code has it, whose sign may turn."""
    yes_no: Literal["window", "last"] = "window"
    """Whose type of answer can replace the short answer by yes or no: that of the window of the long
    answer, whose score it gets then ('window'), or that of the last one, with the score of the short
    span, as in the ETC code ('last')."""
    min_annotators: Positive = 2
    """Annotators who must have marked an answer for there to be one: 2 of 5 in the official metric; 1
    for training files, which have one annotation."""

    def __post_init__(self) -> None:
        check_fields(self, "options")
        check_room(self, max_tokens=4, max_global_tokens=3)
        check_stride(self, "document")


# P pieces of a page, T tokens of a row

NULL, YES, NO, LONG, SHORT = range(5)
UNKNOWN = -100
"""Target of a row without gold."""


class PagePieces(NamedTuple):
    """The part of a page that is read: what lies in top-level candidates. All of length P."""

    ids: NDArray[np.int32]
    candidate: NDArray[np.int32]
    """Which of the candidates each piece lies in."""
    token: NDArray[np.int32]
    """Token of the page each piece belongs to."""


def page_pieces(example: NqExample, tokenizer: Any) -> PagePieces:
    """Tokenize the top-level candidates; a tag becomes the mark <open> or <close>."""
    # Words between two tags are tokenized together, as text with single spaces.
    words, is_html = example.tokens, np.frombuffer(example.is_html, np.uint8)
    ids, candidates, tokens = [], [], []
    marks = {True: tokenizer.marker_id("<close>"), False: tokenizer.marker_id("<open>")}
    for number, span in enumerate(example.candidates):
        if not example.is_top_level[number]:
            continue
        token = span.start
        while token < span.end:
            stop = token + 1
            if is_html[token]:
                pieces = np.array([marks[words[token].startswith("</")]]), np.array([token])
            else:
                while stop < span.end and not is_html[stop]:
                    stop += 1
                pieces = _run(words[token:stop], token, tokenizer)
            ids.append(pieces[0])
            tokens.append(pieces[1])
            candidates.append(np.full(len(pieces[0]), number))
            token = stop
    return PagePieces(*(_joined(parts) for parts in (ids, candidates, tokens)))


def _run(
    words: list[str], first: int, tokenizer: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pieces of words, and the token of the page each belongs to."""
    ids, starts, _ = tokenizer.encode_with_offsets(" ".join(words))
    begins = np.cumsum([0] + [len(word) + 1 for word in words[:-1]])
    return ids, first + np.searchsorted(begins, starts, side="right") - 1


def _joined(parts: list[NDArray]) -> NDArray[np.int32]:
    return np.concatenate([np.zeros(0, np.int32), *parts]).astype(np.int32)


def natural_questions_rows(
    examples: Sequence[NqExample],
    tokenizer: Any,
    options: NaturalQuestionsOptions,
    *,
    training: bool,
    two_streams: bool = False,
    first_example: int = 0,
) -> TextSet:
    """Make the windows `[CLS] question [SEP] part of the page [SEP]` of every page."""
    # token (T,): of the page, -1 outside the document. first (1,): piece of the page the window
    # begins with. targets (5,): first and last token of short and long answer, and the type.
    counts: Counter[str] = Counter()
    rows = []
    for number, example in enumerate(examples):
        pieces = page_pieces(example, tokenizer)
        if not len(pieces.ids):
            counts["pages without a top-level candidate"] += 1
            if training:
                continue
        before = question_front(example.question, tokenizer, options.max_question_tokens, counts)
        windows = _windows(example, number, pieces, before, tokenizer.sep_id, options)
        if two_streams:
            for row in windows:
                first = int(row.arrays["first"][0])
                inside = slice(first, first + len(row.token_ids) - len(before) - 1)
                parts = [*pieces.candidate[inside].tolist(), -1]
                row.arrays.update(question_and_parts(len(before), parts, options.max_global_tokens))
        if example.annotations:
            expected = answer_type(example.annotations[0])
            shown = any(row.arrays["targets"][4] == expected for row in windows)
            counts["pages whose answer no window shows"] += not shown
        if training:
            everything, windows = windows, _drawn(windows, first_example + number, example, options)
            counts["null windows left out"] += len(everything) - len(windows)
        rows += windows
    return TextSet(list(examples), rows, {reason: n for reason, n in counts.items() if n})


def _windows(
    example: NqExample,
    number: int,
    pieces: PagePieces,
    before: list[int],
    sep_id: int,
    options: NaturalQuestionsOptions,
) -> list[TextFeatures]:
    room = options.max_tokens - len(before) - 1
    rows = []
    for first in range(0, max(len(pieces.ids) - room, 0) + options.stride, options.stride):
        here = slice(first, first + room)
        ids = np.concatenate([before, pieces.ids[here], [sep_id]]).astype(np.int32)
        token = np.full(len(ids), -1, dtype=np.int32)
        token[len(before) : -1] = pieces.token[here]
        targets = np.full(5, UNKNOWN)
        if example.annotations:
            targets = window_targets(example.annotations[0], token)
        arrays = {"token": token, "first": np.array([first]), "targets": targets}
        rows.append(TextFeatures(ids, number, front_segments(len(before), len(ids)), arrays))
    return rows


def answer_type(annotation: Annotation) -> int:
    """Return `YES`, `NO`, `SHORT`, `LONG` or `NULL`, the first of them that holds."""
    if annotation.yes_no != "none":
        return YES if annotation.yes_no == "yes" else NO
    if annotation.short:
        return SHORT
    return LONG if annotation.long.start >= 0 else NULL


def window_targets(annotation: Annotation, token_T: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return first and last position of the short and of the long answer, and the type."""
    # Several short spans are one from the first to the last. A place outside the window is 0, that
    # of [CLS]. An answer with neither end in the window is null there; yes and no keep their type.
    long = annotation.long
    shorts = annotation.short
    short = (-1, -1)
    if shorts:
        short = (min(span.start for span in shorts), max(span.end for span in shorts))
    positions = []
    for start, end in (short, (long.start, long.end)):
        for token, which in ((start, 0), (end - 1, -1)):
            matches = np.flatnonzero(token_T == token) if token >= 0 else []
            positions.append(int(matches[which]) if len(matches) else 0)
    type_ = answer_type(annotation)
    seen = {SHORT: any(positions[:2]), LONG: any(positions[2:])}
    return np.array([*positions, type_ if seen.get(type_, True) else NULL], dtype=np.int64)


def _drawn(
    windows: list[TextFeatures], number: int, example: NqExample, options: NaturalQuestionsOptions
) -> list[TextFeatures]:
    """Return the windows to train on: of null ones a share, which only the seed and the page decide."""
    unanswerable = answer_type(example.annotations[0]) == NULL if example.annotations else True
    rate = options.null_rate
    if unanswerable:
        rate = options.unanswerable_rate or min(1.0, 4 * options.null_rate)
    chances = np.random.default_rng([options.null_seed, number]).random(len(windows))
    return [
        row
        for row, chance in zip(windows, chances, strict=True)
        if row.arrays["targets"][4] != NULL or chance < rate
    ]


TASK = TaskDescription(
    name="natural-questions",
    about="Natural Questions: long and short answers, yes and no",
    options=NaturalQuestionsOptions,
    head="dna_bigbird.models.text_config:LongAnswerHead",
    model="dna_bigbird.text.question_models:LongAnswerModel",
    sets=(
        SetDescription(
            "natural-questions",
            ("natural-questions/nq-train-00.jsonl.gz", "natural-questions/nq-dev-00.jsonl.gz"),
        ),
    ),
    train_data="pages, native or simplified: JSON lines, plain or gzip, or a folder with nq-train-* and nq-dev-*.jsonl.gz",
    recipe="config/text/natural-questions.yaml",
    monitor="mean F1 of long and short answers",
    old_command="train-nq",
    synthetic=(
        SyntheticText(
            "natural-questions",
            "dna_bigbird.text.made.pages:natural_questions",
            "the paragraph with `truly` is the long answer, the word after `called` the short one; `indeed` is yes, `never` no; an eighth of the pages has none",
        ),
    ),
    published=(
        table_2(
            "Natural Questions: F1 of long and short answers.",
            "natural-questions",
            {"NQ LA": "long_f1", "NQ SA": "short_f1"},
            "– –, – –, 70.8 53.3, 73.9 54.9",
        ),
        table_3(
            ("Natural Questions long", "Natural Questions short"),
            """
            ReflectionNet | 77.1 | 64.1
            RikiNet-v2 | 76.1 | 61.3
            BigBird-ETC | 77.8 | 57.9
            """,
        ),
    ),
)
