"""One run of `predict`: the windows of a source to arrays, a stream or a file."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dna_bigbird.bundles.choice import Models, choose_labels, notes_on
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.messages import for_reader
from dna_bigbird.models.label_types import TRACKS
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.partial_results import progress_bar
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.predictor import Predictor, check_together
from dna_bigbird.prediction.results import Predictions
from dna_bigbird.prediction.window_run import Frame, WindowRun
from dna_bigbird.prediction.windows.bins import BinRows
from dna_bigbird.prediction.windows.tiling import Window, WindowSource
from dna_bigbird.prediction.writers.target import (
    Target,
    WriteContext,
    frame_of,
    header_of,
    lines_of,
    table_line,
    write_rows,
)


class PredictionRun(WindowRun):
    """Models that score the windows of a source, chunk by chunk."""

    computer: Predictor

    def __init__(
        self,
        model: Models,
        labels: str | Sequence[str] | None,
        strand: str | None,
        compute: Compute,
        progress: bool,
        span: str = "window",
        window: int | None = None,
        raw: bool = False,
    ) -> None:
        super().__init__(model, progress)
        check_together(self._bundles)
        columns = choose_labels(self._bundles[0].config.label_names, labels)
        self.strand = strand or self._bundles[0].config.default_strand
        self._model_notes = notes_on(model, self._bundles, self.strand)
        if strand is None and self.strand == "forward":
            text = "this model reads the given strand; for windows of unknown strand: --strand both"
            self._model_notes.append(for_reader(text))
        # With 'interval' the source reads each window on its strand; the model reads it as it is.
        strand = "both" if self.strand == "both" else "forward"
        self.bins: BinRows | None = None
        self._num_short = 0
        if span == "bins" or self._bundles[0].config.label_type == TRACKS:
            window_bp = window or self._bundles[0].config.window_bp
            self.bins = BinRows.for_bundles(self._bundles, window_bp)
            self._model_notes += self.bins.notes(self._bundles)
        self.computer = Predictor(
            self._bundles,
            compute=compute,
            strand=strand,
            labels=columns,
            bins=self.bins,
            raw=raw,
        )
        self.label_names = self.computer.label_names
        self.window_bp = self.computer.window_bp

    def notes(self, source: WindowSource) -> list[str]:
        """Return what a user should know about the computation, one line each."""
        lines = super().notes(source)
        if self._num_short:
            lines.append(
                f"{self._num_short} sequences of fewer than {self.bins.window_bp} bp have no rows"
            )
        return lines

    def margin_bp(self, span: str, window: int | None, target: Target | None) -> int:
        """Return how many bases at either end of a window get no score in BED and bigWig files."""
        if span != "bin":
            return 0
        if target is None or not target.is_track:
            raise InputError("--span bin is for BED and bigWig; other formats keep whole windows")
        bundle = self._bundles[0]
        if bundle.config.label_type == TRACKS:
            raise InputError(
                "--span bin: a model of tracks predicts every bin of a window; leave it out"
            )
        bin_bp = bundle.config.bin_bp
        window_bp = window or self.window_bp
        if not bin_bp or bin_bp > window_bp:
            raise InputError(
                f"--span bin: {bundle.folder} labels whole windows of {window_bp} bp, it has no bins"
            )
        return (window_bp - bin_bp) // 2

    def in_memory(self, source: WindowSource) -> Predictions:
        """Return all probabilities as arrays."""
        nothing = frame_of([], np.empty((0, len(self.label_names)), np.float32))
        columns = self.columns(source, [nothing])
        return Predictions(**columns, label_names=self.label_names, notes=self.notes(source))

    def lines(self, frame: Frame, with_header: bool) -> Iterator[str]:
        if with_header:
            yield table_line(header_of(self.label_names, frame), "tsv")
        yield from lines_of(frame, "tsv")

    def frames(self, source: WindowSource, *, done: int = 0, shown: bool = True) -> Iterator[Frame]:
        """Yield windows, or bins, and probabilities as columns, chunk by chunk, after `done` of these rows."""
        per_window = self.bins.count if self.bins else 1
        with progress_bar(self.progress and shown, source.count, done // per_window) as update:
            for rows, probabilities in self.computer.score_windows(self._left(source, done)):
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


def write(target: Target, stored: PartialResults, context: WriteContext) -> None:
    """Write finished rows (frames of `frame_of`), whole or not at all."""
    path = target.path
    if target.format in ("tsv", "csv"):
        write_rows(path, stored, context, target.format)
    elif target.format == "bed":
        from dna_bigbird.prediction.writers.tracks import write_bed

        write_bed(path, stored, context)
    elif target.format == "hdf5":
        from dna_bigbird.prediction.writers.arrays import write_predictions

        write_predictions(path, stored, context)
    else:
        from dna_bigbird.prediction.writers.tracks import write_bigwig

        write_bigwig(target, stored, context)
