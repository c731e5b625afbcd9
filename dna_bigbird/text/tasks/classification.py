"""Classification of long documents, and what it shares with GLUE: loss and decoding of one class or score."""

import csv
import io
from collections import Counter, namedtuple
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics.multi_class import micro_f1, outcome_counts
from dna_bigbird.text.data.classification import READERS, TASK, iter_classification
from dna_bigbird.text.data.classification_files import LabelledText
from dna_bigbird.text.data.rows import StreamedExamples, TextFeatures, TextSet
from dna_bigbird.text.tasks.task import COMMON_FIELDS, Outputs, TextTask, common_fields
from dna_bigbird.text.text_baselines import commonest, tfidf_logistic

# B batch, T tokens, L labels

ClassBatch = namedtuple("ClassBatch", (*COMMON_FIELDS, "targets_B"))
"""`targets_B`: float32, class number or score; NaN where unknown."""


class Predicted(NamedTuple):
    """The prediction for an example."""

    value: str | float
    """A class name, or a score."""
    probability: float | None = None
    """Of that class; None for a score and where a baseline has none."""


class ClassifyingTask(TextTask):
    """Cross-entropy over classes; where `is_regression`, squared error of one score."""

    is_regression = False

    def texts(self, examples: Sequence[Any]) -> Iterator[str]:
        for example in examples:
            yield from example.texts

    def collate(self, rows: Sequence[tuple[int, TextFeatures]]) -> ClassBatch:
        targets = np.array([row.arrays["target"] for _, row in rows], dtype=np.float32)
        return ClassBatch(**common_fields(rows), targets_B=torch.from_numpy(targets))

    def outputs(self, model: nn.Module, batch: ClassBatch) -> dict[str, Tensor]:
        """Return `logits` (B, L); an encoder with one segment only reads a pair as one text."""
        highest = max(0, model.encoder.config.num_segments - 1)
        segments_BT = batch.segment_ids_BT.clamp(max=highest)
        return {"logits": model(batch.token_ids_BT, batch.is_padding_BT, segments_BT)}

    def loss(self, outputs: dict[str, Tensor], batch: ClassBatch) -> Tensor:
        """Return the mean over the rows whose target is known."""
        logits_BL = outputs["logits"].float()
        known_B = ~batch.targets_B.isnan()
        targets_B = batch.targets_B.nan_to_num()
        if self.is_regression:
            losses_B = (logits_BL[:, 0] - targets_B) ** 2
        else:
            losses_B = F.cross_entropy(logits_BL, targets_B.long(), reduction="none")
        return (losses_B * known_B).sum() / known_B.sum().clamp(min=1)

    def decode(self, text_set: TextSet, outputs: list[Outputs]) -> list[Predicted]:
        """Return the class of the highest logit (of equal ones the first), or the score."""
        if self.is_regression:
            return [Predicted(float(each["logits"][0])) for each in outputs]
        logits_NL = np.stack([each["logits"] for each in outputs]).astype(np.float64)
        shares_NL = np.exp(logits_NL - logits_NL.max(axis=1, keepdims=True))
        shares_NL /= shares_NL.sum(axis=1, keepdims=True)
        return [
            Predicted(self.labels[index], float(shares_L[index]))
            for shares_L, index in zip(shares_NL, shares_NL.argmax(axis=1), strict=True)
        ]


UNSEEN = "label that no training document has"
CHARACTERS_PER_TOKEN = 5


class ClassificationTask(ClassifyingTask):
    """Readers, rows, model and metric; a prediction is a `Predicted` class."""

    description = TASK
    monitor = "micro_f1"

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[StreamedExamples, dict[str, int]]:
        examples = StreamedExamples(
            lambda counts: iter_classification(self.options, path, split, counts, gold=gold)
        )
        return examples, examples.counts

    def label_names(self, examples: Iterable[LabelledText]) -> list[str]:
        """Return the set's classes, or those of the examples, sorted."""
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


CUT = "text longer than max_tokens, cut"


def kept_lengths(first: int, second: int, budget: int) -> tuple[int, int]:
    """Return how many pieces of a pair stay."""
    # As taking one piece at a time from the longer text, of equal ones from the second.
    if first + second <= budget:
        return first, second
    small = min(first, second)
    if small <= budget // 2:
        return (budget - small, small) if first > second else (small, budget - small)
    return budget - budget // 2, budget // 2


def classification_rows(
    examples: Sequence[Any],
    texts: Sequence[tuple[str, ...]],
    targets: Sequence[float | None],
    tokenizer: Any,
    max_tokens: int,
) -> TextSet:
    """Return one row per example; the second text of a pair, with its [SEP], is segment 1."""
    # White space becomes single spaces: to the published vocabulary a line break is an unknown
    # letter.
    rows, cut = [], 0
    for i, (parts, target) in enumerate(zip(texts, targets, strict=True)):
        pieces = [tokenizer.encode(" ".join(text.split())) for text in parts]
        lengths = _kept([len(ids) for ids in pieces], max_tokens)
        cut += lengths != [len(ids) for ids in pieces]
        ids, segments = _joined(pieces, lengths, tokenizer)
        value = np.array(np.nan if target is None else target, dtype=np.float64)
        rows.append(TextFeatures(ids, i, segments if len(parts) > 1 else None, {"target": value}))
    return TextSet(list(examples), rows, {CUT: cut} if cut else {})


def _kept(lengths: list[int], max_tokens: int) -> list[int]:
    if len(lengths) == 1:
        return [min(lengths[0], max_tokens - 2)]
    return list(kept_lengths(lengths[0], lengths[1], max_tokens - 3))


def _joined(
    pieces: list[NDArray], lengths: list[int], tokenizer: Any
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    ids, segments = [[tokenizer.cls_id]], [[0]]
    for number, (text, length) in enumerate(zip(pieces, lengths, strict=True)):
        ids += [text[:length], [tokenizer.sep_id]]
        segments.append([number] * (length + 1))
    return np.concatenate(ids).astype(np.int32), np.concatenate(segments).astype(np.int8)
