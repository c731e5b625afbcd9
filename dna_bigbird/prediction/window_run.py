"""One run over the windows of a source: what `predict`, `embed` and `attribute` have in common."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.choice import Models, load_models, notes_on
from dna_bigbird.core.errors import Interrupted, OutputError
from dna_bigbird.core.signals import status_of
from dna_bigbird.prediction.partial_results import checksums_of, computed_rows, run_identity
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.windows.tiling import WindowSource
from dna_bigbird.prediction.writers.target import ROW_NAME, WriteContext

Frame = dict[str, NDArray]
"""Columns of some windows, as a part of the finished rows has them."""


class WindowRun(ABC):
    """Models that compute columns for the windows of a source, chunk by chunk."""

    computer: Any
    """A `Predictor`, an `Embedder` or an `Attributor`."""
    label_names: list[str]
    """Empty for vectors."""

    def __init__(self, model: Models, progress: bool) -> None:
        self._bundles = load_models(model)
        self._model_notes = notes_on(model)
        self.progress = progress

    @abstractmethod
    def frames(self, source: WindowSource, *, done: int = 0, shown: bool = True) -> Iterator[Frame]:
        """Yield the columns chunk by chunk, after the first `done` rows; `shown`: a progress bar may be drawn."""

    def notes(self, source: WindowSource) -> list[str]:
        """Return what a user should know about the computation, one line each."""
        return [*self._model_notes, *self.computer.notes(), *source.records.lines()]

    def context(
        self,
        source: WindowSource,
        settings: Mapping[str, object],
        sequences: Mapping[str, str] | None,
        assembly: str,
        margin_bp: int = 0,
    ) -> WriteContext:
        """Return what a file records about the rows."""
        compute = self.computer.compute
        return WriteContext(
            label_names=self.label_names,
            lengths=lambda: source.lengths,
            settings={
                **settings,
                **({"labels": self.label_names} if self.label_names else {}),
                "precision": compute.precision,
                "float32_matmul": compute.float32_matmul,
            },
            margin_bp=margin_bp,
            assembly=assembly,
            files=source.files,
            checksums=checksums_of([bundle.folder for bundle in self._bundles], sequences),
        )

    def columns(self, source: WindowSource, nothing: Iterable[Frame] = ()) -> Frame:
        """Return all rows, names as text; `nothing` are frames in place of none."""
        frames = list(self.frames(source)) or list(nothing)
        joined = {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}
        for name in {"sequence", ROW_NAME} & joined.keys():
            joined[name] = np.char.decode(joined[name], "utf-8")
        return joined

    def lines(self, frame: Frame, with_header: bool) -> Iterator[str]:
        """Yield the rows of a frame as lines of TSV."""
        raise NotImplementedError

    def to_stdout(self, source: WindowSource) -> int:
        """Write the `lines` of frames as they are computed; return the number of rows."""
        count = 0
        try:
            for frame in self.frames(source, shown=not sys.stdout.isatty()):
                sys.stdout.writelines(self.lines(frame, not count))
                sys.stdout.flush()
                count += len(frame["start"])
        except KeyboardInterrupt as stop:
            raise Interrupted(
                f"interrupted: standard output ends after {count} windows, it is incomplete",
                status_of(stop),
            ) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.filename is not None:  # an input
                raise
            raise OutputError(f"standard output: cannot write to it: {error.strerror}") from error
        return count

    def to_file(
        self,
        source: WindowSource,
        path: Path,
        context: WriteContext,
        resume: bool,
        write: Callable[[PartialResults], object],
        **more: str,
    ) -> int:
        """Compute and write all rows, return their number; `more` must be the same too for a run to be continued."""
        identity = run_identity(context.settings, context.checksums, source.files) | more
        return computed_rows(
            path, identity, resume, lambda done: self.frames(source, done=done), write
        )
