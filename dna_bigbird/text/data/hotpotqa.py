"""HotpotQA, distractor setting: the task, its settings and rows (specification §3.1)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Positive, Range, Share
from dna_bigbird.metrics.published_table import Column, PublishedTable, cells_by_system
from dna_bigbird.text.data.hotpotqa_drafts import (
    PARAGRAPH,
    TITLE,
    Draft,
    Limits,
    draft_blocks,
    draft_streams,
)
from dna_bigbird.text.data.hotpotqa_questions import HotpotQaExample
from dna_bigbird.text.data.rows import TextSet, find_text, tokens_of

if TYPE_CHECKING:
    from dna_bigbird.corpus.text_tokenizer import TextTokenizer


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


# T tokens, U units: titles and sentences, and in the form of BigBird-ETC every global token

SPAN, YES, NO = range(3)
UNKNOWN = -1
"""An unknown target, which adds nothing to the loss."""


def hotpotqa_rows(
    examples: Sequence[HotpotQaExample],
    tokenizer: "TextTokenizer",
    options: HotpotQaOptions,
    *,
    training: bool,
    two_streams: bool = False,
) -> TextSet:
    """Make one row per example, as `draft_blocks` or for BigBird-ETC as `draft_streams` has it.

    A sentence that does not fit is left out, a later one that does is not; a paragraph whose title
    does not fit is left out.

    Arrays of a row: `units` (U, 3), of every title and sentence its paragraph, its number there
    (`TITLE`) and its place; `labels` (U,), 1 for supporting sentences and the titles (and paragraphs)
    above them, and `targets` (3,), the type of answer, its first and last token ([CLS]
    for yes and no), all `UNKNOWN` without gold. Unless for training also `unit_of_token`
    (T,), -1 for tokens of none, and the `offsets` (T, 2) of tokens in the text of their unit,
    half-open, in characters.

    Args:
        training: Leave out examples none of whose supporting facts is in the row, or whose answer
            is not in them, nor in the titles above them.
        two_streams: With both streams of BigBird-ETC (`TwoStreams.arrays`).
    """
    draft_of = draft_streams if two_streams else draft_blocks
    limits = Limits(options.max_tokens, options.max_global_tokens, options.max_question_tokens)
    counts: Counter[str] = Counter()
    rows = []
    for number, example in enumerate(examples):
        draft = draft_of(example, tokenizer, limits, counts)
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
        rows.append(draft.row(number, arrays))
    return TextSet(list(examples), rows, {reason: n for reason, n in counts.items() if n})


def unit_text(example: HotpotQaExample, unit: Sequence[int]) -> str:
    """Return the title or sentence that a line of `units` names, as the file has it; '' for another unit."""
    if unit[1] < TITLE:
        return ""
    paragraph = example.paragraphs[int(unit[0])]
    return paragraph.title if unit[1] == TITLE else paragraph.sentences[int(unit[1])]


def _gold(example: HotpotQaExample, draft: Draft) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return `labels` and `targets`."""
    unknown = np.full(3, UNKNOWN, np.int64)
    if example.facts is None:
        return np.full(len(draft.units), UNKNOWN, np.int8), unknown
    facts = set(example.facts)
    supporting = {
        (p, s) for p, s, _ in draft.units if s >= 0 and (example.paragraphs[p].title, s) in facts
    }
    above = {p for p, _ in supporting}
    labels = np.array(
        [
            (p, s) in supporting or (s in (TITLE, PARAGRAPH) and p in above)
            for p, s, _ in draft.units
        ],
        np.int8,
    )
    if example.answer in ("yes", "no"):
        return labels, np.array([YES if example.answer == "yes" else NO, 0, 0])
    span = _find_answer(example, draft, labels) if example.answer else None
    return labels, unknown if span is None else np.array([SPAN, *span])


def _find_answer(
    example: HotpotQaExample, draft: Draft, labels: NDArray[np.int8]
) -> tuple[int, int] | None:
    """Return first and last token of the answer that ends first among the labelled units.

    A match that is not part of a longer word comes before all others.
    """
    offsets, unit_of_token = np.array(draft.offsets), np.array(draft.unit_of_token)
    for whole_words in (True, False):
        for unit in np.flatnonzero(labels):
            text = unit_text(example, draft.units[unit])
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
        PublishedTable(
            2,
            "Question answering, development sets, base size, in per cent",
            "HotpotQA: F1 of answer, supporting facts and both.",
            (
                Column("HotpotQA Ans", "hotpotqa", ("f1",)),
                Column("Sup", "hotpotqa", ("sp_f1",)),
                Column("Joint", "hotpotqa", ("joint_f1",)),
            ),
            cells_by_system("""
                RoBERTa | 73.5 | 83.4 | 63.5
                Longformer | 74.3 | 84.4 | 64.4
                BigBird-ITC | 75.7 | 86.8 | 67.7
                BigBird-ETC | 75.5 | 87.1 | 67.8
            """),
        ),
    ),
)
