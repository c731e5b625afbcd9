"""One run of `embed`: the windows of a source to arrays or a file."""

# n windows, T tokens, E hidden size

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.choice import Model
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.embedder import Embedder
from dna_bigbird.prediction.engine import chunks_of
from dna_bigbird.prediction.partial_results import progress_bar
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.results import (
    Embeddings,
    Pooling,
    VectorFormat,
    VectorSettings,
    WrittenVectors,
)
from dna_bigbird.prediction.window_run import Frame, WindowRun
from dna_bigbird.prediction.windows.tiling import Window, WindowSource
from dna_bigbird.prediction.writers.arrays import COUNTS, write_vectors
from dna_bigbird.prediction.writers.target import window_columns

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
        (self._bundle,) = self._bundles
        self.label_names = []
        self.computer = Embedder(
            self._bundle, compute=compute, pooling=pooling, layer=layer, both_strands=both_strands
        )
        self.model_bp = self._bundle.config.window_bp

    def usual_window(self) -> int:
        """Return the window in base pairs that the model was made for."""
        config = self._bundle.config
        if config.window_bp:
            return int(config.window_bp)
        if config.bp_per_token:
            return math.floor((config.encoder.max_tokens - 2) * config.bp_per_token)
        raise InputError(
            f"{self._bundle.folder}: it does not record how long its windows are; give --window"
        )

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
        folder = str(self._bundle.folder)
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
