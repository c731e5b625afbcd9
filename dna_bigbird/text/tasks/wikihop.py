"""WikiHop: which of the candidates answers the query."""

from collections import namedtuple
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.corpus.batches import pad_right
from dna_bigbird.text.data.rows import NUM_SEGMENTS, TextFeatures, TextSet
from dna_bigbird.text.data.wikihop import (
    NO_TARGET,
    TASK,
    WikiHopExample,
    read_wikihop,
    wikihop_rows,
)
from dna_bigbird.text.question_models import ABSENT
from dna_bigbird.text.tasks.task import COMMON_FIELDS, Outputs, TextTask, common_fields, json_file
from dna_bigbird.text.text_baselines import most_mentioned

# B batch, T tokens, N candidates

WIKIHOP_FIELDS = (*COMMON_FIELDS, "global_tokens", "candidates_BN", "target_B")
WikiHopBatch = namedtuple("WikiHopBatch", WIKIHOP_FIELDS)
"""`candidates_BN`: position of each candidate's `[ans]`, or its global token, or `ABSENT`. `target_B`:
number of the answer, or `NO_TARGET`."""


class WikiHopTask(TextTask):
    """Reader, rows, model and metric. A prediction is a candidate, or None: a guess at random among them."""

    description = TASK
    monitor = "accuracy"
    num_segments = NUM_SEGMENTS

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[list[WikiHopExample], dict[str, int]]:
        return read_wikihop(path, split, masked=self.options.masked, gold=gold)

    def texts(self, examples: Sequence[WikiHopExample]) -> Iterator[str]:
        for example in examples:
            yield from example.documents

    def rows(self, examples: Sequence[WikiHopExample], tokenizer, *, training: bool) -> TextSet:
        form = {"training": training, "two_streams": self.two_streams}
        return wikihop_rows(examples, tokenizer, self.options, **form)

    def is_global(self, row: TextFeatures) -> NDArray[np.bool_]:
        """Return True for [CLS], query and candidates with their marks, as Longformer's paper has it (appendix D)."""
        return np.arange(len(row.token_ids)) < row.arrays["front"]

    def collate(self, rows: Sequence[tuple[int, TextFeatures]]) -> WikiHopBatch:
        return WikiHopBatch(
            **common_fields(rows),
            global_tokens=self.global_tokens_of(rows),
            candidates_BN=pad_right([row.arrays["candidates"] for _, row in rows], ABSENT),
            target_B=torch.tensor([int(row.arrays["target"][0]) for _, row in rows]),
        )

    def outputs(self, model: nn.Module, batch: WikiHopBatch) -> dict[str, Tensor]:
        """Return the candidates' `scores` (B, N)."""
        return {"scores": model(*batch[:3], batch.candidates_BN, batch.global_tokens)}

    def loss(self, outputs: dict[str, Tensor], batch: WikiHopBatch) -> Tensor:
        """Return the smoothed cross-entropy over a row's candidates, a mean over known targets."""
        scores_BN = outputs["scores"]
        is_there_BN = batch.candidates_BN != ABSENT
        log_shares_BN = scores_BN.log_softmax(dim=1).masked_fill(~is_there_BN, 0)
        of_target_B = log_shares_BN.gather(1, batch.target_B.clamp(min=0)[:, None])[:, 0]
        mean_B = log_shares_BN.sum(dim=1) / is_there_BN.sum(dim=1)
        smoothing = self.options.label_smoothing if torch.is_grad_enabled() else 0.0
        losses_B = -((1 - smoothing) * of_target_B + smoothing * mean_B)
        known_B = batch.target_B != NO_TARGET
        return (losses_B * known_B).sum() / known_B.sum().clamp(min=1)

    def decode(self, text_set: TextSet, outputs: list[Outputs]) -> list[str | None]:
        """Return the candidate with the highest score; the first one where there is no row."""
        best = dict.fromkeys(range(len(text_set.examples)), 0)
        for row, output in zip(text_set.rows, outputs, strict=True):
            scores_N = output["scores"][: len(row.arrays["candidates"])]
            best[row.example] = int(scores_N.argmax())
        return [text_set.examples[i].candidates[index] for i, index in best.items()]

    def statistics(
        self, examples: Sequence[WikiHopExample], predictions: Sequence[str | None]
    ) -> NDArray[np.float64]:
        """Return (n, 1), 1 where the prediction is the answer; a guess has its chance."""
        scores = [
            float(example.target is not None) / len(example.candidates)
            if prediction is None
            else float(prediction == example.answer)
            for example, prediction in zip(examples, predictions, strict=True)
        ]
        return np.array(scores).reshape(-1, 1)

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        return {"accuracy": float(statistics.mean())}

    def submission(
        self, examples: Sequence[WikiHopExample], predictions: Sequence[str]
    ) -> dict[str, bytes]:
        """Return the file of the leaderboard: answer by id, as the candidates are written."""
        answers = {
            example.id: example.written[example.candidates.index(prediction)]
            for example, prediction in zip(examples, predictions, strict=True)
        }
        return {"predictions.json": json_file(answers)}

    def baselines(
        self, train_examples: Sequence[WikiHopExample] | None, examples: Sequence[WikiHopExample]
    ) -> dict[str, list[str | None]]:
        """Return the candidate mentioned most, the first one, and a guess at random."""
        return {
            "most_mentioned": [
                example.candidates[most_mentioned(example.candidates, example.documents)]
                for example in examples
            ],
            "first_candidate": [example.candidates[0] for example in examples],
            "random": [None] * len(examples),
        }
