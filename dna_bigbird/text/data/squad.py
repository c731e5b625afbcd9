"""SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018): the task, its settings, files, and windows (run_squad.py of Devlin et al.)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.settings import Positive, Share
from dna_bigbird.metrics.published_table import Column, PublishedTable, cells_by_system
from dna_bigbird.text.data.questions import (
    FILE_SPLITS,
    check_room,
    check_stride,
    front_segments,
    question_front,
)
from dna_bigbird.text.data.reading import check_ids, check_items, need, read_json_value
from dna_bigbird.text.data.rows import TextFeatures, TextSet, recorded, tokens_of


@recorded("squad-answer", "dna_bigbird.datasets.text.squad_questions:SquadAnswer")
class SquadAnswer(NamedTuple):
    """One annotator's answer."""

    text: str
    start: int
    """Its first character in the paragraph, from 0."""


@recorded("squad", "dna_bigbird.datasets.text.squad_questions:SquadExample")
@dataclass(frozen=True)
class SquadExample:
    """One question."""

    id: str
    question: str
    paragraph: str
    answers: tuple[SquadAnswer, ...] | None
    """Empty: the paragraph does not answer the question; None: no gold."""


def read_squad(path: Path, split: str, *, version: str, gold: bool = True) -> list[SquadExample]:
    """Read a file, plain or gzip, or a folder with train-v1.1.json, dev-v1.1.json or those of v2.0."""
    if path.is_dir():
        path = _file_in(path, f"{FILE_SPLITS[split]}-v{version}.json")
    content = read_json_value(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: expected an object with 'data', the layout of SQuAD's files")
    examples = []
    for in_article, article in _objects(content, "data", f"{path}", "article"):
        for in_paragraph, paragraph in _objects(article, "paragraphs", in_article, "paragraph"):
            text = need(paragraph, "context", str, in_paragraph)
            if not text.strip():
                raise InputError(f"{in_paragraph}: 'context' is empty; expected a text")
            questions = _objects(paragraph, "qas", in_paragraph, "question")
            examples += [_example(item, where, text, version, gold) for where, item in questions]
    check_ids((example.id for example in examples), path)
    return examples


def _file_in(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise InputError(f"{folder}: no {name} in it; name the file, or a folder that has it")


def _objects(holder: dict, key: str, where: str, name: str) -> list[tuple[str, dict]]:
    """Return the objects of a list, each with its location in words."""
    items = check_items(need(holder, key, list, where), where)
    return [(f"{where}: {name} {number}", item) for number, item in enumerate(items)]


def _example(item: dict, where: str, text: str, version: str, gold: bool) -> SquadExample:
    name = need(item, "id", str, where)
    where = f"{where} ({shortened(name)})"
    answers = None
    if gold or "answers" in item:
        listed = check_items(need(item, "answers", list, where), where)
        answers = tuple(
            SquadAnswer(need(answer, "text", str, where), need(answer, "answer_start", int, where))
            for answer in listed
        )
    if gold:
        _check_answers(item, answers or (), where, version)
    return SquadExample(name, need(item, "question", str, where), text, answers)


def _check_answers(item: dict, answers: tuple[SquadAnswer, ...], where: str, version: str) -> None:
    if not answers and version == "1.1":
        raise InputError(
            f"{where}: no answer; only questions of SQuAD 2.0 may be without: --options.set squad2"
        )
    if "is_impossible" in item and need(item, "is_impossible", bool, where) == bool(answers):
        is_impossible = str(item["is_impossible"]).lower()
        raise InputError(
            f"{where}: 'is_impossible' is {is_impossible}, but 'answers' has {len(answers)}"
        )


SquadSet = Literal["squad", "squad2"]
VERSIONS = {"squad": "1.1", "squad2": "2.0"}


@dataclass(frozen=True)
class SquadOptions:
    """How SQuAD is read, trained on and decoded."""

    set: SquadSet = "squad"
    """Name of the set: 'squad' (SQuAD 1.1), or 'squad2' (SQuAD 2.0, with questions without an answer)."""
    max_tokens: Positive = 512
    """Longest sequence in tokens: one window, the question included."""
    max_question_tokens: Positive = 64
    """Tokens that are kept of a question."""
    stride: Positive = 128
    """Step between windows: tokens of the paragraph from the start of a window to that of the next one."""
    max_answer_tokens: Positive = 30
    """Longest answer in tokens."""
    top_spans: Positive = 20
    """Best starts and best ends whose pairs can become the answer: of one window."""
    no_answer_threshold: Share = 0.5
    """Probability of no answer above which the prediction is empty: from 0 to 1. Read with set squad2."""

    def __post_init__(self) -> None:
        check_fields(self, "options")
        check_room(self, max_tokens=4)
        check_stride(self, "paragraph")


# P pieces of a paragraph, T tokens of a row, W windows

UNKNOWN = -100
"""Target of a row without gold."""


class Pieces(NamedTuple):
    """A tokenized paragraph; all of length P."""

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Half-open character offsets."""
    ends: NDArray[np.int64]


def squad_rows(
    examples: Sequence[SquadExample], tokenizer: Any, options: SquadOptions, *, training: bool
) -> TextSet:
    """Make the windows `[CLS] question [SEP] part of the paragraph [SEP]` of every question."""
    # offsets (T, 2): half-open characters of the paragraph, both 0 outside it. is_best_context
    # (T,): no other window shows the token with more context. targets (2,): first and last token of
    # the first answer, both 0 ([CLS]) if the window does not show it as a whole or there is none.
    counts: Counter[str] = Counter()
    rows = []
    pieces, paragraph = None, None
    for number, example in enumerate(examples):
        if pieces is None or example.paragraph != paragraph:
            paragraph = example.paragraph
            pieces = _pieces(paragraph, tokenizer)
        front = question_front(example.question, tokenizer, options.max_question_tokens, counts)
        windows = _windows(number, pieces, front, tokenizer.sep_id, options)
        span = None
        if example.answers:
            span = answer_pieces(example, pieces)
            counts["answers that are not where the file says"] += span is None
        if span is None and example.answers:
            windows = [] if training else windows
        elif example.answers is not None:
            shown = [_set_targets(row, span, len(front)) for row in windows]
            counts["answers that no window shows as a whole"] += span is not None and not any(shown)
        rows += windows
    return TextSet(list(examples), rows, {reason: n for reason, n in counts.items() if n})


def _pieces(paragraph: str, tokenizer: Any) -> Pieces:
    # To the published vocabulary a line end is an unknown letter. One for one: offsets stay.
    spaced = "".join(" " if letter.isspace() else letter for letter in paragraph)
    return Pieces(*tokenizer.encode_with_offsets(spaced))


def answer_pieces(example: SquadExample, pieces: Pieces) -> tuple[int, int] | None:
    """Return the first and the last piece of the first answer; None if it is not where the file says."""
    text, start = example.answers[0]
    end = start + len(text)
    if not 0 <= start < end <= len(example.paragraph) or example.paragraph[start:end] != text:
        return None
    return tokens_of(pieces.starts, pieces.ends, start, end)


def window_starts(length: int, room: int, stride: int) -> list[int]:
    """Return the first piece of every window; the last window is the first one that reaches the end."""
    starts = [0]
    while starts[-1] + room < length:
        starts.append(starts[-1] + stride)
    return starts


def best_contexts(length: int, room: int, stride: int) -> NDArray[np.int64]:
    """Return for each piece the window that shows it with the most context, (P,)."""
    # Context: the pieces before or after it in the window, the fewer of both, plus a hundredth of
    # the window's length; of equal windows the first one counts (run_squad.py).
    firsts_W1 = np.array(window_starts(length, room, stride))[:, None]
    lasts_W1 = np.minimum(firsts_W1 + room, length) - 1
    pieces_P = np.arange(length)
    context_WP = np.minimum(pieces_P - firsts_W1, lasts_W1 - pieces_P)
    scores_WP = context_WP + 0.01 * (lasts_W1 - firsts_W1 + 1)
    return np.where(context_WP >= 0, scores_WP, -np.inf).argmax(axis=0)


def _windows(
    number: int, pieces: Pieces, front: list[int], sep_id: int, options: SquadOptions
) -> list[TextFeatures]:
    room = options.max_tokens - len(front) - 1
    best_P = best_contexts(len(pieces.ids), room, options.stride)
    rows = []
    for window, first in enumerate(window_starts(len(pieces.ids), room, options.stride)):
        here = slice(first, first + room)
        ids = np.concatenate([front, pieces.ids[here], [sep_id]]).astype(np.int32)
        offsets = np.zeros((len(ids), 2), dtype=np.int32)
        offsets[len(front) : -1] = np.stack([pieces.starts[here], pieces.ends[here]], axis=1)
        is_best_context = np.zeros(len(ids), dtype=bool)
        is_best_context[len(front) : -1] = best_P[here] == window
        arrays = {"first": np.array([first]), "offsets": offsets}
        arrays |= {"is_best_context": is_best_context, "targets": np.full(2, UNKNOWN)}
        rows.append(TextFeatures(ids, number, front_segments(len(front), len(ids)), arrays))
    return rows


def _set_targets(row: TextFeatures, span: tuple[int, int] | None, num_front: int) -> bool:
    """Set the targets of a row to those of a span of pieces; return True if it shows the whole span."""
    targets = row.arrays["targets"]
    targets[:] = 0
    if span is None:
        return False
    ends = np.array(span) - row.arrays["first"] + num_front
    if ends[0] < num_front or ends[1] >= len(row.token_ids) - 1:
        return False
    targets[:] = ends
    return True


TASK = TaskDescription(
    name="squad",
    about="SQuAD 1.1 and 2.0: answers in a paragraph",
    options=SquadOptions,
    head="dna_bigbird.models.text_config:SpanHead",
    model="dna_bigbird.text.question_models:SpanModel",
    sets=(
        SetDescription("squad", ("squad/train-v1.1.json", "squad/dev-v1.1.json")),
        SetDescription("squad2", ("squad/train-v2.0.json", "squad/dev-v2.0.json")),
    ),
    train_data="the official JSON (train-v1.1.json, train-v2.0.json), plain or gzip, or a folder that has it",
    recipe="config/text/squad.yaml",
    monitor="F1",
    synthetic=(
        SyntheticText(
            "squad",
            "dna_bigbird.text.made.pages:squad",
            "the word after `called` in the sentence with `truly`; in the files of v2.0 a quarter of the "
            "paragraphs has no such sentence, and no answer",
        ),
    ),
    published=(
        PublishedTable(
            1,
            "Building blocks, 512 tokens, in per cent",
            "SQuAD: F1 of SQuAD 1.1 (the paper names neither version nor metric); SQuAD 2.0 is not in the paper.",
            (Column("SQuAD", "squad", ("f1",)), Column("SQuAD 2.0", "squad2", ("f1",))),
            cells_by_system("""
                BERT-base | 88.5 | –
                Random | 83.0 | –
                Window | 76.4 | –
                Random + Window | 85.1 | –
            """),
        ),
    ),
)
