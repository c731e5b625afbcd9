"""TriviaQA: loss, decoding and metric (triviaqa_evaluation.py) of the answer from several documents."""

import re
import string
from collections import namedtuple
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dna_bigbird.text.data.rows import StreamedExamples, TextFeatures, TextSet, example_numbers
from dna_bigbird.text.data.triviaqa import (
    TASK,
    TriviaQaExample,
    evidence_of,
    iter_triviaqa,
    triviaqa_rows,
)
from dna_bigbird.text.spans import best_overlap, best_span
from dna_bigbird.text.tasks.task import COMMON_FIELDS, Outputs, SpanTask, common_fields, json_file
from dna_bigbird.text.text_baselines import most_named

# B batch, T tokens, S places of answers, Q questions

NO_SPAN = -1
NEVER = -1e30
"""Logit of what does not count; with -inf the gradient of a row of nothing else is NaN."""


TRIVIA_FIELDS = (*COMMON_FIELDS, "global_tokens", "spans_BS2", "groups_B")
TriviaQaBatch = namedtuple("TriviaQaBatch", TRIVIA_FIELDS)
"""`spans_BS2`: first and last token of every occurrence of the answer, or `NO_SPAN`. Rows of equal
number in `groups_B` are documents of one question."""


class TriviaQaTask(SpanTask):
    """Reader, rows, model, decoding and metric. A prediction is a text."""

    description = TASK
    monitor = "f1"

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[StreamedExamples, dict[str, int]]:
        examples = StreamedExamples(
            lambda counts: iter_triviaqa(path, split, counts, self.options, gold=gold)
        )
        return examples, examples.counts

    def inputs(self, path: Path) -> list[Path]:
        """Return the path, and the evidence if that is elsewhere."""
        evidence = evidence_of(path, self.options.evidence)
        return [path] if evidence == path else [path, evidence]

    def texts(self, examples: Sequence[TriviaQaExample]) -> Iterator[str]:
        seen = set()
        for example in examples:
            for document in example.documents:
                if document.name not in seen:
                    seen.add(document.name)
                    yield document.text

    def rows(self, examples: Sequence[TriviaQaExample], tokenizer, *, training: bool) -> TextSet:
        form = {"training": training, "two_streams": self.two_streams}
        return triviaqa_rows(examples, tokenizer, self.options, normalise_trivia, **form)

    def units(self, text_set: TextSet) -> list[list[int]] | None:
        """Return the rows of every question where they share one sum."""
        if self.options.norm == "per_document":
            return None
        units: dict[int, list[int]] = {}
        for number, example in enumerate(example_numbers(text_set.rows)):
            units.setdefault(int(example), []).append(number)
        return list(units.values())

    def collate(self, rows: Sequence[tuple[int, TextFeatures]]) -> TriviaQaBatch:
        most = max(1, max(len(row.arrays["spans"]) for _, row in rows))
        spans = np.full((len(rows), most, 2), NO_SPAN, dtype=np.int64)
        for i, (_, row) in enumerate(rows):
            spans[i, : len(row.arrays["spans"])] = row.arrays["spans"]
        return TriviaQaBatch(
            **common_fields(rows),
            global_tokens=self.global_tokens_of(rows),
            spans_BS2=torch.from_numpy(spans),
            groups_B=torch.tensor([row.example for _, row in rows]),
        )

    def loss(self, outputs: dict[str, Tensor], batch: TriviaQaBatch) -> Tensor:
        """Return the summed objective of Clark and Gardner, mean of that of starts and of ends."""
        # -log of the probability of all places of the answer together; a start (an end) that two
        # places share counts once.
        groups_B = batch.groups_B if self.options.norm == "per_question" else batch.rows_B
        return (
            noisy_span_loss(outputs["start"], batch.spans_BS2[..., 0], groups_B)
            + noisy_span_loss(outputs["end"], batch.spans_BS2[..., 1], groups_B)
        ) / 2

    def decode(self, text_set: TextSet, outputs: list[Outputs]) -> list[str]:
        """Return the best answer of every example's documents; '' where none allows one."""
        rows: list[list[int]] = [[] for _ in text_set.examples]
        for i, row in enumerate(text_set.rows):
            rows[row.example].append(i)
        return [self._answer(text_set, outputs, numbers) for numbers in rows]

    def _answer(self, text_set: TextSet, outputs: list[Outputs], numbers: list[int]) -> str:
        documents = []
        for i in numbers:
            words = text_set.rows[i].arrays["word"]
            start, end = (outputs[i][name][: len(words)] for name in ("start", "end"))
            documents.append((start, end, words))
        limits = {"max_words": self.options.max_answer_words, "top": self.options.top_spans}
        best = best_document_span(documents, **limits, norm=self.options.answer_score)
        if best is None:
            return ""
        row = text_set.rows[numbers[best.document]]
        offsets = row.arrays["offsets"]
        text = text_set.examples[row.example].documents[int(row.arrays["document"][0])].text
        return " ".join(text[offsets[best.start, 0] : offsets[best.end, 1]].split())

    def statistics(
        self, examples: Sequence[TriviaQaExample], predictions: Sequence[str | None]
    ) -> NDArray[np.float64]:
        """Return exact match, F1 and whether the question is verified: (n, 3)."""
        rows = []
        for example, prediction in zip(examples, predictions, strict=True):
            answers = (*(example.aliases or ()), *example.human_answers)
            scores = (0.0, 0.0)
            if prediction is not None:
                scores = best_overlap(prediction, answers, normalise_trivia)
            rows.append([*scores, float(example.is_verified)])
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        """Return the means over all and, if there are any, over verified questions."""
        exact, f1 = statistics[:, :2].mean(axis=0).tolist()
        metrics = {"em": exact, "f1": f1}
        verified = statistics[statistics[:, 2] == 1, :2]
        if len(verified):
            exact, f1 = verified.mean(axis=0).tolist()
            metrics |= {"verified_em": exact, "verified_f1": f1}
        return metrics

    def submission(
        self, examples: Sequence[TriviaQaExample], predictions: Sequence[str]
    ) -> dict[str, bytes]:
        """Return the file that the official script reads: answer by id."""
        ids = (example.id for example in examples)
        return {"predictions.json": json_file(dict(zip(ids, predictions, strict=True)))}

    def baselines(
        self, train_examples: Sequence[TriviaQaExample] | None, examples: Sequence[TriviaQaExample]
    ) -> dict[str, list[str]]:
        """Return the title of the first document, and the name that occurs most often in all of them."""
        named = [most_named(x.question, [page.text for page in x.documents]) for x in examples]
        titles = [x.documents[0].title if x.documents else "" for x in examples]
        return {"title": titles, "most_named": named}


def noisy_span_loss(logits_BT: Tensor, places_BS: Tensor, groups_B: Tensor) -> Tensor:
    """Return -log of the probability of all correct places together, averaged over groups."""
    # Rows of equal number share one distribution; a group without a correct place counts for
    # nothing.
    times_BT = torch.zeros_like(logits_BT).scatter_add_(
        1, places_BS.clamp(min=0), (places_BS != NO_SPAN).to(logits_BT.dtype)
    )
    correct_B = logits_BT.masked_fill(times_BT == 0, NEVER).logsumexp(dim=1)
    of_group_QB = groups_B == groups_B.unique()[:, None]
    counts_Q = (of_group_QB & (times_BT > 0).any(dim=1)).any(dim=1)
    total_Q, correct_Q = (
        of_row_B.masked_fill(~of_group_QB, NEVER).logsumexp(dim=1)
        for of_row_B in (
            logits_BT.logsumexp(dim=1).expand_as(of_group_QB),
            correct_B.expand_as(of_group_QB),
        )
    )
    return (total_Q - correct_Q)[counts_Q].sum() / counts_Q.sum().clamp(min=1)


_TO_SPACE = str.maketrans(dict.fromkeys(string.punctuation + "‘’´`", " "))
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise_trivia(text: str) -> str:
    """Lower-case, put spaces for punctuation, drop a, an, the, make white space single."""
    # SQuAD's and HotpotQA's way deletes punctuation instead: 'U.S.' is 'us' there.
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_TO_SPACE)).split())


class DocumentSpan(NamedTuple):
    """The best span of one document."""

    document: int
    start: int
    """First token."""
    end: int
    """Last token."""
    log_probability: float


def best_document_span(
    documents: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]],
    *,
    max_words: int = 16,
    top: int = 50,
    norm: str = "per_question",
) -> DocumentSpan | None:
    """Return the best answer among the best ones of every document."""
    # Probabilities over all tokens of all documents, by which the highest sum of two logits wins,
    # or over those of each document alone.
    totals = [_log_total(document[:1]) + _log_total(document[1:2]) for document in documents]
    if norm == "per_question":
        over_all = sum(_log_total([document[side] for document in documents]) for side in (0, 1))
        totals = [over_all] * len(documents)
    spans = []
    for number, (start, end, word_T) in enumerate(documents):
        words = {"is_allowed_T": np.asarray(word_T) >= 0, "places_T": word_T}
        span = best_span(start, end, **words, max_length=max_words, top=top)
        if span is not None:
            log_probability = float(span.score - totals[number])
            spans.append(DocumentSpan(number, span.start, span.end, log_probability))
    return max(spans, key=lambda span: span.log_probability, default=None)


def _log_total(logits: Sequence[ArrayLike]) -> float:
    """Return log(sum(exp)) of several rows together."""
    return float(np.logaddexp.reduce(np.concatenate(logits))) if len(logits) else -np.inf
