"""One run of `attribute`: the windows of a source to arrays or a file."""

# n windows, W bases of a window, L labels

from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.choice import Models, choose_labels, load_models, notes_on
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.prediction.attribution.attributor import Attributor, Method
from dna_bigbird.prediction.compute import Compute, exact
from dna_bigbird.prediction.engine import chunks_of
from dna_bigbird.prediction.partial_results import (
    checksums_of,
    open_spool,
    progress_bar,
    run_identity,
)
from dna_bigbird.prediction.predictor import check_together
from dna_bigbird.prediction.results import Attributions
from dna_bigbird.prediction.windows.tiling import Window, WindowSource
from dna_bigbird.prediction.writers.attributions import (
    OF_BASES,
    base_codes,
    base_table,
    write_hdf5_files,
    write_table,
)  # fmt: skip
from dna_bigbird.prediction.writers.target import ROW_NAME, Target, WriteContext, window_columns

CHUNK_VALUES = 2**20
"""Effects in memory at once, about."""
MOST_LABELS = 20
"""Each label takes a backward pass."""


class AttributionRun:
    """Models that attribute the windows of a source, chunk by chunk.

    Args:
        labels: Names or patterns, see `choose_labels`.
        method, strand: As in `attribute`.

    Raises:
        InputError: If a model, a label or the method does not fit, or more than MOST_LABELS labels are chosen.
    """

    @checked()
    def __init__(
        self,
        model: Models,
        labels: str | Sequence[str] | None,
        method: Method,
        strand: str,
        compute: Compute,
        progress: bool,
    ) -> None:
        self._bundles = load_models(model)
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
        self.attributor = Attributor(
            self._bundles, chosen, exact(compute), method, "both" if strand == "both" else "forward"
        )
        self._model_notes = notes_on(model)
        self.label_names, self.window_bp = self.attributor.label_names, self.attributor.window_bp
        self.progress = progress

    def notes(self, source: WindowSource) -> list[str]:
        """Return what a user should know about the computation, one line each."""
        return [*self._model_notes, *self.attributor.notes(), *source.records.lines()]

    def in_memory(self, source: WindowSource) -> Attributions:
        """Return all effects as arrays."""
        frames = list(self.frames(source, with_bases=self.attributor.reads_bases))
        joined = {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}
        for name in {"sequence", ROW_NAME} & joined.keys():
            joined[name] = np.char.decode(joined[name], "utf-8")
        return Attributions(**joined, label_names=self.label_names, notes=self.notes(source))

    def to_stream(self, source: WindowSource, stream: TextIO) -> int:
        """Write the table as it is computed; return the number of windows."""
        return write_table(stream, self.frames(source), self.label_names)

    def to_file(
        self, source: WindowSource, target: Target, context: WriteContext, resume: bool
    ) -> int:
        """Compute all effects into a spool, then write the file; return the number of windows."""
        identity = run_identity(context.settings, context.checksums, source.files)
        with_bases = target.format == "hdf5" and self.attributor.reads_bases
        identity |= {"format": "hdf5" if with_bases else "effects"}
        with open_spool(target.path, identity, resume) as spool:
            for frame in self.frames(source, spool.rows, with_bases):
                spool.append(frame)
            if target.format == "bigwig":
                from dna_bigbird.prediction.writers.bigwig import write_base_tracks

                write_base_tracks(target, spool, context)
            elif target.format == "hdf5":
                write_hdf5_files(target, spool, context)
            else:
                base_table(target.path, spool, context.label_names, target.format)
            return spool.rows

    def context(
        self,
        source: WindowSource,
        settings: Mapping[str, object],
        sequences: Mapping[str, str] | None,
        assembly: str,
    ) -> WriteContext:
        """Return what a file records about the rows."""
        compute = self.attributor.compute
        return WriteContext(
            label_names=self.label_names,
            lengths=lambda: source.lengths,
            settings={
                **settings,
                "labels": self.label_names,
                "precision": compute.precision,
                "float32_matmul": compute.float32_matmul,
            },
            assembly=assembly,
            files=source.files,
            checksums=checksums_of([bundle.folder for bundle in self._bundles], sequences),
        )

    def frames(
        self, source: WindowSource, done: int = 0, with_bases: bool = False
    ) -> Iterator[dict[str, NDArray]]:
        """Yield windows and effects as columns, chunk by chunk, from window number `done`.

        Columns: those of `window_columns`; bases (n, W) as `base_codes`; effects (n, W, L), NaN beyond the end of a
        short window; difference (n, L); with `with_bases` of_bases (n, W, 4, L).
        """
        per_base = len(self.label_names) * (5 if with_bases else 1)
        with progress_bar(self.progress, source.count, done) as update:
            for windows in chunks_of(
                source.windows(done), lambda w: len(w.bases) * per_base, CHUNK_VALUES
            ):
                yield self._frame(windows, source.window_bp, with_bases)
                update(len(windows))

    def _frame(self, windows: list[Window], window_bp: int, with_bases: bool) -> dict[str, NDArray]:
        shape = (len(windows), window_bp)
        num_labels = len(self.label_names)
        columns = {
            "bases": base_codes([window.forward for window in windows], window_bp),
            "effects": np.full((*shape, num_labels), np.nan, np.float32),
            "difference": np.empty((len(windows), num_labels), np.float32),
        }
        if with_bases:
            columns[OF_BASES] = np.full((*shape, 4, num_labels), np.nan, np.float32)
        of_windows = self.attributor.of_windows([window.bases for window in windows])
        for row, (window, effects) in enumerate(zip(windows, of_windows, strict=True)):
            effects = effects.of_other_strand() if window.is_reverse else effects
            columns["effects"][row, : len(window.bases)] = effects.effects
            columns["difference"][row] = effects.difference
            if with_bases:
                columns[OF_BASES][row, : len(window.bases)] = effects.of_bases
        return window_columns(windows) | columns
