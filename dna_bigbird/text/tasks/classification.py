"""Classification of long documents: IMDb, Yelp-5, Arxiv, Patents, Hyperpartisan, one's own."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics.multi_class import micro_f1, outcome_counts
from dna_bigbird.text.data.classification import READERS, TASK, iter_classification
from dna_bigbird.text.data.classification_text import LabelledText, classification_rows
from dna_bigbird.text.data.rows import StreamedExamples, TextSet
from dna_bigbird.text.tasks.classifying import ClassifyingTask, Predicted
from dna_bigbird.text.text_baselines import commonest, tfidf_logistic

UNSEEN = "label that no training document has"
CHARACTERS_PER_TOKEN = 5


class ClassificationTask(ClassifyingTask):
    """Readers, rows, model and metric; a prediction is a `Predicted` class."""

    description = TASK
    monitor = "micro_f1"

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[StreamedExamples, dict[str, int]]:
        """Read the set that the options name."""
        options = self.options
        form = {"splits": options.splits, "gold": gold, "skip_empty": options.skip_empty}
        examples = StreamedExamples(
            lambda counts: iter_classification(options.set, path, split, counts, **form)
        )
        return examples, examples.counts

    def label_names(self, examples: Iterable[LabelledText]) -> list[str]:
        """Return the set's classes, or those of the examples, sorted.

        Raises:
            InputError: If there is one class alone.
        """
        if labels := READERS[self.options.set].labels:
            return list(labels)
        counts = Counter(each.label for each in examples)
        if len(counts) < 2:
            ((label, count),) = counts.items()
            raise InputError(
                f"all {count} training documents have the label {label!r}; expected two "
                "classes or more"
            )
        return sorted(counts)

    def rows(self, examples: Sequence[LabelledText], tokenizer, *, training: bool) -> TextSet:
        """Return one row per document; a label that training lacked has no target, and is counted."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        text_set = classification_rows(
            examples,
            [each.texts for each in examples],
            [numbers.get(each.label) for each in examples],
            tokenizer,
            self.options.max_tokens,
        )
        unseen = sum(each.label is not None and each.label not in numbers for each in examples)
        return replace(text_set, counts={**text_set.counts, UNSEEN: unseen}) if unseen else text_set

    def statistics(
        self, examples: Sequence[LabelledText], predictions: Sequence[Predicted]
    ) -> NDArray[np.float64]:
        """Return (n, 3): true positives, false positives, false negatives."""
        gold = [each.label for each in examples]
        return outcome_counts(gold, [each.value for each in predictions])

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        """Return micro-averaged F1 (with one class per document, the accuracy)."""
        return {"micro_f1": micro_f1(statistics)}

    def submission(
        self, examples: Sequence[LabelledText], predictions: Sequence[Predicted]
    ) -> dict[str, bytes]:
        """Return `predictions.csv`: id, label, probability. These sets have no official format."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["id", "label", "probability"])
        for example, prediction in zip(examples, predictions, strict=True):
            sure = "" if prediction.probability is None else f"{prediction.probability:.6f}"
            writer.writerow([example.id, prediction.value, sure])
        return {"predictions.csv": text.getvalue().encode()}

    def baselines(
        self, train_examples: Iterable[LabelledText] | None, examples: Sequence[LabelledText]
    ) -> dict[str, list[Predicted]]:
        """Return the commonest class, and logistic regression on TF-IDF of (a sample of) training."""
        if train_examples is None:
            return {}
        labels = [each.label for each in train_examples]
        top = commonest(labels)
        predictions = {"majority": [Predicted(top)] * len(examples)}
        limit = self.options.baseline_documents
        if limit:
            chosen = set(range(len(labels)))
            if limit < len(labels):
                chosen = set(np.random.default_rng(0).choice(len(labels), limit, False).tolist())
            drawn = [each for i, each in enumerate(train_examples) if i in chosen]
            # About what the model reads of a document; whole papers would fill the memory.
            length = CHARACTERS_PER_TOKEN * self.options.max_tokens
            texts, scored_texts = ([(e.text[:length],) for e in part] for part in (drawn, examples))
            labels, sure = tfidf_logistic(texts, [each.label for each in drawn], scored_texts)
            predictions["tfidf"] = [
                Predicted(*pair) for pair in zip(labels, sure.tolist(), strict=True)
            ]
        return predictions
