"""`embed`: hidden states of a model for windows of DNA, in memory or as a file."""

# n windows, T tokens, E hidden size

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.choice import InputModel, load_models
from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.files import sha256_of
from dna_bigbird.inference.batches import chunks_of
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.embedder import Embedder, Pooling
from dna_bigbird.inference.progress import progress_bar
from dna_bigbird.inference.spool import file_identity, open_spool
from dna_bigbird.inference.windows.inputs import check_lengths, checksums_of, window_source
from dna_bigbird.inference.windows.source import WindowSource
from dna_bigbird.inference.windows.tiling import Window
from dna_bigbird.inference.writers.vectors import (
    COUNTS,
    OF_TOKENS,
    VectorFormat,
    chosen_format,
    write_vectors,
)
from dna_bigbird.paths import InputFile, OutputFile

CHUNK_BP = {"pooled": 250_000, "tokens": 50_000}
"""Bases held in memory at once; the vectors of all their tokens are held too."""


@dataclass(frozen=True)
class Embeddings:
    """Vectors of n windows, in memory; coordinates are 0-based, half-open on the sequence."""

    sequence: NDArray[np.str_]
    """(n,), names."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    vectors: NDArray[np.float32]
    """(n, E), NaN where a window holds no A, C, G or T; with pooling 'tokens' (T, E)."""
    offset: NDArray[np.int64] | None = None
    """(n + 1,), with 'tokens': the vectors of window i are `vectors[offset[i]:offset[i + 1]]`."""
    token_start: NDArray[np.int64] | None = None
    """(T,), with 'tokens': first base of each token."""
    token_end: NDArray[np.int64] | None = None
    """(T,), with 'tokens': where each token ends."""
    notes: list[str] = field(default_factory=list)
    """What a user should know of how they were computed."""


@dataclass(frozen=True)
class WrittenVectors:
    """What was written."""

    output: Path
    windows: int
    hidden_size: int
    notes: list[str] = field(default_factory=list)
    """What a user should know of how they were computed."""


@checked(rest=Compute)
def embed(
    fasta: InputFile | None = None,
    bed: InputFile | None = None,
    sequences: Mapping[str, str] | None = None,
    *,
    model: InputModel = None,
    output: OutputFile | None = None,
    format: VectorFormat | None = None,
    pooling: Pooling = "mean",
    layer: int = -1,
    window: int | None = None,
    stride: int | None = None,
    strand: Literal["both", "forward"] | None = None,
    assembly: str = "unknown",
    resume: bool = False,
    progress: bool = False,
    **compute,
) -> Embeddings | WrittenVectors:
    """Give every window of DNA the hidden states of a model, as one vector or one a token.

    Args:
        fasta: FASTA file: plain, gzip or bgzip, or '-' for standard input.
        bed: Read only these intervals of the FASTA, which is then a genome; coordinates are its own.
        sequences: DNA by name, in place of files.
        model: Bundle of a single model, pretrained or fine-tuned, or its folder; without it the
            one that comes with the package.
        output: File to write; None returns the arrays.
        format: Goes by the name of `output` if not given.
        pooling: 'mean' or 'max' over the tokens of a window, 'cls' for the [CLS] token, 'tokens'
            for all of them, each with its bases. [CLS] and [SEP] count in none of the others.
        layer: Number of layers passed: 0 are the embeddings, -1 is the last layer.
        window: Window in base pairs; if not given the model's own, of a pretrained model what
            its context holds on average.
        stride: Step between windows in base pairs, at least 1; the window if not given.
        strand: 'both' averages the vectors of a window and of its reverse complement, 'forward'
            takes it as it is. 'both' if not given, with 'tokens' always 'forward'.
        assembly: Name of the assembly that the coordinates are on, which the file keeps.
        resume: Continue an interrupted run of the same settings and inputs, if there is one.
        progress: Draw a bar on standard error, if that is a terminal.
        compute: Fields of `Compute`; they change time and memory, not the vectors.

    Returns:
        `Embeddings` without an output, else `WrittenVectors`.

    Raises:
        InputError: If a value is not one of the choices, settings contradict each other, an input
            or the model is wrong, or the output cannot be written. It names arguments (`stride`).
        TypeError: If there is no such argument.
        Interrupted: On Ctrl-C or SIGTERM while a file is written; `resume` continues it.

    Example:
        >>> found = embed(sequences={"repeat": "ACGT" * 100}, window=300, stride=50)
        >>> found.start.tolist(), len(found.vectors)
        ([0, 50, 100], 3)
    """
    check_lengths(window=window, stride=stride)
    path = None if output is None else Path(output)
    if path is None and (resume or format):
        raise InputError("--resume and --format need --output: without it no file is written")
    chosen = chosen_format(path, format) if path else "npz"
    if pooling == "tokens" and strand == "both":
        raise InputError("--pooling tokens reads one strand; leave out --strand both")
    both_strands = pooling != "tokens" and strand != "forward"
    (bundle,) = load_models(model)
    embedder = Embedder(
        bundle, compute=Compute(**compute), pooling=pooling, layer=layer, both_strands=both_strands
    )
    window = usual_window(bundle) if window is None else window
    stride = window if stride is None else stride
    source = window_source(fasta, bed, sequences, window=window, stride=stride, strand="forward")
    source.check()
    if resume and source.count is None:
        raise InputError(
            "--resume: standard input cannot be read from the start again; save it as a file"
        )
    if path is None:
        return _in_memory(source, embedder, progress)
    settings = {
        "pooling": pooling,
        "layer": embedder.layer,
        "window": window,
        "stride": stride,
        "strand": "both" if both_strands else "forward",
        "precision": embedder.compute.precision,
        "float32_matmul": embedder.compute.float32_matmul,
    }
    checksums = checksums_of([bundle], sequences)
    identity = {
        **settings,
        "checksums": checksums,
        "inputs": {role: file_identity(file) for role, file in source.files.items()},
    }
    with open_spool(path, identity, resume) as spool:
        for frame in _frames(source, embedder, progress, spool.rows):
            spool.append(frame, ragged=OF_TOKENS if COUNTS in frame else ())
        checksums |= {role: sha256_of(file) for role, file in source.files.items()}
        about = {
            "assembly": assembly,
            "command": " ".join(["embed", *(f"--{k} {v}" for k, v in settings.items())]),
            "inputs": checksums,
        }
        write_vectors(path, chosen, spool, about)
        return WrittenVectors(path, spool.rows, embedder.width, embedder.notes())


def usual_window(bundle: Bundle) -> int:
    """Return the window in base pairs that a model was made for.

    Raises:
        InputError: If the bundle does not tell.
    """
    config = bundle.config
    if config.window_bp:
        return int(config.window_bp)
    if config.bp_per_token:
        return math.floor((config.encoder.max_tokens - 2) * config.bp_per_token)
    raise InputError(f"{bundle.folder}: it does not say how long its windows are; give --window")


def _frames(
    source: WindowSource, embedder: Embedder, progress: bool, done: int = 0
) -> Iterator[dict[str, NDArray]]:
    """Yield windows and vectors as columns, chunk by chunk, from window number `done` on."""
    is_pooled = embedder.pooling != "tokens"
    most = CHUNK_BP["pooled" if is_pooled else "tokens"]
    with progress_bar(progress, source.count, done) as update:
        for windows in chunks_of(source.windows(done), lambda window: len(window.bases) + 64, most):
            texts = [window.bases for window in windows]
            columns = {
                "sequence": np.array([window.name.encode() for window in windows]),
                "start": np.array([window.start for window in windows], np.int64),
                "end": np.array([window.end for window in windows], np.int64),
            }
            if is_pooled:
                yield columns | {"vectors": embedder.pooled(texts)}
            else:
                yield columns | _token_columns(windows, embedder.tokens(texts))
            update(len(windows))


def _token_columns(windows: list[Window], found: list[tuple[NDArray, NDArray]]) -> dict:
    spans = np.concatenate(
        [window.start + spans for window, (_, spans) in zip(windows, found, strict=True)]
    )
    return {
        COUNTS: np.array([len(vectors) for vectors, _ in found], np.int64),
        "vectors": np.concatenate([vectors for vectors, _ in found]),
        "token_start": spans[:, 0],
        "token_end": spans[:, 1],
    }


def _in_memory(source: WindowSource, embedder: Embedder, progress: bool) -> Embeddings:
    frames = list(_frames(source, embedder, progress))
    joined = {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}
    joined["sequence"] = np.char.decode(joined["sequence"], "utf-8")
    counts = joined.pop(COUNTS, None)
    if counts is not None:
        joined["offset"] = np.concatenate([[0], np.cumsum(counts)])
    return Embeddings(**joined, notes=embedder.notes())
