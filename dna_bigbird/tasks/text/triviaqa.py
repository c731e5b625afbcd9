"""TriviaQA: the answer to a question, from several documents that may hold it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.baselines.names import most_named
from dna_bigbird.datasets.text.data import common_fields
from dna_bigbird.datasets.text.rows import TextRow, TextSet
from dna_bigbird.datasets.text.triviaqa import TASK, read_triviaqa, triviaqa_rows
from dna_bigbird.datasets.text.triviaqa_pages import TriviaQaExample
from dna_bigbird.evaluation.triviaqa import best_document_span, best_overlap, normalise_trivia
from dna_bigbird.tasks.text.task import Outputs, TextTask

# B batch, T tokens, S places of answers, Q questions
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

NO_SPAN = -1
NEVER = -1e30
"""Logit of what does not count; with -inf the gradient of a row of nothing else is NaN."""


class TriviaQaBatch(NamedTuple):
    """Rows of `triviaqa_rows`."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    segment_ids_BT: Tensor
    rows_B: Tensor
    spans_BS2: Tensor
    """First and last token of every place of the answer, or `NO_SPAN`."""
    groups_B: Tensor
    """Rows of equal number are documents of one question."""


class TriviaQaTask(TextTask):
    """Glue of reader, rows, model, decoding and metric. A prediction is a text."""

    description = TASK
    monitor = "f1"

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[list[TriviaQaExample], dict[str, int]]:
        """Read a file of questions, or the split of the official folder, with its evidence."""
        return read_triviaqa(path, split, self.options, gold=gold)

    def texts(self, examples: Sequence[TriviaQaExample]) -> Iterator[str]:
        """Yield the documents, each once."""
        seen = set()
        for example in examples:
            for document in example.documents:
                if document.name not in seen:
                    seen.add(document.name)
                    yield document.text

    def rows(self, examples: Sequence[TriviaQaExample], tokenizer, *, training: bool) -> TextSet:
        """Return a row for every document."""
        return triviaqa_rows(examples, tokenizer, self.options, normalise_trivia, training=training)

    def units(self, text_set: TextSet) -> list[list[int]] | None:
        """Return the rows of every question where they share one sum."""
        if self.options.norm == "per_document":
            return None
        units: dict[int, list[int]] = {}
        for number, row in enumerate(text_set.rows):
            units.setdefault(row.example, []).append(number)
        return list(units.values())

    def collate(self, rows: Sequence[tuple[int, TextRow]]) -> TriviaQaBatch:
        """Join rows; places of answers are padded with `NO_SPAN`."""
        most = max(1, max(len(row.arrays["spans"]) for _, row in rows))
        spans = np.full((len(rows), most, 2), NO_SPAN, dtype=np.int64)
        for i, (_, row) in enumerate(rows):
            spans[i, : len(row.arrays["spans"])] = row.arrays["spans"]
        return TriviaQaBatch(
            **common_fields(rows),
            spans_BS2=torch.from_numpy(spans),
            groups_B=torch.tensor([row.example for _, row in rows]),
        )

    def outputs(self, model: nn.Module, batch: TriviaQaBatch) -> dict[str, Tensor]:
        """Return the logits `start` and `end` (B, T)."""
        logits = model(batch.token_ids_BT, batch.is_padding_BT, batch.segment_ids_BT)
        return {"start": logits.start_BT, "end": logits.end_BT}

    def loss(self, outputs: dict[str, Tensor], batch: TriviaQaBatch) -> Tensor:
        """Return the summed objective of Clark and Gardner, mean of that of starts and of ends.

        -log of the probability that all places of the answer have together; a start (an end) that two
        places share counts once. The mean is over documents, or over questions, that have a place.
        """
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
        best = best_document_span(
            documents,
            max_words=self.options.max_answer_words,
            top=self.options.top_spans,
            norm=self.options.answer_score,
        )
        if best is None:
            return ""
        row = text_set.rows[numbers[best.document]]
        offsets = row.arrays["offsets"]
        text = text_set.examples[row.example].documents[int(row.arrays["document"][0])].text
        return " ".join(text[offsets[best.start, 0] : offsets[best.end, 1]].split())

    def statistics(
        self, examples: Sequence[TriviaQaExample], predictions: Sequence[str | None]
    ) -> NDArray[np.float64]:
        """Return exact match, F1 and whether the question is verified: (n, 3).

        A missing prediction (None) scores 0, as in the official script.
        """
        rows = []
        for one, found in zip(examples, predictions, strict=True):
            answers = (*(one.aliases or ()), *one.human_answers)
            scores = (0.0, 0.0) if found is None else best_overlap(found, answers)
            rows.append([*scores, float(one.is_verified)])
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        """Return the means over all and, if there are any, over verified questions."""
        exact, f1 = statistics[:, :2].mean(axis=0).tolist()
        found = {"em": exact, "f1": f1}
        verified = statistics[statistics[:, 2] == 1, :2]
        if len(verified):
            found |= dict(
                zip(("verified_em", "verified_f1"), verified.mean(axis=0).tolist(), strict=True)
            )
        return found

    def submission(
        self, examples: Sequence[TriviaQaExample], predictions: Sequence[str]
    ) -> dict[str, bytes]:
        """Return the file that the official script reads: answer by id."""
        answers = {one.id: found for one, found in zip(examples, predictions, strict=True)}
        return {"predictions.json": (json.dumps(answers, ensure_ascii=False) + "\n").encode()}

    def baselines(
        self, train_examples: Sequence[TriviaQaExample] | None, examples: Sequence[TriviaQaExample]
    ) -> dict[str, list[str]]:
        """Return the title of the first document, and the name that stands most in all of them."""
        return {
            "title": [one.documents[0].title if one.documents else "" for one in examples],
            "most_named": [
                most_named(one.question, [document.text for document in one.documents])
                for one in examples
            ],
        }


def noisy_span_loss(logits_BT: Tensor, places_BS: Tensor, groups_B: Tensor) -> Tensor:
    """Return -log of the probability of all correct places together, averaged over groups.

    Args:
        logits_BT: -inf at padding.
        places_BS: Correct tokens, `NO_SPAN` for none; a token named twice counts once.
        groups_B: Rows of equal number share one distribution. A group without a correct place counts
            for nothing; without any group the loss is 0.
    """
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
