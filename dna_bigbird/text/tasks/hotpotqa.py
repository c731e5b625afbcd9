"""HotpotQA: loss, decoding and the metric of hotpot_evaluate_v1.py."""

import dataclasses
from collections import namedtuple
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from torch import Tensor, nn

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.batches import pad_right
from dna_bigbird.text.data.hotpotqa import (
    NO,
    SPAN,
    TASK,
    TITLE,
    UNKNOWN,
    YES,
    Fact,
    HotpotQaExample,
    HotpotQaOptions,
    hotpotqa_rows,
    read_hotpotqa,
    unit_text,
)
from dna_bigbird.text.data.rows import NUM_SEGMENTS, TextFeatures, TextSet
from dna_bigbird.text.spans import Span, best_span, normalise_answer, overlap
from dna_bigbird.text.tasks.task import (
    COMMON_FIELDS,
    Outputs,
    TextTask,
    common_fields,
    json_file,
    known_cross_entropy,
    stacked,
)
from dna_bigbird.text.text_baselines import most_alike

# Definitions of the official script (hotpot_evaluate_v1.py).


CLOSED = ("yes", "no", "noanswer")
"""Answers that share no part with another one."""
METRICS = tuple(
    prefix + name for prefix in ("", "sp_", "joint_") for name in ("em", "f1", "prec", "recall")
)
"""The official names; `sp` is for supporting facts."""


@dataclass(frozen=True)
class HotpotQaPrediction:
    """The prediction for one question."""

    answer: str
    facts: tuple[Fact, ...]
    threshold: float | None = None
    """Probability from which a sentence is a supporting fact, where it was searched."""


def answer_span(
    start_T: ArrayLike,
    end_T: ArrayLike,
    unit_of_token_T: NDArray[np.integer],
    is_supporting_U: NDArray[np.bool_],
    places_T: ArrayLike,
    *,
    max_length: int,
    top: int = 50,
) -> Span | None:
    """Return the best span inside one title or sentence that is predicted as supporting."""
    # If there is none, any will do: an answer in the wrong place may be right, no answer cannot.
    inside_T = unit_of_token_T >= 0
    supporting_T = np.zeros(len(inside_T), bool)
    supporting_T[inside_T] = is_supporting_U[unit_of_token_T[inside_T]]
    for allowed_T in (supporting_T, inside_T):
        rules = {"is_allowed_T": allowed_T, "groups_T": unit_of_token_T, "places_T": places_T}
        span = best_span(start_T, end_T, **rules, max_length=max_length, top=top)
        if span is not None:
            return span
    return None


def question_scores(
    predicted_answer: str, predicted_facts: Sequence[Fact], answer: str, facts: Sequence[Fact]
) -> list[float]:
    """Return `METRICS` of one question, each from 0 to 1; their means are the official figures."""
    of_answer = list(overlap(predicted_answer, answer))
    normal, gold_normal = normalise_answer(predicted_answer), normalise_answer(answer)
    if normal != gold_normal and (normal in CLOSED or gold_normal in CLOSED):
        of_answer[1:] = [0.0, 0.0, 0.0]
    of_facts = fact_scores(predicted_facts, facts)
    em, precision, recall = (of_answer[i] * of_facts[i] for i in (0, 2, 3))
    return [*of_answer, *of_facts, em, _f1(precision, recall), precision, recall]


def fact_scores(predicted: Sequence[Fact], gold: Sequence[Fact]) -> list[float]:
    """Return exact match, F1, precision and recall; officially two empty sets have an F1 of 0."""
    facts, expected = set(predicted), set(gold)
    right = len(facts & expected)
    precision = right / len(facts) if facts else 0.0
    recall = right / len(expected) if expected else 0.0
    return [float(facts == expected), _f1(precision, recall), precision, recall]


def _f1(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total > 0 else 0.0


# B batch, T tokens, U units: titles and sentences, with attention etc every global token

THRESHOLDS = tuple(i / 10 for i in range(11))


UNIT_FIELDS = ("places_BU", "is_title_BU", "labels_BU", "targets_B3")
HotpotQaBatch = namedtuple("HotpotQaBatch", (*COMMON_FIELDS, "global_tokens", *UNIT_FIELDS))
"""`places_BU`: position of a unit's mark, or its global token; 0 for no unit. `labels_BU`: 1 supporting,
0 not, `UNKNOWN`. `targets_B3`: type of answer, first and last token, or `UNKNOWN`."""


class HotpotQaTask(TextTask):
    """Reader, rows, model, decoding and metric."""

    description = TASK
    monitor = "joint_f1"
    num_segments = NUM_SEGMENTS
    no_scores = frozenset({"fact_threshold"})

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[list[HotpotQaExample], dict[str, int]]:
        return read_hotpotqa(path, gold=gold)

    def texts(self, examples: Sequence[HotpotQaExample]) -> Iterator[str]:
        """Yield every paragraph after its title."""
        for example in examples:
            for paragraph in example.paragraphs:
                yield f"{paragraph.title}. {''.join(paragraph.sentences)}"

    def rows(self, examples: Sequence[HotpotQaExample], tokenizer, *, training: bool) -> TextSet:
        form = {"training": training, "two_streams": self.two_streams}
        return hotpotqa_rows(examples, tokenizer, self.options, **form)

    def is_global(self, row: TextFeatures) -> NDArray[np.bool_]:
        """Return True for [CLS], question and marks, as Longformer's paper has it (appendix D)."""
        marks = row.arrays["units"][:, 2]
        every = np.arange(len(row.token_ids))
        return np.isin(every, marks) | (every < marks.min(initial=len(every)))

    def collate(self, rows: Sequence[tuple[int, TextFeatures]]) -> HotpotQaBatch:
        units = [row.arrays["units"] for _, row in rows]
        return HotpotQaBatch(
            **common_fields(rows),
            global_tokens=self.global_tokens_of(rows),
            places_BU=pad_right([unit_rows[:, 2] for unit_rows in units], 0),
            is_title_BU=pad_right([unit_rows[:, 1] == TITLE for unit_rows in units], 0).bool(),
            labels_BU=pad_right([row.arrays["labels"] for _, row in rows], UNKNOWN),
            targets_B3=stacked(rows),
        )

    def outputs(self, model: nn.Module, batch: HotpotQaBatch) -> dict[str, Tensor]:
        """Return logits: `facts` (B, U), `kind` (B, 3), `start` and `end` (B, T)."""
        units = (batch.places_BU, batch.is_title_BU)
        facts, start, end, type_ = model(*batch[:3], *units, batch.global_tokens)
        return {"facts": facts, "kind": type_, "start": start, "end": end}

    def loss(self, outputs: dict[str, Tensor], batch: HotpotQaBatch) -> Tensor:
        """Return the mean of four terms: facts (a sum over units), type of answer, start, end."""
        known_BU = batch.labels_BU != UNKNOWN
        facts_BU = nn.functional.binary_cross_entropy_with_logits(
            outputs["facts"], batch.labels_BU.clamp(min=0).float(), reduction="none"
        )
        terms = [(facts_BU * known_BU).sum() / len(facts_BU)]
        known_B = batch.targets_B3[:, 0] != UNKNOWN
        terms += [
            known_cross_entropy(outputs[name], batch.targets_B3[:, column], known_B)
            for column, name in enumerate(("kind", "start", "end"))
        ]
        return torch.stack(terms).mean()

    def decode(self, text_set: TextSet, outputs: list[Outputs]) -> list[HotpotQaPrediction]:
        """Return answers and supporting facts; see `HotpotQaOptions` for the threshold."""
        if not self.options.search_threshold:
            return self._decode(text_set, outputs, self.options.fact_threshold)
        if any(example.answer is None or example.facts is None for example in text_set.examples):
            raise InputError(
                "search_threshold needs the gold answers of the examples, which these lack; give "
                "the fact_threshold that `text evaluate` found, and search_threshold=false"
            )
        joint = METRICS.index("joint_f1")
        return max(
            (self._decode(text_set, outputs, threshold) for threshold in THRESHOLDS),
            key=lambda each: self.statistics(text_set.examples, each)[:, joint].mean(),
        )

    def _decode(
        self, text_set: TextSet, outputs: list[Outputs], threshold: float
    ) -> list[HotpotQaPrediction]:
        return [
            predicted(text_set.examples[row.example], row, output, self.options, threshold)
            for row, output in zip(text_set.rows, outputs, strict=True)
        ]

    def statistics(
        self, examples: Sequence[HotpotQaExample], predictions: Sequence[HotpotQaPrediction | None]
    ) -> NDArray[np.float64]:
        """Return `METRICS` of every example, and the threshold that was found (or NaN)."""
        missing = [0.0] * len(METRICS) + [np.nan]
        rows = []
        for example, each in zip(examples, predictions, strict=True):
            if each is None:
                rows.append(missing)
                continue
            scores = question_scores(each.answer, each.facts, example.answer, example.facts)
            rows.append([*scores, np.nan if each.threshold is None else each.threshold])
        return np.array(rows).reshape(-1, len(METRICS) + 1)

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        """Return the official means, and `fact_threshold` where it was searched."""
        *means, threshold = statistics.mean(axis=0).tolist()
        metrics = dict(zip(METRICS, means, strict=True))
        return metrics if np.isnan(threshold) else metrics | {"fact_threshold": threshold}

    def submission(
        self, examples: Sequence[HotpotQaExample], predictions: Sequence[HotpotQaPrediction]
    ) -> dict[str, bytes]:
        """Return the file that the official script and the leaderboard read."""
        both = list(zip((example.id for example in examples), predictions, strict=True))
        answers = {name: prediction.answer for name, prediction in both}
        facts = {name: [list(fact) for fact in prediction.facts] for name, prediction in both}
        return {"predictions.json": json_file({"answer": answers, "sp": facts})}

    def baselines(
        self, train_examples: Sequence[HotpotQaExample] | None, examples: Sequence[HotpotQaExample]
    ) -> dict[str, list[HotpotQaPrediction]]:
        """Return first sentences of the two paragraphs most like the question; title or 'yes'."""
        titles = [_by_shared_words(example) for example in examples]
        yes = [dataclasses.replace(prediction, answer="yes") for prediction in titles]
        return {"shared_words_title": titles, "shared_words_yes": yes}


def _by_shared_words(example: HotpotQaExample) -> HotpotQaPrediction:
    texts = [" ".join((paragraph.title, *paragraph.sentences)) for paragraph in example.paragraphs]
    best = [example.paragraphs[i] for i in most_alike(example.question, texts, 2)]
    facts = tuple((paragraph.title, 0) for paragraph in best if paragraph.sentences)
    return HotpotQaPrediction(best[0].title, facts)


def predicted(
    example: HotpotQaExample,
    row: TextFeatures,
    output: Outputs,
    options: HotpotQaOptions,
    threshold: float,
) -> HotpotQaPrediction:
    units = row.arrays["units"]
    is_supporting_U = expit(output["facts"][: len(units)]) >= threshold
    facts = tuple(
        (example.paragraphs[p].title, int(s)) for p, s, _ in units[is_supporting_U] if s > TITLE
    )
    answer_type = int(output["kind"].argmax())
    if answer_type == SPAN:
        answer = _span_text(example, row, output, options, is_supporting_U)
    else:
        answer = {YES: "yes", NO: "no"}[answer_type]
    return HotpotQaPrediction(answer, facts, threshold if options.search_threshold else None)


def _span_text(
    example: HotpotQaExample,
    row: TextFeatures,
    output: Outputs,
    options: HotpotQaOptions,
    is_supporting_U: NDArray[np.bool_],
) -> str:
    units, offsets_T2 = row.arrays["units"], row.arrays["offsets"]
    unit_T = np.where(offsets_T2[:, 0] < offsets_T2[:, 1], row.arrays["unit_of_token"], -1)
    if (unit_T < 0).all():
        return ""  # no title fits the row
    places_T = np.arange(len(unit_T))
    if options.answer_unit == "words":
        texts = [unit_text(example, unit) for unit in units]
        places_T = word_numbers(texts, unit_T, offsets_T2[:, 0])
    start_T, end_T = (output[name][: len(unit_T)] for name in ("start", "end"))
    limits = {"max_length": options.max_answer_length, "top": options.top_spans}
    span = answer_span(start_T, end_T, unit_T, is_supporting_U, places_T, **limits)
    if span is None:
        return ""
    text = unit_text(example, units[unit_T[span.start]])
    return text[offsets_T2[span.start, 0] : offsets_T2[span.end, 1]]


def word_numbers(
    texts: Sequence[str], unit_T: NDArray[np.integer], starts_T: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return the number of each token's word, by white space, over all titles and sentences."""
    joined = "".join(f" {text}" for text in texts)
    is_space = np.array([character.isspace() for character in joined])
    words = np.cumsum(np.append(False, is_space[:-1] & ~is_space[1:]))
    before_U = np.cumsum([0, *(len(text) + 1 for text in texts)])[:-1] + 1
    return words[np.where(unit_T < 0, 0, before_U[unit_T] + starts_T)]
