"""`embed`: the windows of a source to hidden states, one vector per window or per token."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.choice import Model
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.prediction.compute import Compute, beyond_training
from dna_bigbird.prediction.engine import chunks_of, set_up
from dna_bigbird.prediction.partial_results import progress_bar
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.results import (
    Embeddings,
    Pooling,
    VectorFormat,
    VectorSettings,
    WrittenVectors,
)
from dna_bigbird.prediction.runner import BundleRunner, Groups
from dna_bigbird.prediction.window_run import Frame, WindowRun
from dna_bigbird.prediction.windows.tiling import Window, WindowSource
from dna_bigbird.prediction.writers.arrays import COUNTS, write_vectors
from dna_bigbird.prediction.writers.target import window_columns

# S sequences, n windows, B batch, T tokens, E hidden size


class Embedder:
    """Computes the hidden states of a bundle's encoder after `layer` layers, without its head."""

    # Mean and maximum leave out [CLS] and [SEP]. A sequence of more tokens than the context is cut
    # into the fewest equal parts that fit: mean and [CLS] are then means over the parts, weighted
    # by their tokens.

    @checked()
    def __init__(
        self,
        bundle: Bundle,
        *,
        compute: Compute,
        pooling: Pooling = "mean",
        layer: int = -1,
        both_strands: bool = True,
    ) -> None:
        bundle.check_reads_dna()
        bundle.check_single("embed")
        if compute.workers:
            raise InputError(
                f"--workers {compute.workers}: embed computes in one process; leave it out, or "
                "give --threads"
            )
        setup = set_up([bundle], compute)
        self.compute, self._notes = setup.compute, setup.notes
        self.layer = layer_number(layer, bundle.config.encoder.num_layers)
        self.width: int = bundle.config.encoder.hidden_size
        self.pooling, self.both_strands = pooling, both_strands
        self._runner = BundleRunner(bundle, setup.compute, setup.device)
        self._encoder_config = bundle.config.encoder
        self._num_split = self._longest = 0

    def notes(self) -> list[str]:
        """Return what a user should know about the computation, one line each."""
        lines = [*self._notes]
        if self._num_split:
            lines.append(
                f"{self._num_split} windows had more tokens than the model's context of "
                f"{self._runner.max_pieces} and were read in equal parts"
            )
        return [*lines, *beyond_training(self._encoder_config, self._longest)]

    def pooled(self, sequences: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per sequence (S, E); NaN for one without any A, C, G or T."""
        strands = 2 if self.both_strands else 1
        groups = [(text, reverse_complement(text))[:strands] for text in sequences]
        parts, tokens = self._plan(groups)
        part_vectors_RE = np.empty((len(tokens), self.width))
        for batch, rows in self._runner.run([*tokens.values()], self._forward):
            part_vectors_RE[batch] = rows
        row_of = {text: row for row, text in enumerate(tokens)}
        vectors_SE = np.full((len(parts), self.width), np.nan)
        for row, texts in enumerate(parts):
            rows = [row_of[text] for text in texts if text in row_of]
            if rows and self.pooling == "max":
                vectors_SE[row] = part_vectors_RE[rows].max(axis=0)
            elif rows:
                counts = [len(tokens[text]) for text in texts if text in row_of]
                vectors_SE[row] = np.average(part_vectors_RE[rows], axis=0, weights=counts)
        mean_SE = vectors_SE.reshape(len(sequences), strands, self.width).mean(axis=1)
        return mean_SE.astype(np.float32)

    def tokens(
        self, sequences: Sequence[str], *, together: int = 1
    ) -> list[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Return each sequence's vectors (T, E) and the bases (T, 2) of its tokens, half-open."""
        # So many sequences `together` have equal lengths, and are cut at the same bases where one
        # exceeds the context.
        groups = [sequences[i : i + together] for i in range(0, len(sequences), together)]
        parts, tokens = self._plan(groups)
        texts = list(tokens)
        states = {}
        for batch, rows in self._runner.run([*tokens.values()], self._forward):
            for index, states_TE in zip(batch, rows, strict=True):
                count = len(tokens[texts[index]])
                states[texts[index]] = states_TE[1 : count + 1]  # between [CLS] and [SEP]
        return [self._joined(texts, states) for texts in parts]

    def _plan(self, groups: Groups) -> tuple[list[list[str]], dict[str, NDArray[np.int64]]]:
        plan = self._runner.plan(groups)
        self._num_split += plan.num_split
        self._longest = max(self._longest, plan.longest)
        return plan.parts, plan.tokens

    def _joined(
        self, texts: list[str], states: dict[str, NDArray[np.float32]]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        vectors, spans, offset = [np.empty((0, self.width), np.float32)], [], 0
        for text in texts:
            if text in states:
                vectors.append(states[text])
                spans.append(self._runner.tokenizer.encode_with_spans(text)[1] + offset)
            offset += len(text)
        return np.concatenate(vectors), np.concatenate([np.empty((0, 2), np.int64), *spans])

    def _forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        encoder = self._runner.model.encoder
        states_BTE = encoder(token_ids_BT, is_padding_BT, num_layers=self.layer).float()
        if self.pooling == "tokens":
            return states_BTE
        if self.pooling == "cls":
            return states_BTE[:, 0]
        is_read_BT = ~is_padding_BT
        is_read_BT[:, 0] = False
        is_read_BT &= is_read_BT.roll(-1, dims=1)  # the last token of a row is [SEP]
        if self.pooling == "max":
            return states_BTE.masked_fill(~is_read_BT[..., None], -torch.inf).amax(dim=1)
        share_BT = is_read_BT / is_read_BT.sum(dim=1, keepdim=True)
        return (share_BT[..., None] * states_BTE).sum(dim=1)  # autocast leaves this sum in float32


def layer_number(layer: int, num_layers: int) -> int:
    """Return how many layers to pass; -1 counts from the last one.

    Example:
        >>> layer_number(-1, 12), layer_number(-13, 12), layer_number(3, 12)
        (12, 0, 3)
    """
    passed = layer if layer >= 0 else num_layers + 1 + layer
    if not 0 <= passed <= num_layers:
        raise InputError(
            f"--layer {layer}: the model has {num_layers} layers; expected 0 (embeddings) to "
            f"{num_layers}, or -1 (the last) to {-num_layers - 1}"
        )
    return passed


def usual_window_bp(bundle: Bundle) -> int:
    """Return the window that the bundle was made for: of a pretrained one what it reads."""
    config = bundle.config
    if config.window_bp:
        return int(config.window_bp)
    if config.bp_per_token:
        return int((config.encoder.max_tokens - 2) * config.bp_per_token)
    raise InputError(f"{bundle.folder}: it does not record how long its windows are; give --window")


CHUNK_BP = {"pooled": 250_000, "tokens": 50_000}
"""Bases held in memory at once, with the vectors of all their tokens."""


class EmbeddingRun(WindowRun):
    """A model that computes the vectors of the windows of a source, chunk by chunk."""

    computer: Embedder

    @checked()
    def __init__(
        self,
        model: Model | None,
        pooling: Pooling,
        layer: int,
        both_strands: bool,
        compute: Compute,
        progress: bool,
    ) -> None:
        super().__init__(model, progress)
        (self.bundle,) = self._bundles
        self.label_names = []
        self.computer = Embedder(
            self.bundle, compute=compute, pooling=pooling, layer=layer, both_strands=both_strands
        )
        self.model_bp = self.bundle.config.window_bp

    def in_memory(self, source: WindowSource) -> Embeddings:
        """Return all vectors as arrays."""
        joined = self.columns(source)
        counts = joined.pop(COUNTS, None)
        if counts is not None:
            joined["offset"] = np.concatenate([[0], np.cumsum(counts)])
        return Embeddings(**joined, notes=self.notes(source), settings=self._vector_settings())

    @checked()
    def to_vectors(
        self,
        source: WindowSource,
        path: Path,
        format: VectorFormat,
        *,
        sequences: Mapping[str, str] | None,
        assembly: str,
        resume: bool,
    ) -> WrittenVectors:
        """Compute all vectors into partial results, then write the file."""
        context = self.context(source, self._settings(source), sequences, assembly)

        def write(stored: PartialResults) -> None:
            options = (f"--{name} {value}" for name, value in context.settings.items())
            attributes = {
                "assembly": assembly,
                "command": " ".join(["embed", *options]),
                "inputs": context.inputs(),
            }
            write_vectors(path, format, stored, attributes)

        rows = self.to_file(source, path, context, resume, write)
        return WrittenVectors(
            path, rows, self.computer.width, self.notes(source), self._vector_settings()
        )

    def _vector_settings(self) -> VectorSettings:
        strand = "both" if self.computer.both_strands else "forward"
        folder = str(self.bundle.folder)
        return VectorSettings(folder, self.computer.pooling, self.computer.layer, strand)

    def _settings(self, source: WindowSource) -> dict[str, object]:
        """Return the options that change the vectors."""
        return {
            "pooling": self.computer.pooling,
            "layer": self.computer.layer,
            "window": source.window_bp,
            "stride": source.stride_bp,
            "strand": self._vector_settings().strand,
        }

    def frames(self, source: WindowSource, *, done: int = 0, shown: bool = True) -> Iterator[Frame]:
        """Yield windows and vectors as columns, chunk by chunk, from window number `done`."""
        is_pooled = self.computer.pooling != "tokens"
        most = CHUNK_BP["pooled" if is_pooled else "tokens"]
        with progress_bar(self.progress and shown, source.count, done) as update:
            for windows in chunks_of(source.windows(done), lambda w: len(w.bases) + 64, most):
                texts = [window.bases for window in windows]
                if is_pooled:
                    vectors = {"vectors": self.computer.pooled(texts)}
                else:
                    vectors = token_columns(windows, self.computer.tokens(texts))
                yield window_columns(windows) | vectors
                update(len(windows))


def token_columns(
    windows: list[Window], tokens: list[tuple[NDArray, NDArray]]
) -> dict[str, NDArray]:
    """Return vectors and bases of the tokens of some windows (`Embedder.tokens`) as columns."""
    spans = np.concatenate(
        [window.start + spans for window, (_, spans) in zip(windows, tokens, strict=True)]
    )
    return {
        COUNTS: np.array([len(vectors) for vectors, _ in tokens], np.int64),
        "vectors": np.concatenate([vectors for vectors, _ in tokens]),
        "token_start": spans[:, 0],
        "token_end": spans[:, 1],
    }
