"""SQuAD 1.1 and 2.0: loss, decoding and the metrics of evaluate-v1.1.py and evaluate-v2.0.py."""

import math
from collections import namedtuple
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird.corpus.sentences import sentences
from dna_bigbird.text.data.rows import TextFeatures, TextSet
from dna_bigbird.text.data.squad import (
    TASK,
    UNKNOWN,
    VERSIONS,
    SquadExample,
    read_squad,
    squad_rows,
)
from dna_bigbird.text.spans import best_overlap, best_span, normalise_answer
from dna_bigbird.text.tasks.task import (
    COMMON_FIELDS,
    Outputs,
    SpanTask,
    common_fields,
    json_file,
    known_cross_entropy,
    stacked,
)
from dna_bigbird.text.text_baselines import most_alike, most_named

COLUMNS = ("em", "f1", "has_answer", "has_text", "na_prob")
"""Of `question_row`."""


def question_row(
    predicted: str, na_prob: float, answers: Sequence[str]
) -> tuple[float, float, float, float, float]:
    """Return `COLUMNS` of a question of version 2.0, before any threshold."""
    # Answers that are empty after normalisation do not count.
    texts = [answer for answer in answers if normalise_answer(answer)]
    if texts:
        exact, f1 = best_overlap(predicted, texts)
    else:
        exact = f1 = float(normalise_answer(predicted) == "")
    return exact, f1, float(bool(answers)), float(bool(predicted)), na_prob


def best_threshold(
    scores_N: NDArray[np.float64], rows_N5: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the highest mean score over thresholds of `na_prob`, and the smallest such one."""
    # The official search adds one question after the other, those of equal probability too, and
    # starts with every prediction empty, at the threshold 0.
    _, _, has_answer_N, has_text_N, na_prob_N = rows_N5.T
    order = np.argsort(na_prob_N, kind="stable")
    steps_N = np.where(has_answer_N == 1, scores_N, -has_text_N)[order]
    totals = np.cumsum(np.concatenate([[(1 - has_answer_N).sum()], steps_N]))
    best = int(totals.argmax())
    return float(totals[best] / len(rows_N5)), float(na_prob_N[order][best - 1]) if best else 0.0


def summarise(rows_N5: NDArray[np.float64], threshold: float) -> dict[str, float]:
    """Return the metrics of version 2.0 at a threshold and at the best ones, from 0 to 1."""
    has_answer_N = rows_N5[:, 2] == 1
    scores: dict[str, float] = {}
    for column, name in enumerate(("em", "f1")):
        # Predictions with `na_prob` above the threshold are empty.
        scores_N = np.where(rows_N5[:, 4] > threshold, 1 - rows_N5[:, 2], rows_N5[:, column])
        scores[name] = float(scores_N.mean())
        for prefix, chosen_N in (("has_answer", has_answer_N), ("no_answer", ~has_answer_N)):
            if chosen_N.any():
                scores[f"{prefix}_{name}"] = float(scores_N[chosen_N].mean())
    for column, name in enumerate(("em", "f1")):
        best, at = best_threshold(rows_N5[:, column], rows_N5)
        scores |= {f"best_{name}": best, f"best_{name}_threshold": at}
    return scores


# B batch, T tokens, N questions

SquadBatch = namedtuple("SquadBatch", (*COMMON_FIELDS, "global_tokens", "targets_B2"))
"""`targets_B2`: first and last token of the answer, or `UNKNOWN`."""


class SquadPrediction(NamedTuple):
    """What is predicted for a question."""

    text: str
    """The best answer in the paragraph; '' if there is none."""
    na_prob: float = 0.0
    """Probability that the paragraph does not answer the question; SQuAD 2.0."""


class SquadTask(SpanTask):
    """Reader, windows, model, decoding and metric."""

    description = TASK
    monitor = "f1"
    no_scores = frozenset({"best_em_threshold", "best_f1_threshold"})

    @property
    def has_impossible(self) -> bool:
        """Whether questions may have no answer: SQuAD 2.0."""
        return VERSIONS[self.options.set] == "2.0"

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[list[SquadExample], dict[str, int]]:
        version = VERSIONS[self.options.set]
        return read_squad(path, split, version=version, gold=gold), {}

    def texts(self, examples: Sequence[SquadExample]) -> Iterator[str]:
        yield from dict.fromkeys(example.paragraph for example in examples)

    def rows(self, examples: Sequence[SquadExample], tokenizer, *, training: bool) -> TextSet:
        return squad_rows(examples, tokenizer, self.options, training=training)

    def collate(self, rows: Sequence[tuple[int, TextFeatures]]) -> SquadBatch:
        return SquadBatch(
            **common_fields(rows),
            global_tokens=self.global_tokens_of(rows),
            targets_B2=stacked(rows),
        )

    def loss(self, outputs: dict[str, Tensor], batch: SquadBatch) -> Tensor:
        """Return the mean of the cross-entropies of start and end, averaged over the rows with gold."""
        known_B = batch.targets_B2[:, 0] != UNKNOWN
        losses = [
            known_cross_entropy(outputs[name], targets_B, known_B)
            for name, targets_B in zip(("start", "end"), batch.targets_B2.T, strict=True)
        ]
        return sum(losses) / 2

    def decode(self, text_set: TextSet, outputs: list[Outputs]) -> list[SquadPrediction]:
        """Return the best answer of every question's windows, and the probability of none."""
        # No answer scores the smallest sum of the two logits of [CLS] over the windows; its
        # probability is the sigmoid of that minus the score of the answer.
        best: list[tuple[float, str]] = [(-math.inf, "")] * len(text_set.examples)
        null = [math.inf] * len(text_set.examples)
        for row, output in zip(text_set.rows, outputs, strict=True):
            number = row.example
            paragraph = text_set.examples[number].paragraph
            start_T, end_T = (output[name][: len(row.token_ids)] for name in ("start", "end"))
            null[number] = min(null[number], float(start_T[0]) + float(end_T[0]))
            score, text = self._answer(row, start_T, end_T, paragraph)
            if score > best[number][0]:
                best[number] = score, text
        return [
            SquadPrediction(text, _sigmoid(none - score) if self.has_impossible else 0.0)
            for (score, text), none in zip(best, null, strict=True)
        ]

    def _answer(
        self, row: TextFeatures, start_T: NDArray, end_T: NDArray, paragraph: str
    ) -> tuple[float, str]:
        """Return the score and the text of the best answer of a window; -inf and '' if there is none."""
        offsets = row.arrays["offsets"]
        span = best_span(
            np.where(row.arrays["is_best_context"], start_T, -np.inf),
            end_T,
            is_allowed_T=offsets[:, 0] < offsets[:, 1],
            max_length=self.options.max_answer_tokens,
            top=self.options.top_spans,
        )
        if span is None or span.score == -np.inf:
            return -math.inf, ""
        text = paragraph[offsets[span.start, 0] : offsets[span.end, 1]]
        return span.score, " ".join(text.split())

    def statistics(
        self, examples: Sequence[SquadExample], predictions: Sequence[SquadPrediction]
    ) -> NDArray[np.float64]:
        """Return exact match and F1 (n, 2), or of SQuAD 2.0 `COLUMNS` (n, 5)."""
        rows = []
        for example, prediction in zip(examples, predictions, strict=True):
            answers = [answer.text for answer in example.answers or ()]
            if self.has_impossible:
                rows.append(question_row(prediction.text, prediction.na_prob, answers))
            else:
                rows.append(best_overlap(prediction.text, answers))
        return np.array(rows, dtype=np.float64)

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        """Return the means, or of SQuAD 2.0 `summarise` at `no_answer_threshold`."""
        if self.has_impossible:
            return summarise(statistics, self.options.no_answer_threshold)
        return dict(zip(("em", "f1"), statistics.mean(axis=0).tolist(), strict=True))

    def submission(
        self, examples: Sequence[SquadExample], predictions: Sequence[SquadPrediction]
    ) -> dict[str, bytes]:
        """Return the official files; with SQuAD 2.0 `answers.json` is without the threshold."""
        pairs = list(zip((example.id for example in examples), predictions, strict=True))
        texts = {name: prediction.text for name, prediction in pairs}
        if not self.has_impossible:
            return {"predictions.json": json_file(texts)}
        probabilities = {name: prediction.na_prob for name, prediction in pairs}
        limit = self.options.no_answer_threshold
        said = {name: "" if probabilities[name] > limit else texts[name] for name in texts}
        return {
            "predictions.json": json_file(said),
            "na_prob.json": json_file(probabilities),
            "answers.json": json_file(texts),
        }

    def baselines(
        self, train_examples: Sequence[SquadExample] | None, examples: Sequence[SquadExample]
    ) -> dict[str, list[SquadPrediction]]:
        """Return the sentence most like the question, the commonest name, and no answer at all."""
        parts = [(example.question, sentences(example.paragraph)) for example in examples]
        predictions = {
            "shared_words": [SquadPrediction(x[most_alike(q, x, 1)[0]]) for q, x in parts],
            "most_named": [
                SquadPrediction(most_named(x.question, [x.paragraph])) for x in examples
            ],
        }
        if self.has_impossible:
            predictions["no_answer"] = [SquadPrediction("", 1.0)] * len(examples)
        return predictions


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0
