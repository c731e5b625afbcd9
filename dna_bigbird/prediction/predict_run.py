"""One run of `predict`: the windows of a source to arrays, a stream or a file."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.choice import Models, choose_labels, load_models, notes_on
from dna_bigbird.core.errors import InputError, Interrupted, OutputError
from dna_bigbird.core.signals import status_of
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.partial_results import (
    checksums_of,
    open_spool,
    progress_bar,
    run_identity,
)
from dna_bigbird.prediction.partial_results_file import Spool
from dna_bigbird.prediction.predictor import Predictor, check_together
from dna_bigbird.prediction.results import Predictions
from dna_bigbird.prediction.windows.bins import BinRows
from dna_bigbird.prediction.windows.tiling import Window, WindowSource
from dna_bigbird.prediction.writers.target import (
    ROW_NAME,
    Target,
    WriteContext,
    Writer,
    frame_of,
    header_of,
    lines_of,
    table_line,
    write_csv,
    write_tsv,
)


class PredictionRun:
    """Models that score the windows of a source, chunk by chunk.

    Args:
        labels: Names or patterns, see `choose_labels`.
        strand, span, window: As in `predict`.

    Raises:
        InputError: As `load_models`, `choose_labels` and `Predictor`.
    """

    def __init__(
        self,
        model: Models,
        labels: str | Sequence[str] | None,
        strand: str,
        compute: Compute,
        progress: bool,
        span: str = "window",
        window: int | None = None,
    ) -> None:
        self.progress = progress
        self._bundles = load_models(model)
        self._model_notes = notes_on(model)
        check_together(self._bundles)
        columns = choose_labels(self._bundles[0].config.label_names, labels)
        # With 'interval' the source reads each window on its strand; the model reads it as it is.
        strand = "both" if strand == "both" else "forward"
        self.bins: BinRows | None = None
        self._num_short = 0
        if span == "bins":
            window_bp = window or self._bundles[0].config.window_bp
            self.bins = BinRows.for_bundles(self._bundles, window_bp)
            self._model_notes += self.bins.notes(self._bundles)
        self.predictor = Predictor(
            self._bundles, compute=compute, strand=strand, labels=columns, bins=self.bins
        )
        self.label_names = self.predictor.label_names
        self.window_bp = self.predictor.window_bp

    def notes(self, source: WindowSource) -> list[str]:
        """Return what a user should know about the computation, one line each."""
        lines = [*self._model_notes, *self.predictor.notes(), *source.records.lines()]
        if self._num_short:
            lines.append(
                f"{self._num_short} sequences of fewer than {self.bins.window_bp} bp have no rows"
            )
        return lines

    def margin_bp(self, span: str, window: int | None, target: Target | None) -> int:
        """Return how many bases at either end of a window get no score in BED and bigWig files.

        Raises:
            InputError: If the format or the model has no bins.
        """
        if span != "bin":
            return 0
        if target is None or not target.is_track:
            raise InputError("--span bin is for BED and bigWig; other formats keep whole windows")
        bundle = self._bundles[0]
        bin_bp = bundle.config.bin_bp
        window_bp = window or self.window_bp
        if not bin_bp or bin_bp > window_bp:
            raise InputError(
                f"--span bin: {bundle.folder} labels whole windows of {window_bp} bp, it has no bins"
            )
        return (window_bp - bin_bp) // 2

    def context(
        self,
        source: WindowSource,
        settings: Mapping[str, object],
        sequences: Mapping[str, str] | None,
        margin_bp: int,
        assembly: str,
    ) -> WriteContext:
        """Return what a file records about the rows."""
        return WriteContext(
            label_names=self.label_names,
            lengths=lambda: source.lengths,
            settings={
                **settings,
                "labels": self.label_names,
                "precision": self.predictor.precision,
                "float32_matmul": self.predictor.compute.float32_matmul,
            },
            margin_bp=margin_bp,
            assembly=assembly,
            files=source.files,
            checksums=checksums_of([bundle.folder for bundle in self._bundles], sequences),
        )

    def in_memory(self, source: WindowSource) -> Predictions:
        """Return all probabilities as arrays."""
        frames = list(self.frames(source))
        frames = frames or [frame_of([], np.empty((0, len(self.label_names)), np.float32))]
        columns = {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}
        for name in {"sequence", ROW_NAME} & columns.keys():
            columns[name] = np.char.decode(columns[name], "utf-8")
        return Predictions(**columns, label_names=self.label_names, notes=self.notes(source))

    def to_stream(self, source: WindowSource, stream: TextIO) -> int:
        """Write rows as they are computed; return their number.

        Raises:
            InputError: On bad input. The stream then ends early.
            Interrupted: On Ctrl-C or SIGTERM. The stream then ends early.
            OutputError: If the stream cannot be written.
        """
        count = 0
        try:
            for frame in self.frames(source, shown=not stream.isatty()):
                if not count:
                    stream.write(table_line(header_of(self.label_names, frame), "tsv"))
                stream.writelines(lines_of(frame, "tsv"))
                stream.flush()
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
        self, source: WindowSource, target: Target, context: WriteContext, resume: bool
    ) -> int:
        """Compute all rows into a spool, then write the file; return the number of rows."""
        identity = run_identity(context.settings, context.checksums, source.files)
        with open_spool(target.path, identity, resume) as spool:
            for frame in self.frames(source, done=spool.rows):
                spool.append(frame)
            write(target, spool, context)
            return spool.rows

    def frames(
        self, source: WindowSource, *, done: int = 0, shown: bool = True
    ) -> Iterator[dict[str, NDArray]]:
        """Yield windows, or bins, and probabilities as columns, chunk by chunk, after `done` of these rows."""
        per_window = self.bins.count if self.bins else 1
        with progress_bar(self.progress and shown, source.count, done // per_window) as update:
            for rows, probabilities in self.predictor.score_windows(self._left(source, done)):
                yield frame_of(rows, probabilities)
                update(len(rows) // per_window)

    def _left(self, source: WindowSource, done: int) -> Iterator[Window]:
        """Yield the windows whose rows come after `done` ones."""
        if self.bins is None:
            return source.windows(done)
        return itertools.islice(self._whole(source.windows()), done // self.bins.count, None)

    def _whole(self, windows: Iterable[Window]) -> Iterator[Window]:
        """Yield the windows that have bins, and count the others."""
        for window in windows:
            if len(window.bases) == self.bins.window_bp:
                yield window
            else:
                self._num_short += 1


def write(target: Target, spool: Spool, context: WriteContext) -> None:
    """Write finished rows (frames of `frame_of`), whole or not at all.

    Raises:
        OutputError: If the disk is full.
    """
    writer_of(target)(target.path, spool, context)


def writer_of(target: Target) -> Writer:
    """Return the writer of a format; its libraries are imported only now."""
    if target.format in ("tsv", "csv"):
        return write_tsv if target.format == "tsv" else write_csv
    if target.format == "bed":
        from dna_bigbird.prediction.writers.tracks import write_bed

        return write_bed
    if target.format == "hdf5":
        from dna_bigbird.prediction.writers.arrays import write_predictions

        return write_predictions
    from dna_bigbird.prediction.writers.bigwig import write_bigwig, write_bigwig_folder

    return write_bigwig_folder if target.folder else write_bigwig
