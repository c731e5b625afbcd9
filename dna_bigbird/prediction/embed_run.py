"""One run of `embed`: the windows of a source to arrays or a file."""

# n windows, T tokens, E hidden size

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.choice import Model, load_models, notes_on
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.embedder import Embedder
from dna_bigbird.prediction.engine import chunks_of
from dna_bigbird.prediction.partial_results import (
    checksums_of,
    open_spool,
    progress_bar,
    run_identity,
)
from dna_bigbird.prediction.results import (
    Embeddings,
    Pooling,
    VectorFormat,
    VectorSettings,
    WrittenVectors,
)
from dna_bigbird.prediction.windows.tiling import Window, WindowSource
from dna_bigbird.prediction.writers.arrays import COUNTS, write_vectors
from dna_bigbird.prediction.writers.target import ROW_NAME, window_columns

CHUNK_BP = {"pooled": 250_000, "tokens": 50_000}
"""Bases held in memory at once, with the vectors of all their tokens."""


class EmbeddingRun:
    """A model that computes the vectors of the windows of a source, chunk by chunk.

    Args:
        pooling, layer, both_strands: As in `Embedder`.

    Raises:
        InputError: As `load_models` and `Embedder`.
    """

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
        (self._bundle,) = load_models(model)
        self._model_notes = notes_on(model)
        self.embedder = Embedder(
            self._bundle, compute=compute, pooling=pooling, layer=layer, both_strands=both_strands
        )
        self.model_bp = self._bundle.config.window_bp
        self.progress = progress

    def notes(self, source: WindowSource) -> list[str]:
        """Return what a user should know about the computation, one line each."""
        return [*self._model_notes, *self.embedder.notes(), *source.records.lines()]

    def usual_window(self) -> int:
        """Return the window in base pairs that the model was made for.

        Raises:
            InputError: If the bundle does not record it.
        """
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
        frames = list(self.frames(source))
        joined = {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}
        for name in {"sequence", ROW_NAME} & joined.keys():
            joined[name] = np.char.decode(joined[name], "utf-8")
        counts = joined.pop(COUNTS, None)
        if counts is not None:
            joined["offset"] = np.concatenate([[0], np.cumsum(counts)])
        return Embeddings(**joined, notes=self.notes(source), settings=self._vector_settings())

    @checked()
    def to_file(
        self,
        source: WindowSource,
        path: Path,
        format: VectorFormat,
        *,
        sequences: Mapping[str, str] | None,
        assembly: str,
        resume: bool,
    ) -> WrittenVectors:
        """Compute all vectors into a spool, then write the file."""
        settings = self._settings(source)
        checksums = checksums_of([self._bundle.folder], sequences)
        identity = run_identity(settings, checksums, source.files)
        with open_spool(path, identity, resume) as spool:
            for frame in self.frames(source, spool.rows):
                spool.append(frame)
            checksums |= {role: sha256_of(file) for role, file in source.files.items()}
            attributes = {
                "assembly": assembly,
                "command": " ".join(["embed", *(f"--{k} {v}" for k, v in settings.items())]),
                "inputs": checksums,
            }
            write_vectors(path, format, spool, attributes)
            return WrittenVectors(
                path, spool.rows, self.embedder.width, self.notes(source), self._vector_settings()
            )

    def _vector_settings(self) -> VectorSettings:
        strand = "both" if self.embedder.both_strands else "forward"
        folder = str(self._bundle.folder)
        return VectorSettings(folder, self.embedder.pooling, self.embedder.layer, strand)

    def _settings(self, source: WindowSource) -> dict[str, object]:
        """Return the options that change the vectors."""
        return {
            "pooling": self.embedder.pooling,
            "layer": self.embedder.layer,
            "window": source.window_bp,
            "stride": source.stride_bp,
            "strand": self._vector_settings().strand,
            "precision": self.embedder.compute.precision,
            "float32_matmul": self.embedder.compute.float32_matmul,
        }

    def frames(self, source: WindowSource, done: int = 0) -> Iterator[dict[str, NDArray]]:
        """Yield windows and vectors as columns, chunk by chunk, from window number `done`."""
        is_pooled = self.embedder.pooling != "tokens"
        most = CHUNK_BP["pooled" if is_pooled else "tokens"]
        with progress_bar(self.progress, source.count, done) as update:
            for windows in chunks_of(source.windows(done), lambda w: len(w.bases) + 64, most):
                texts = [window.bases for window in windows]
                if is_pooled:
                    vectors = {"vectors": self.embedder.pooled(texts)}
                else:
                    vectors = token_columns(windows, self.embedder.tokens(texts))
                yield window_columns(windows) | vectors
                update(len(windows))


def token_columns(
    windows: list[Window], tokens: list[tuple[NDArray, NDArray]]
) -> dict[str, NDArray]:
    """Return the vectors and bases of the tokens of some windows as columns.

    Args:
        tokens: Vectors and bases of each window, as `Embedder.tokens` returns them.
    """
    spans = np.concatenate(
        [window.start + spans for window, (_, spans) in zip(windows, tokens, strict=True)]
    )
    return {
        COUNTS: np.array([len(vectors) for vectors, _ in tokens], np.int64),
        "vectors": np.concatenate([vectors for vectors, _ in tokens]),
        "token_start": spans[:, 0],
        "token_end": spans[:, 1],
    }
