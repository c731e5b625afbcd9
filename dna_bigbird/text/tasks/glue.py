"""The eight GLUE tasks of the paper: loss, decoding and metrics."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.multi_class import accuracy, f1, matthews, pearson, spearman
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.text.data.glue import (
    FORMATS,
    HIGHEST_SCORE,
    TASK,
    GlueExample,
    GlueOptions,
    read_glue,
)
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.tasks.classification import ClassifyingTask, Predicted, classification_rows
from dna_bigbird.text.text_baselines import commonest, tfidf_cosine, tfidf_logistic

PART_FILES = {"": "", "matched": "-m", "mismatched": "-mm"}


class GlueTask(ClassifyingTask):
    """Official files, rows, model and metrics; STS-B is a regression."""

    description = TASK

    def __init__(self, options: GlueOptions, head: HeadConfig, **form: Any) -> None:
        super().__init__(options, head, **form)
        self.spec = FORMATS[options.set]
        self.is_regression = not self.spec.labels
        self.monitor = METRICS[options.set][0]

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[list[GlueExample], dict[str, int]]:
        return read_glue(self.options.set, path, split, gold=gold)

    def label_names(self, examples: Sequence[GlueExample]) -> list[str]:
        """Return the classes of the task; `score` is the one output of STS-B."""
        return list(self.spec.labels) or ["score"]

    def rows(self, examples: Sequence[GlueExample], tokenizer, *, training: bool) -> TextSet:
        return classification_rows(
            examples,
            [each.texts for each in examples],
            [self._number(each) for each in examples],
            tokenizer,
            self.options.max_tokens,
        )

    def _number(self, example: GlueExample) -> float | None:
        """Return the class number or the score."""
        if self.is_regression:
            return example.score
        return None if example.label is None else self.spec.labels.index(example.label)

    def statistics(
        self, examples: Sequence[GlueExample], predictions: Sequence[Predicted]
    ) -> NDArray[np.float64]:
        """Return (n, 3): class number or score, the predicted one, half of MNLI."""
        values = [each.value for each in predictions]
        if not self.is_regression:
            values = [self.spec.labels.index(value) for value in values]
        gold = [self._number(each) for each in examples]
        return glue_statistics(gold, values, [each.part for each in examples])

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        return glue_scores(self.options.set, statistics)

    def submission(
        self, examples: Sequence[GlueExample], predictions: Sequence[Predicted]
    ) -> dict[str, bytes]:
        """Return the files that gluebenchmark.com takes, scores kept within 0 and 5."""
        lines: dict[str, list[str]] = {}
        for example, prediction in zip(examples, predictions, strict=True):
            value = prediction.value
            if self.is_regression:
                value = f"{min(max(value, 0.0), HIGHEST_SCORE):.3f}"
            file = f"{self.spec.folder}{PART_FILES[example.part]}.tsv"
            lines.setdefault(file, ["index\tprediction"]).append(f"{example.id}\t{value}")
        return {file: ("\n".join(rows) + "\n").encode() for file, rows in lines.items()}

    def baselines(
        self, train_examples: Sequence[GlueExample] | None, examples: Sequence[GlueExample]
    ) -> dict[str, list[Predicted]]:
        """Return commonest class and TF-IDF regression; for STS-B mean and TF-IDF cosine × 5."""
        if train_examples is None:
            return {}
        texts, scored_texts = ([e.texts for e in part] for part in (train_examples, examples))
        if self.is_regression:
            mean = float(np.mean([each.score for each in train_examples]))
            cosines = HIGHEST_SCORE * tfidf_cosine(texts, scored_texts)
            return {
                "mean": [Predicted(mean)] * len(examples),
                "tfidf_cosine": [Predicted(value) for value in cosines.tolist()],
            }
        labels = [each.label for each in train_examples]
        predicted, sure = tfidf_logistic(texts, labels, scored_texts)
        return {
            "majority": [Predicted(commonest(labels))] * len(examples),
            "tfidf": [Predicted(*pair) for pair in zip(predicted, sure.tolist(), strict=True)],
        }


SCORES = {score.__name__: score for score in (accuracy, f1, matthews, spearman, pearson)}
METRICS: dict[str, tuple[str, ...]] = {
    "cola": ("matthews",),
    "mnli": ("accuracy_matched", "accuracy_mismatched"),
    "mrpc": ("f1", "accuracy"),
    "qnli": ("accuracy",),
    "qqp": ("accuracy", "f1"),
    "rte": ("accuracy",),
    "sst2": ("accuracy",),
    "stsb": ("spearman", "pearson"),
}
PARTS = ("matched", "mismatched")
"""The two halves of MNLI's evaluation sets; other tasks have the first alone."""


def glue_statistics(
    gold: Sequence[float], predicted: Sequence[float], parts: Sequence[str]
) -> NDArray[np.float64]:
    """Return (N, 3): gold and predicted class number (or score), and the number of the part."""
    numbers = [PARTS.index(part) if part else 0 for part in parts]
    return np.array([gold, predicted, numbers], dtype=np.float64).T.reshape(-1, 3)


def glue_scores(task: str, statistics_N3: NDArray[np.float64]) -> dict[str, float]:
    """Return the scores of a task, as shares and correlations (not times 100)."""
    scores = {}
    for metric in METRICS[task]:
        name, _, part = metric.partition("_")
        here = statistics_N3
        if part:
            here = here[here[:, 2] == PARTS.index(part)]
        if len(here) or not part:
            scores[metric] = SCORES[name](here[:, 0], here[:, 1])
    return scores
