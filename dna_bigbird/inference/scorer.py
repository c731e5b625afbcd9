"""Sequences to logits, in one process."""

# S sequences, R sequences that are computed, L labels, M bundles, B batch, T tokens

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from dna_bigbird.errors import InputError
from dna_bigbird.inference.batches import batches_of, padded, token_budget
from dna_bigbird.inference.bundle import Bundle
from dna_bigbird.inference.compute import Compute
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.ensemble import logit_of_mean
from dna_bigbird.models.precision import BFLOAT16, float32_matmul

Groups = Sequence[Sequence[str]]
"""Normalised sequences; those of a group belong together (strands, alleles) and are cut alike."""


class Scores(NamedTuple):
    """What comes back for some groups."""

    logits: np.ndarray
    """(S, L), float64, of all sequences of all groups in order; NaN for one without A, C, G and T."""
    num_split: list[int]
    """By bundle, how many groups were cut into parts."""


class Scorer:
    """Some bundles whose mean probability counts.

    Args:
        compute: With a `precision` that is not 'auto'.
        labels: Columns wanted of each bundle.
    """

    def __init__(
        self,
        bundles: Sequence[Bundle],
        compute: Compute,
        device: torch.device,
        labels: Sequence[Sequence[int]],
    ) -> None:
        self._scorers = [BundleScorer(bundle, compute, device) for bundle in bundles]
        self._labels = [list(columns) for columns in labels]

    def __call__(self, groups: Groups) -> Scores:
        """Return the logits of the mean probabilities."""
        results = [scorer.score(groups) for scorer in self._scorers]
        logits_MSL = np.stack(
            [found[:, columns] for (found, _), columns in zip(results, self._labels, strict=True)]
        )
        return Scores(mean_logit(logits_MSL), [num_split for _, num_split in results])


class BundleScorer:
    """One bundle, ready to compute."""

    def __init__(self, bundle: Bundle, compute: Compute, device: torch.device) -> None:
        self._tokenizer, self._compute, self._device = bundle.tokenizer, compute, device
        self._model = bundle.model.to(device).eval()
        self._num_labels = len(bundle.config["label_names"])
        config = EncoderConfig(**bundle.config["encoder"])
        self._max_pieces = max_pieces(bundle)
        self._most_tokens = token_budget(config, device)
        # Such a pattern follows the width of the batch: equal widths, or neighbours would matter.
        self._same_blocks = config.block_size if config.keeps_published_padding else 0

    def score(self, groups: Groups) -> tuple[np.ndarray, int]:
        """Return the logits (S, L) and how many groups were cut; equal texts are computed once."""
        texts = list(dict.fromkeys(text for group in groups for text in group if text.strip("N")))
        tokens = dict(zip(texts, self._tokenizer.encode_all(texts), strict=True))
        parts: list[list[str]] = []
        num_split = 0
        for group in groups:
            longest = max((len(tokens[text]) for text in group if text in tokens), default=0)
            if longest <= self._max_pieces:
                parts += [[text] if text in tokens else [] for text in group]
            else:
                parts += self._cut(group, tokens, longest)
                num_split += 1
        wanted = dict.fromkeys(itertools.chain.from_iterable(parts))
        places = {text: row for row, text in enumerate(wanted)}
        found_RL = self._logits([tokens[text] for text in wanted])
        result_SL = np.full((len(parts), self._num_labels), np.nan)
        for row, texts in zip(result_SL, parts, strict=True):
            if texts:
                row[:] = mean_logit(found_RL[[places[text] for text in texts]][:, None])
        return result_SL, num_split

    def _cut(
        self, group: Sequence[str], tokens: dict[str, np.ndarray], longest: int
    ) -> list[list[str]]:
        """Cut the sequences of a group into as few equal parts as fit, each into as many.

        Parts without a base are left out; `tokens` gets the others.
        """
        count = -(-longest // self._max_pieces)
        while True:
            cut = [[part for part in equal_parts(text, count) if part.strip("N")] for text in group]
            new = list({part for parts in cut for part in parts} - tokens.keys())
            tokens.update(zip(new, self._tokenizer.encode_all(new), strict=True))
            if all(len(tokens[part]) <= self._max_pieces for parts in cut for part in parts):
                return cut
            count += max(1, count // 20)

    @torch.inference_mode()
    def _logits(self, encoded: Sequence[np.ndarray]) -> np.ndarray:
        """Return the logits (R, L), float64, of token ids that fit the context."""
        found_RL = np.empty((len(encoded), self._num_labels))
        lengths = [len(ids) + 2 for ids in encoded]
        size = self._compute.batch_size
        with self._arithmetic():
            for batch in batches_of(
                lengths, tokens=self._most_tokens, batch_size=size, same_blocks=self._same_blocks
            ):
                found_RL[batch] = self._batch([encoded[i] for i in batch])
        return found_RL

    def _batch(self, encoded: Sequence[np.ndarray]) -> np.ndarray:
        """Return the logits of one batch; in halves if the memory is too small for it."""
        try:
            token_ids_BT, is_padding_BT = padded(encoded, self._tokenizer)
            logits_BL = self._model(token_ids_BT.to(self._device), is_padding_BT.to(self._device))
            return logits_BL.double().cpu().numpy()
        except torch.OutOfMemoryError:
            if len(encoded) == 1:
                raise InputError(
                    f"a sequence of {len(encoded[0])} tokens does not fit into the memory of "
                    f"{self._device}; use a shorter --window, or --device cpu"
                ) from None
        torch.cuda.empty_cache()
        half = len(encoded) // 2
        self._most_tokens //= 2
        return np.concatenate([self._batch(encoded[:half]), self._batch(encoded[half:])])

    @contextlib.contextmanager
    def _arithmetic(self) -> Iterator[None]:
        enabled = self._compute.precision == BFLOAT16
        with (
            float32_matmul(self._compute.float32_matmul),
            torch.autocast(self._device.type, torch.bfloat16, enabled=enabled),
        ):
            yield


def max_pieces(bundle: Bundle) -> int:
    """Return how many tokens of sequence the context holds, beside [CLS] and [SEP]."""
    return bundle.config["encoder"]["max_tokens"] - 2


def mean_logit(logits_MSL: np.ndarray) -> np.ndarray:
    """Return the logit of the mean of probabilities that are given as logits, (S, L)."""
    if len(logits_MSL) == 1:
        return logits_MSL[0]
    return logit_of_mean(torch.from_numpy(logits_MSL)).numpy()


def equal_parts(text: str, count: int) -> list[str]:
    """Cut a text into parts whose lengths differ by at most one.

    Example:
        >>> equal_parts("AACCGGT", 3)
        ['AA', 'CCG', 'GT']
    """
    # Rounded, not cut off: so the parts of the other strand are the same bases if the length is even.
    edges = np.rint(np.linspace(0, len(text), count + 1)).astype(int)
    return [text[a:b] for a, b in itertools.pairwise(edges)]
