"""Summaries of long documents: label smoothing, beam search, and ROUGE as in Tables 4 and 20 (specification §5)."""

import functools
import importlib.util
import json
import logging
import math
from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.core.errors import InputError, checked_settings
from dna_bigbird.corpus.batches import PAD_ID, pad_right, padding_of
from dna_bigbird.models.beam_search import beam_search
from dna_bigbird.models.summarizer import start_from
from dna_bigbird.text.data.reading import partner_of
from dna_bigbird.text.data.rows import StreamedExamples, TextFeatures, TextSet
from dna_bigbird.text.data.summarization import (
    NEWLINE_PIECE,
    TASK,
    SummaryExample,
    SummaryText,
    iter_summaries,
    summary_rows,
)
from dna_bigbird.text.tasks.task import COMMON_FIELDS, Outputs, TextTask, common_fields
from dna_bigbird.text.text_baselines import lead, sum_basic, words
from dna_bigbird.training.objective import Sums, pair

ROUGE_TYPES = ("rouge1", "rouge2", "rougeLsum")
"""Shared words, shared pairs of words, and the union of longest common subsequences of sentences."""

# Now, not at the first score of a long training.
if importlib.util.find_spec("rouge_score") is None:
    raise ModuleNotFoundError("No module named 'rouge_score'", name="rouge_score")


def rouge_scores(references: Sequence[str], predictions: Sequence[str]) -> NDArray[np.float64]:
    """Return the F-measures of `ROUGE_TYPES`, one row per summary, times 100: shape (n, 3)."""
    # rougeLsum (the tables' "R-L") takes each line as a sentence. The score of a set is the mean of
    # its rows (spec §5; google-research/bigbird, summarization/run_summarization.py).
    pairs = zip(references, predictions, strict=True)
    scores = (_scorer().score(*pair) for pair in pairs)
    rows = [[score[name].fmeasure for name in ROUGE_TYPES] for score in scores]
    return 100.0 * np.array(rows, dtype=np.float64).reshape(-1, len(ROUGE_TYPES))


@functools.cache
def _scorer():
    # Imported late: nltk, which it brings, takes half a second, and only scoring needs it.
    from rouge_score import rouge_scorer

    logging.getLogger("absl").setLevel(logging.WARNING)  # it announces its tokenizer each time
    return rouge_scorer.RougeScorer(list(ROUGE_TYPES), use_stemmer=True)


def label_smoothed_nll(
    logits_BUV: Tensor,
    target_ids_BU: Tensor,
    is_padding_BU: Tensor,
    *,
    smoothing: float = 0.1,
    count_padding: bool = False,
) -> Tensor:
    """Return the mean cross-entropy against smoothed targets, minus its minimum."""
    # With `count_padding` padding is summed over too, and the sum is still divided by the number of
    # real tokens, as in the published script.
    log_p_BUV = logits_BUV.float().log_softmax(dim=-1)
    rest = smoothing / (logits_BUV.shape[-1] - 1)
    confidence = 1.0 - smoothing
    target_BU = log_p_BUV.gather(-1, target_ids_BU[..., None].long()).squeeze(-1)
    loss_BU = -(confidence - rest) * target_BU - rest * log_p_BUV.sum(dim=-1)
    if smoothing > 0:
        loss_BU = loss_BU + confidence * math.log(confidence) + smoothing * math.log(rest)
    is_real_BU = ~is_padding_BU
    if not count_padding:
        loss_BU = torch.where(is_real_BU, loss_BU, 0.0)
    return loss_BU.sum() / is_real_BU.sum().clamp(min=1)


# B batch, T tokens of a document, U tokens of a summary, V vocabulary

LEAD_SENTENCES = {"cnn-dailymail": 3, "xsum": 1}
"""Length of the baselines where it is usual to give it in sentences; elsewhere they are as long as
references are on average."""


TARGET_FIELDS = ("target_ids_BU", "is_target_padding_BU")
SummaryBatch = namedtuple("SummaryBatch", (*COMMON_FIELDS, *TARGET_FIELDS))
"""`target_ids_BU`: pieces and the end id; U is 0 where no row has a reference."""


class SummarizationTask(TextTask):
    """Readers, rows, encoder-decoder, beam search and ROUGE; validation writes no summaries."""

    description = TASK
    monitor = "nll_per_token"
    mode = "min"
    scored_by_loss: ClassVar[bool] = True
    no_scores = frozenset({"length_ratio"})

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[StreamedExamples, dict[str, int]]:
        examples = StreamedExamples(
            lambda counts: iter_summaries(self.options, path, split, counts, gold=gold)
        )
        return examples, examples.counts

    def inputs(self, path: Path) -> list[Path]:
        """Return the path; with a file of documents that of their summaries too, if there is one."""
        summaries = partner_of(path)
        return [path, summaries] if summaries and summaries.is_file() else [path]

    def texts(self, examples: Sequence[SummaryExample]) -> Iterator[str]:
        for example in examples:
            yield example.document

    def rows(self, examples: Sequence[SummaryExample], tokenizer, *, training: bool) -> TextSet:
        self.prepare(tokenizer)
        return summary_rows(examples, self.text)

    def prepare(self, tokenizer: Any) -> None:
        """Keep the vocabulary for `decode`."""
        self.text = SummaryText(tokenizer, self.options)
        if self.text.end_id != self.head.end_id:
            raise InputError(
                f"--head.end_id {self.head.end_id}: the vocabulary's end is {self.text.end_id}; give "
                f"--head.start_id {self.text.start_id} --head.end_id {self.text.end_id}"
            )
        if self.options.first_id >= tokenizer.vocab_size:
            raise InputError(
                f"--options.first_id {self.options.first_id} is beyond the vocabulary of "
                f"{tokenizer.vocab_size} entries"
            )

    def head_from(self, config: Any) -> Any:
        """Return its own settings; those of a pretrained summarizer if none of its decoder's form were given."""
        dropout, form = self.head.attention_dropout, replace(self.head, attention_dropout=0.0)
        if form != type(self.head)() or config.task != self.name:
            return self.head
        return replace(config.head, attention_dropout=dropout or config.head.attention_dropout)

    def start_from(self, model: nn.Module, pretrained: nn.Module, seed: int) -> None:
        """Take encoder and decoder from a summarizer, else both from an encoder."""
        with checked_settings():
            start_from(model, pretrained, seed)

    def collate(self, rows: Sequence[tuple[int, TextFeatures]]) -> SummaryBatch:
        none = np.zeros(0, dtype=np.int32)
        targets = [row.arrays.get("target_ids", none) for _, row in rows]
        return SummaryBatch(
            **common_fields(rows),
            target_ids_BU=pad_right(targets, PAD_ID),
            is_target_padding_BU=padding_of(targets),
        )

    def outputs(self, model: nn.Module, batch: SummaryBatch) -> dict[str, Tensor]:
        """Return `logits` (B, U, V) of every target, each from those before it."""
        return {"logits": model(batch.token_ids_BT, batch.is_padding_BT, batch.target_ids_BU)}

    def loss(self, outputs: dict[str, Tensor], batch: SummaryBatch) -> Tensor:
        """Return the label-smoothed cross-entropy, its minimum taken off, a mean over tokens."""
        return label_smoothed_nll(
            outputs["logits"],
            batch.target_ids_BU,
            batch.is_target_padding_BU,
            smoothing=self.options.label_smoothing,
            count_padding=self.options.count_padding,
        )

    def loss_sums(self, outputs: dict[str, Tensor], batch: SummaryBatch) -> Sums:
        is_real_BU = ~batch.is_target_padding_BU
        logits_NV, labels_N = outputs["logits"][is_real_BU], batch.target_ids_BU[is_real_BU]
        nll = nn.functional.cross_entropy(logits_NV.float(), labels_N, reduction="sum")
        count = labels_N.numel()
        return {
            "nll_per_token": pair(nll, count),
            "bits_per_token": pair(nll / math.log(2), count),
            "token_accuracy": pair((logits_NV.argmax(-1) == labels_N).sum(), count),
        }

    def predict_outputs(self, model: nn.Module, batch: SummaryBatch) -> dict[str, Tensor]:
        """Return the ids (B, U) of the best summary that the beam search finds."""
        options = self.options
        summary_ids = beam_search(
            model,
            batch.token_ids_BT,
            batch.is_padding_BT,
            beam_size=options.beam_size,
            max_length=options.max_target_tokens,
            min_length=options.min_target_tokens,
            length_penalty=options.length_penalty,
            length_formula=options.length_formula,
            early_stopping=options.early_stopping,
            no_repeat=options.no_repeat_tokens,
            first_id=options.first_id,
            forced_end=options.forced_end,
        )
        return {"summary_ids": summary_ids}

    def decode(self, text_set: TextSet, outputs: list[Outputs]) -> list[str]:
        """Return the summaries, a sentence a line."""
        return [self.text.summary(output["summary_ids"]) for output in outputs]

    def statistics(
        self, examples: Sequence[SummaryExample], predictions: Sequence[str]
    ) -> NDArray[np.float64]:
        """Return the F-measures of ROUGE, times 100, and the words of summary and reference."""
        references = [example.summary for example in examples]
        lengths = [
            [len(words(summary)), len(words(reference))]
            for summary, reference in zip(predictions, references, strict=True)
        ]
        scores = rouge_scores(references, predictions)
        return np.hstack([scores, np.array(lengths, dtype=np.float64).reshape(-1, 2)])

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        """Return mean ROUGE, and `length_ratio`: words of summaries over those of references."""
        *scores, num_words, num_reference_words = statistics.mean(axis=0).tolist()
        return dict(zip(ROUGE_TYPES, scores, strict=True)) | {
            "length_ratio": num_words / num_reference_words if num_reference_words else math.nan
        }

    def submission(
        self, examples: Sequence[SummaryExample], predictions: Sequence[str]
    ) -> dict[str, bytes]:
        """Return summaries, one per line (`<n>` for line ends, as Pegasus), and JSON lines."""
        items = [
            {"id": example.id, "summary": summary}
            for example, summary in zip(examples, predictions, strict=True)
        ]
        files = {
            "predictions.txt": [_one_line(summary) for summary in predictions],
            "predictions.jsonl": [json.dumps(item, ensure_ascii=False) for item in items],
        }
        if all(example.summary is not None for example in examples):
            files["references.txt"] = [_one_line(example.summary) for example in examples]
        return {
            name: "".join(f"{line}\n" for line in lines).encode() for name, lines in files.items()
        }

    def baselines(
        self, train_examples: Iterable[SummaryExample] | None, examples: Sequence[SummaryExample]
    ) -> dict[str, list[str]]:
        """Return `lead` (first sentences) and `sum_basic` (those of frequent words)."""
        # As long as `LEAD_SENTENCES`, or as the mean of the training summaries, else of the
        # references.
        count = LEAD_SENTENCES.get(self.options.set, 0)
        measured = examples if train_examples is None else train_examples
        references = [len(words(example.summary)) for example in measured]
        size = {"num_sentences": count} if count else {"num_words": max(1.0, np.mean(references))}
        return {
            function.__name__: [function(example.document, **size) for example in examples]
            for function in (lead, sum_basic)
        }


def _one_line(summary: str) -> str:
    return summary.replace("\n", NEWLINE_PIECE)
