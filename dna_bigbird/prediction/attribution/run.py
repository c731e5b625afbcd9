"""One run of `attribute`: the windows of a source to arrays or a file."""

# n windows, W bases of a window, L labels

from collections.abc import Iterator, Sequence

import numpy as np

from dna_bigbird.bundles.choice import Models, choose_labels
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.prediction.attribution.attributor import Attributor, Method
from dna_bigbird.prediction.compute import Compute, exact
from dna_bigbird.prediction.engine import chunks_of
from dna_bigbird.prediction.partial_results import progress_bar
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.predictor import check_together
from dna_bigbird.prediction.results import Attributions
from dna_bigbird.prediction.window_run import Frame, WindowRun
from dna_bigbird.prediction.windows.bins import tracks_of
from dna_bigbird.prediction.windows.tiling import Window, WindowSource
from dna_bigbird.prediction.writers.attributions import (
    OF_BASES,
    base_codes,
    base_table,
    table_lines,
    write_hdf5_files,
)
from dna_bigbird.prediction.writers.target import Target, WriteContext, window_columns

CHUNK_VALUES = 2**20
"""Effects in memory at once, about."""
MOST_LABELS = 20
"""Each label takes a backward pass."""


class AttributionRun(WindowRun):
    """Models that attribute the windows of a source, to A, C, G, T in place of a base too."""

    computer: Attributor

    @checked()
    def __init__(
        self,
        model: Models,
        labels: str | Sequence[str] | None,
        method: Method,
        strand: str | None,
        compute: Compute,
        progress: bool,
        with_bases: bool,
        window: int | None = None,
        central_bp: int = 0,
    ) -> None:
        super().__init__(model, progress)
        check_together(self._bundles)
        names = self._bundles[0].config.label_names
        chosen = choose_labels(names, labels)
        if len(chosen) > MOST_LABELS:
            raise InputError(
                f"{len(chosen)} labels: each one takes a pass through the model of its own; choose up to "
                f"{MOST_LABELS} with --labels"
            )
        if compute.workers:
            raise InputError(
                f"--workers {compute.workers}: attribute computes in one process; leave it out, or give --threads"
            )
        self.strand = strand or self._bundles[0].config.default_strand
        read = "both" if self.strand == "both" else "forward"
        summed = tracks_of(self._bundles, window, central_bp).get("summed")
        self.computer = Attributor(self._bundles, chosen, exact(compute), method, read, summed)
        self.label_names, self.window_bp = self.computer.label_names, self.computer.window_bp
        self.with_bases = with_bases and self.computer.reads_bases

    def in_memory(self, source: WindowSource) -> Attributions:
        """Return all effects as arrays."""
        return Attributions(
            **self.columns(source), label_names=self.label_names, notes=self.notes(source)
        )

    def lines(self, frame: Frame, with_header: bool) -> Iterator[str]:
        return table_lines(frame, self.label_names, "tsv", with_header)

    def frames(self, source: WindowSource, *, done: int = 0, shown: bool = True) -> Iterator[Frame]:
        """Yield windows and effects as columns, chunk by chunk, from window number `done`."""
        # bases (n, W); effects (n, W, L), NaN beyond the end of a short window; difference (n, L);
        # of_bases (n, W, 4, L)
        per_base = len(self.label_names) * (5 if self.with_bases else 1)
        with progress_bar(self.progress and shown, source.count, done) as update:
            for windows in chunks_of(
                source.windows(done), lambda w: len(w.bases) * per_base, CHUNK_VALUES
            ):
                yield self._frame(windows, source.window_bp)
                update(len(windows))

    def _frame(self, windows: list[Window], window_bp: int) -> Frame:
        shape = (len(windows), window_bp)
        num_labels = len(self.label_names)
        columns = {
            "bases": base_codes([window.forward for window in windows], window_bp),
            "effects": np.full((*shape, num_labels), np.nan, np.float32),
            "difference": np.empty((len(windows), num_labels), np.float32),
        }
        if self.with_bases:
            columns[OF_BASES] = np.full((*shape, 4, num_labels), np.nan, np.float32)
        of_windows = self.computer.of_windows([window.bases for window in windows])
        for row, (window, effects) in enumerate(zip(windows, of_windows, strict=True)):
            effects = effects.of_other_strand() if window.is_reverse else effects
            columns["effects"][row, : len(window.bases)] = effects.effects
            columns["difference"][row] = effects.difference
            if self.with_bases:
                columns[OF_BASES][row, : len(window.bases)] = effects.of_bases
        return window_columns(windows) | columns


def write(target: Target, stored: PartialResults, context: WriteContext) -> None:
    """Write finished rows (frames of `AttributionRun`), whole or not at all."""
    if target.format == "bigwig":
        from dna_bigbird.prediction.writers.tracks import EFFECTS, write_bigwig

        write_bigwig(target, stored, context, EFFECTS)
    elif target.format == "hdf5":
        write_hdf5_files(target, stored, context)
    else:
        base_table(target.path, stored, context.label_names, target.format)
