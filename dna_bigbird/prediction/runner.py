"""Sequences of DNA to logits or hidden states, in this process or in one of several.

Each distinct sequence is computed once, in parts where it exceeds the context.
"""

# S sequences, R sequences that are computed, L labels, M bundles, B batch, T tokens
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

import itertools
import logging
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.classifier import logit_of_mean, one_against_rest
from dna_bigbird.models.label_types import MULTI_CLASS, NUMBERS, REGRESSION, TRACKS
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.engine import Engine, set_backend

Result = TypeVar("Result")
Groups = Sequence[Sequence[str]]
"""Normalised sequences; those of a group belong together (strands, alleles) and are cut into equally many parts."""


class Plan(NamedTuple):
    """What has to be computed for some groups."""

    parts: list[list[str]]
    """The parts of every sequence of every group, in order."""
    tokens: dict[str, NDArray[np.int64]]
    """Token ids of every part, each text once; none of a part without any A, C, G or T."""
    num_split: int
    """Groups that were cut into parts."""
    longest: int
    """Most tokens of a sequence that is read whole, without [CLS] and [SEP]."""


class GroupLogits(NamedTuple):
    """The logits of some groups."""

    logits: np.ndarray
    """(S, L), float64, of all sequences of all groups in order; NaN for one without A, C, G and T. With bins
    (S · bins, L), those of a sequence one after the other.
    Log-odds of each label, of each class against the others; or targets in their unit."""
    num_split: list[int]
    """Number of groups that were cut into parts, per bundle."""
    longest: list[int]
    """Most tokens of a sequence that was read whole, per bundle."""


class PaddedTokens(NamedTuple):
    """A batch of sequences of DNA."""

    token_ids_BT: Tensor
    """int64, with [CLS] and [SEP]."""
    is_padding_BT: Tensor
    """bool."""


class BundleRunner:
    """One bundle, ready to compute; `max_pieces`: most tokens of a part, without [CLS], [SEP]."""

    def __init__(
        self,
        bundle: Bundle,
        compute: Compute,
        device: torch.device,
        with_gradients: bool = False,
    ) -> None:
        self._engine = Engine(bundle, compute, device, with_gradients)
        self._folder, self._precision = bundle.folder, compute.precision
        self.model = self._engine.model
        self.tokenizer = bundle.tokenizer
        encoder = bundle.config.encoder
        self.max_pieces = sys.maxsize if encoder.reads_any_length else encoder.max_tokens - 2

    def plan(self, groups: Groups) -> Plan:
        """Return the parts of all sequences; what fits the context is one part."""
        texts = list(dict.fromkeys(text for group in groups for text in group if text.strip("N")))
        tokens = dict(zip(texts, self._encode(texts), strict=True))
        parts: list[list[str]] = []
        num_split = most = 0
        for group in groups:
            longest = max((len(tokens[text]) for text in group if text in tokens), default=0)
            if longest <= self.max_pieces:
                parts += [[text] for text in group]
                most = max(most, longest)
            else:
                parts += self._cut(group, tokens, longest)
                num_split += 1
        distinct = dict.fromkeys(itertools.chain.from_iterable(parts))
        return Plan(
            parts, {text: tokens[text] for text in distinct if text in tokens}, num_split, most
        )

    def _encode(self, texts: list[str]) -> list[np.ndarray]:
        # With one thread, many processors would wait for the tokens of a small model.
        return self.tokenizer.encode_all(texts, num_threads=torch.get_num_threads())

    def _cut(
        self, group: Sequence[str], tokens: dict[str, np.ndarray], longest: int
    ) -> list[list[str]]:
        """Cut a group into as few equal parts as fit, texts into as many; add their `tokens`."""
        count = -(-longest // self.max_pieces)
        while True:
            cut = [equal_parts(text, count) for text in group]
            real = {part for parts in cut for part in parts if part.strip("N")}
            new = list(real - tokens.keys())
            tokens.update(zip(new, self._encode(new), strict=True))
            if all(len(tokens[part]) <= self.max_pieces for part in real):
                return cut
            count += max(1, count // 20)

    def run(
        self, encoded: Sequence[np.ndarray], forward: Callable[[Tensor, Tensor], Tensor]
    ) -> Iterator[tuple[list[int], list[np.ndarray]]]:
        """Compute token ids that fit the context; yield positions and rows of `forward`."""

        def rows(*batch: Tensor) -> list[np.ndarray]:
            values = forward(*batch).cpu().numpy()
            if np.isnan(values).any():
                raise InputError(
                    f"{self._folder}: the model gives nan for known bases; its weights are damaged, or "
                    f"too large for {self._precision}"
                )
            return list(values)

        return self.results(encoded, rows)

    def results(
        self, encoded: Sequence[np.ndarray], forward: Callable[[Tensor, Tensor], Result]
    ) -> Iterator[tuple[list[int], Result]]:
        """Compute sequences as `run`; yield positions in `encoded` and what `forward` returns for them."""
        return self._engine.run(
            [len(ids) + 2 for ids in encoded],
            lambda positions: padded([encoded[i] for i in positions], self.tokenizer),
            lambda batch: forward(*batch),
        )


def equal_parts(text: str, count: int) -> list[str]:
    """Cut a text into parts whose lengths differ by at most one.

    Example:
        >>> equal_parts("AACCGGT", 3)
        ['AA', 'CCG', 'GT']
    """
    # Rounded, not cut off: the parts of the other strand are then the same bases, if the length is even.
    edges = np.rint(np.linspace(0, len(text), count + 1)).astype(int)
    return [text[a:b] for a, b in itertools.pairwise(edges)]


def padded(encoded: Sequence[np.ndarray], tokenizer) -> PaddedTokens:
    """Return the batch of some sequences of token ids."""
    lengths = np.array([len(ids) + 2 for ids in encoded])
    token_ids = np.full((len(encoded), lengths.max()), tokenizer.pad_id, dtype=np.int64)
    token_ids[:, 0] = tokenizer.cls_id
    for row, ids in zip(token_ids, encoded, strict=True):
        row[1 : len(ids) + 1] = ids
        row[len(ids) + 1] = tokenizer.sep_id
    is_padding = np.arange(lengths.max()) >= lengths[:, None]
    return PaddedTokens(torch.from_numpy(token_ids), torch.from_numpy(is_padding))


class MeanScorer:
    """Several bundles whose probabilities are averaged; `num_bins`: of each window that are predicted."""

    def __init__(
        self,
        bundles: Sequence[Bundle],
        compute: Compute,
        device: torch.device,
        labels: Sequence[Sequence[int]],
        num_bins: int = 1,
    ) -> None:
        self._scorers = [BundleScorer(bundle, compute, device, num_bins) for bundle in bundles]
        self._labels = [list(columns) for columns in labels]
        self._label_type = bundles[0].config.label_type

    def __call__(self, groups: Groups) -> GroupLogits:
        """Return the logits of the mean probabilities, or mean targets."""
        results = [scorer.score(groups) for scorer in self._scorers]
        logits_MSL = np.stack(
            [
                logits_SL[:, columns]
                for (logits_SL, *_), columns in zip(results, self._labels, strict=True)
            ]
        )
        _, num_split, longest = zip(*results, strict=True)
        mean_SL = mean_output(logits_MSL, self._label_type)
        return GroupLogits(mean_SL, list(num_split), list(longest))


class BundleScorer:
    """One bundle, ready to compute; `num_bins` as in `MeanScorer`."""

    def __init__(
        self, bundle: Bundle, compute: Compute, device: torch.device, num_bins: int = 1
    ) -> None:
        self._runner = BundleRunner(bundle, compute, device)
        self._config, self._num_bins = bundle.config, num_bins
        self._num_labels = len(bundle.config.label_names)

    def score(self, groups: Groups) -> tuple[np.ndarray, int, int]:
        """Return logits or targets, groups that were cut, and the longest sequence read whole."""
        parts, tokens, num_split, longest = self._runner.plan(groups)
        if num_split and self._config.label_type == TRACKS:
            raise InputError(
                f"--window: it has more tokens than the {self._runner.max_pieces} that the model of tracks reads; leave "
                "it out"
            )
        of_one = (self._num_bins, self._num_labels)
        logits_RNL = np.empty((len(tokens), *of_one))
        for batch, rows in self._runner.run([*tokens.values()], self._forward):
            logits_RNL[batch] = np.reshape(rows, (-1, *of_one))
        row_of = {text: row for row, text in enumerate(tokens)}
        result_SNL = np.full((len(parts), *of_one), np.nan)
        for row, texts in zip(result_SNL, parts, strict=True):
            of_parts = [row_of[text] for text in texts if text in row_of]
            if of_parts:
                row[:] = mean_output(logits_RNL[of_parts], self._config.label_type)
        return result_SNL.reshape(-1, self._num_labels), num_split, longest

    def _forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return (B, L), with bins (B, bins · L)."""
        if self._num_bins == 1 or self._config.label_type == TRACKS:
            outputs_BL = self._runner.model(token_ids_BT, is_padding_BT)
            return label_values(outputs_BL, self._config).flatten(1)
        B, device = len(token_ids_BT), token_ids_BT.device
        reach = self._num_bins // 2
        offsets_N = torch.arange(-reach, reach + 1, device=device)
        bins_P2 = torch.cartesian_prod(torch.arange(B, device=device), offsets_N)
        outputs_PL = self._runner.model(token_ids_BT, is_padding_BT, bins_P2=bins_P2)
        return label_values(outputs_PL, self._config).reshape(B, -1)


def label_values(outputs_BL: Tensor, config: BundleConfig) -> Tensor:
    """Return the log-odds of labels, or targets in their unit, from outputs of the model, in float64."""
    outputs_BL = outputs_BL.double()
    if config.label_type == MULTI_CLASS:
        return one_against_rest(outputs_BL)
    if config.label_type == REGRESSION:
        means, stds = (outputs_BL.new_tensor(x) for x in (config.target_means, config.target_stds))
        return outputs_BL * stds + means
    if config.label_type == TRACKS:
        return nn.functional.softplus(outputs_BL) * outputs_BL.new_tensor(config.target_means)
    return outputs_BL


def mean_output(logits_MSL: np.ndarray, label_type: str) -> np.ndarray:
    """Return the logit of the mean probability, (S, L), from logits; the mean of targets."""
    if len(logits_MSL) == 1:
        return logits_MSL[0]
    if label_type in NUMBERS:
        return logits_MSL.mean(axis=0)
    return logit_of_mean(torch.from_numpy(logits_MSL)).numpy()


def fingerprint(model: nn.Module) -> int:
    """Return a checksum of the weights."""
    checksum = 0
    for parameter in model.parameters():
        weights = parameter.detach().cpu().flatten().view(torch.uint8).numpy()
        checksum = zlib.crc32(weights, checksum)
    return checksum


class LoadScorer(NamedTuple):
    """Makes a scorer in a process of its own."""

    folders: list[Path]
    fingerprints: list[int]
    compute: Compute
    device: str
    labels: list[int]
    threads: int
    num_bins: int = 1

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
        return MeanScorer(bundles, self.compute, device, self.labels, self.num_bins)
