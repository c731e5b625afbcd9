"""Sequences to logits, in this process or in one of several."""

# S sequences, R sequences that are computed, L labels, M bundles, B batch, T tokens

import logging
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.errors import InputError
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.engine import set_backend
from dna_bigbird.inference.runner import BundleRunner, Groups
from dna_bigbird.models.ensemble import logit_of_mean


class GroupLogits(NamedTuple):
    """The logits of some groups."""

    logits: np.ndarray
    """(S, L), float64, of all sequences of all groups in order; NaN for one without A, C, G and T."""
    num_split: list[int]
    """Number of groups that were cut into parts, per bundle."""


class MeanScorer:
    """Several bundles whose probabilities are averaged.

    Args:
        compute: With a `precision` that is not 'auto'.
        labels: Columns to return, per bundle.
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

    def __call__(self, groups: Groups) -> GroupLogits:
        """Return the logits of the mean probabilities."""
        results = [scorer.score(groups) for scorer in self._scorers]
        logits_MSL = np.stack(
            [
                logits_SL[:, columns]
                for (logits_SL, _), columns in zip(results, self._labels, strict=True)
            ]
        )
        return GroupLogits(mean_logit(logits_MSL), [num_split for _, num_split in results])


class BundleScorer:
    """One bundle, ready to compute."""

    def __init__(self, bundle: Bundle, compute: Compute, device: torch.device) -> None:
        self._runner = BundleRunner(bundle, compute, device)
        self._num_labels = len(bundle.config.label_names)

    def score(self, groups: Groups) -> tuple[np.ndarray, int]:
        """Return the logits (S, L) and the number of groups that were cut; equal texts are computed once."""
        parts, tokens, num_split = self._runner.plan(groups)
        logits_RL = np.empty((len(tokens), self._num_labels))
        for batch, rows in self._runner.run([*tokens.values()], self._forward):
            logits_RL[batch] = rows
        row_of = {text: row for row, text in enumerate(tokens)}
        result_SL = np.full((len(parts), self._num_labels), np.nan)
        for row, texts in zip(result_SL, parts, strict=True):
            of_parts = [row_of[text] for text in texts if text in row_of]
            if of_parts:
                row[:] = mean_logit(logits_RL[of_parts][:, None])
        return result_SL, num_split

    def _forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        return self._runner.model(token_ids_BT, is_padding_BT).double()


def mean_logit(logits_MSL: np.ndarray) -> np.ndarray:
    """Return the logit of the mean probability, (S, L), from logits."""
    if len(logits_MSL) == 1:
        return logits_MSL[0]
    return logit_of_mean(torch.from_numpy(logits_MSL)).numpy()


def fingerprint(model: nn.Module) -> int:
    """Return a checksum of the weights."""
    checksum = 0
    for parameter in model.parameters():
        weights = parameter.detach().cpu().flatten().view(torch.uint8).numpy()
        checksum = zlib.crc32(weights, checksum)
    return checksum


class LoadScorer(NamedTuple):
    """Makes a scorer in a process of its own.

    Raises:
        InputError: If a folder has other weights than the bundle in memory.
    """

    folders: list[Path]
    fingerprints: list[int]
    compute: Compute
    device: str
    labels: list[int]
    threads: int

    def __call__(self, number: int) -> MeanScorer:
        """Return the scorer of process `number`; processes take the GPUs in turn."""
        torch.set_num_threads(self.threads)
        # The parent process has printed the warnings.
        logging.getLogger("dna_bigbird").setLevel(logging.ERROR)
        device = torch.device(self.device)
        if device.type == "cuda":
            device = torch.device("cuda", number % torch.cuda.device_count())
        bundles = [load_bundle(folder) for folder in self.folders]
        for bundle, expected in zip(bundles, self.fingerprints, strict=True):
            if fingerprint(bundle.model) != expected:
                raise InputError(
                    f"{bundle.folder}: holds other weights than the model in memory, and --workers "
                    "reads the folder; save the model there, or use --workers 0"
                )
            set_backend(bundle, self.compute.backend, device)
        return MeanScorer(bundles, self.compute, device, self.labels)
