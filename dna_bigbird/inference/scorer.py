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
from dna_bigbird.inference.devices import set_backend
from dna_bigbird.inference.runner import BundleRunner, Groups
from dna_bigbird.models.ensemble import logit_of_mean


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
        self._runner = BundleRunner(bundle, compute, device)
        self._num_labels = len(bundle.config.label_names)

    def score(self, groups: Groups) -> tuple[np.ndarray, int]:
        """Return the logits (S, L) and how many groups were cut; equal texts are computed once."""
        parts, tokens, num_split = self._runner.plan(groups)
        found_RL = np.empty((len(tokens), self._num_labels))
        for batch, rows in self._runner.run([*tokens.values()], self._forward):
            found_RL[batch] = rows
        places = {text: row for row, text in enumerate(tokens)}
        result_SL = np.full((len(parts), self._num_labels), np.nan)
        for row, texts in zip(result_SL, parts, strict=True):
            of_parts = [places[text] for text in texts if text in places]
            if of_parts:
                row[:] = mean_logit(found_RL[of_parts][:, None])
        return result_SL, num_split

    def _forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        return self._runner.model(token_ids_BT, is_padding_BT).double()


def mean_logit(logits_MSL: np.ndarray) -> np.ndarray:
    """Return the logit of the mean of probabilities that are given as logits, (S, L)."""
    if len(logits_MSL) == 1:
        return logits_MSL[0]
    return logit_of_mean(torch.from_numpy(logits_MSL)).numpy()


def fingerprint(model: nn.Module) -> int:
    """Return a number that tells one set of weights from another."""
    found = 0
    for parameter in model.parameters():
        found = zlib.crc32(parameter.detach().cpu().flatten().view(torch.uint8).numpy(), found)
    return found


class LoadScorer(NamedTuple):
    """Makes a scorer in a process of its own.

    Raises:
        InputError: If a folder holds other weights than the bundle that was given.
    """

    folders: list[Path]
    fingerprints: list[int]
    compute: Compute
    device: str
    labels: list[int]
    threads: int

    def __call__(self, number: int) -> Scorer:
        """Return the scorer of process `number`; processes take the GPUs in turn."""
        torch.set_num_threads(self.threads)
        # What there is to warn of, the parent process has said.
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
        return Scorer(bundles, self.compute, device, self.labels)
