"""Natural Questions: a long answer, and a short one or yes or no, on a Wikipedia page."""

import itertools
import json
from collections import namedtuple
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.batches import pad_right
from dna_bigbird.text.data.natural_questions import (
    TASK,
    UNKNOWN,
    NqExample,
    iter_natural_questions,
    natural_questions_rows,
)
from dna_bigbird.text.data.rows import StreamedExamples, TextFeatures, TextSet
from dna_bigbird.text.question_models import SPANS
from dna_bigbird.text.tasks.natural_questions_metric import (
    NO_SPAN,
    PagePrediction,
    PageWindow,
    Places,
    Span,
    decode_page,
    long_row,
    short_row,
    summarise,
)
from dna_bigbird.text.tasks.task import (
    COMMON_FIELDS,
    Outputs,
    SpanTask,
    common_fields,
    known_cross_entropy,
    stacked,
)

# B batch, T tokens, K best places of a window

NqBatch = namedtuple("NqBatch", (*COMMON_FIELDS, "global_tokens", "is_document_BT", "targets_B5"))
"""`targets_B5`: short start and end, long start and end, then the type; or `UNKNOWN`."""


class NaturalQuestionsTask(SpanTask):
    """Reader, windows, model, decoding and metric."""

    description = TASK
    monitor = "mean_f1"
    no_scores = frozenset({"long_threshold", "short_threshold"})

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[StreamedExamples, dict[str, int]]:
        examples = StreamedExamples(lambda counts: self._read(path, split, gold))
        return examples, examples.counts

    def _read(self, path: Path, split: str, gold: bool) -> Iterator[NqExample]:
        annotations = []
        for example in iter_natural_questions(path, split, gold=gold):
            annotations.append(len(example.annotations or ()))
            yield example
        if gold and split != "train":
            self._check_annotators(annotations, f"{path}: ")

    def _check_annotators(self, annotations: Sequence[int], where: str = "") -> None:
        """Check the number of annotations of each page."""
        most = max(annotations, default=0)
        needed = self.options.min_annotators
        if annotations and most < needed:
            raise InputError(
                f"{where}pages with {most} annotation at most, and the metric takes an answer for one "
                f"if {needed} have marked it; for training files give --options.min_annotators 1"
            )

    def texts(self, examples: Sequence[NqExample]) -> Iterator[str]:
        for example in examples:
            tokens = zip(example.tokens, example.is_html, strict=True)
            yield " ".join(token for token, is_html in tokens if not is_html)

    def rows(self, examples: Sequence[NqExample], tokenizer, *, training: bool) -> TextSet:
        form = {"training": training, "two_streams": self.two_streams}
        form |= {"first_example": self.first_example}
        return natural_questions_rows(examples, tokenizer, self.options, **form)

    def collate(self, rows: Sequence[tuple[int, TextFeatures]]) -> NqBatch:
        return NqBatch(
            **common_fields(rows),
            global_tokens=self.global_tokens_of(rows),
            is_document_BT=pad_right([row.arrays["token"] >= 0 for _, row in rows], 0).bool(),
            targets_B5=stacked(rows),
        )

    def outputs(self, model: nn.Module, batch: NqBatch) -> dict[str, Tensor]:
        """Return the logits of the four heads on tokens (B, T), and `type` (B, 5)."""
        logits = model(*batch[:3], batch.is_document_BT, batch.global_tokens)
        return dict(zip((*SPANS, "type"), logits, strict=True))

    def loss(self, outputs: dict[str, Tensor], batch: NqBatch) -> Tensor:
        """Return the mean of the five cross-entropies, each averaged over the rows with gold."""
        known_B = batch.targets_B5[:, 4] != UNKNOWN
        losses = [
            known_cross_entropy(outputs[name], batch.targets_B5[:, column], known_B)
            for column, name in enumerate((*SPANS, "type"))
        ]
        return sum(losses) / 5

    def kept(self, outputs: dict[str, Tensor], batch: NqBatch) -> dict[str, Tensor]:
        """Return places of the best logits in the document (B, 4, K), `first` (B, 4), `type`."""
        logits_B4T = torch.stack([outputs[name] for name in SPANS], dim=1)
        inside_B4T = logits_B4T.masked_fill(~batch.is_document_BT[:, None], -torch.inf)
        best = inside_B4T.topk(min(self.options.top, inside_B4T.shape[-1]), dim=-1)
        return {
            "best": best.values,
            "places": best.indices,
            "first": logits_B4T[..., 0],
            "type": outputs["type"],
        }

    def decode(self, text_set: TextSet, outputs: list[Outputs]) -> list[PagePrediction]:
        """Return the answers of every page from all its windows."""
        pages = itertools.groupby(
            zip(text_set.rows, outputs, strict=True), lambda pair: pair[0].example
        )
        number, pairs = next(pages, (None, ()))
        predictions = []
        for i, example in enumerate(text_set.examples):
            windows = []
            if i == number:
                windows = [self._window(*pair, position) for position, pair in enumerate(pairs)]
                number, pairs = next(pages, (None, ()))
            predictions.append(self._decode_page(example, windows))
        return predictions

    def _window(self, row: TextFeatures, output: Outputs, number: int) -> PageWindow:
        heads = []
        for best_K, places_K, first in zip(
            output["best"].astype(np.float64), output["places"], output["first"], strict=True
        ):
            there = np.isfinite(best_K)
            positions, score = places_K[there], best_K[there]
            score = score - first if self.options.score == "difference" else score / first
            token, piece = row.arrays["token"][positions], positions + int(row.arrays["first"][0])
            heads.append(Places(score, token, piece, np.full(len(positions), number)))
        return PageWindow(*heads, output["type"])

    def _decode_page(self, example: NqExample, windows: list[PageWindow]) -> PagePrediction:
        candidates = np.array([span[:2] for span in example.candidates]).reshape(-1, 2)
        is_top_C = np.array(example.is_top_level, dtype=bool)
        unit = "token" if self.options.short_unit == "words" else "piece"
        form = {"max_short": self.options.max_short, "unit": unit, "yes_no": self.options.yes_no}
        prediction = decode_page(windows, candidates, is_top_C, **form)
        short = tuple(_with_bytes(span, example) for span in prediction.short)
        return prediction._replace(long=_with_bytes(prediction.long, example), short=short)

    def statistics(
        self, examples: Sequence[NqExample], predictions: Sequence[PagePrediction]
    ) -> NDArray[np.float64]:
        """Return `COLUMNS` of the long and of the short answer: (n, 8)."""
        self._check_annotators([len(example.annotations or ()) for example in examples])
        needed = self.options.min_annotators
        rows = []
        for example, prediction in zip(examples, predictions, strict=True):
            gold = example.annotations or ()
            answer = (prediction.long, prediction.short, prediction.yes_no)
            rows.append(
                long_row(gold, answer, prediction.long_score, annotators=needed)
                + short_row(gold, answer, prediction.short_score, annotators=needed)
            )
        return np.array(rows, dtype=np.float64).reshape(-1, 8)

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        """Return F1, precision, recall at the best threshold, of long and short answers."""
        return summarise(statistics)

    def submission(
        self, examples: Sequence[NqExample], predictions: Sequence[PagePrediction]
    ) -> dict[str, bytes]:
        """Return the file that the official script reads."""
        content = {
            "predictions": [
                {
                    "example_id": example.id,
                    "long_answer": _span_object(prediction.long),
                    "long_answer_score": prediction.long_score,
                    "short_answers": [_span_object(span) for span in prediction.short],
                    "short_answers_score": prediction.short_score,
                    "yes_no_answer": prediction.yes_no.upper(),
                }
                for example, prediction in zip(examples, predictions, strict=True)
            ]
        }
        return {"predictions.json": (json.dumps(content) + "\n").encode()}

    def baselines(
        self, train_examples: Sequence[NqExample] | None, examples: Sequence[NqExample]
    ) -> dict[str, list[PagePrediction]]:
        """Return the first paragraph of every page as its long answer; no short answers."""
        spans = [_first_paragraph(example) for example in examples]
        return {"first_paragraph": [PagePrediction(span, 0.0, (), 0.0, "none") for span in spans]}


def _first_paragraph(example: NqExample) -> Span:
    """Return the first top-level candidate that begins with <P>; without one, none."""
    tokens = example.tokens
    both = zip(example.candidates, example.is_top_level, strict=True)
    return next((span for span, top in both if top and tokens[span.start] == "<P>"), NO_SPAN)


def _with_bytes(span: Span, example: NqExample) -> Span:
    """Return a span of tokens with its bytes, where the page has them."""
    start, end, *_ = span
    if start < 0 or example.token_bytes is None:
        return span
    return start, end, int(example.token_bytes[start, 0]), int(example.token_bytes[end - 1, 1])


def _span_object(span: Span) -> dict[str, int]:
    return dict(zip(("start_token", "end_token", "start_byte", "end_byte"), span, strict=True))
