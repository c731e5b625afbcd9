"""The rows of a track set: windows whose middles tile the genome, and the values of their bins, block by block."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.genome import Genome
from dna_bigbird.genome.coverage import Spans, covered_bp, unknown_spans
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.chromatin.peak_sheet import (
    SheetRow,
    is_measured,
    is_named,
    measured_regions,
    named_rows,
    read_sheet,
)
from dna_bigbird.labelled.labelled_data import LabelledData
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.set_files import counts_in_words
from dna_bigbird.labelled.splits import SPLITS, STRADDLING, TRAIN, SplitConfig
from dna_bigbird.labelled.tracks.config import TrackConfig
from dna_bigbird.labelled.tracks.signal_files import Signal, is_signal, open_signal
from dna_bigbird.models.label_types import TRACKS

# W windows, P bins of a window, G bins of a stretch, L tracks

MOST_CELLS = 1 << 24
"""Bins times tracks in memory at once, about."""
MOST_BP = 1 << 22
"""Bases of one track in memory at once, about."""
PERCENTILE_BINS = 1 << 24
"""Training bins of a track from which its percentile is computed; of more, those of evenly spaced windows."""
_NOWHERE = (np.empty(0, dtype=np.int64),) * 2


def track_rows(paths: Sequence[Path]) -> list[SheetRow]:
    """Return the rows of one sheet, or a row per bigWig or bedGraph file (`CTCF=ctcf.bw` names its track)."""
    if len(paths) == 1 and not is_named(paths[0]) and not is_signal(paths[0]):
        return read_sheet(paths[0])
    return named_rows(paths, "tracks", "--tracks")


@dataclass(frozen=True, eq=False)
class Track:
    """One file of signal on a genome."""

    row: SheetRow
    signal: Signal
    chromosomes: Mapping[str, str]
    """The genome's name of each measured chromosome, and that in the file."""
    measured: Mapping[str, Spans] | None
    """Regions where it was measured; None: all of these chromosomes."""

    @classmethod
    def of(
        cls,
        row: SheetRow,
        genome: Genome,
        measured: Mapping[str, Spans] | None,
        *,
        pieces: bool = False,
    ) -> "Track":
        """Open the file of a row and find its chromosomes; InputError if it is of another assembly."""
        signal = open_signal(row.path)
        chromosomes = {}
        for chrom, end in signal.ends.items():
            name = genome.find(chrom)
            if name is None:
                continue
            length = genome.lengths[name]
            if not pieces and (end != length if signal.has_lengths else end > length):
                what = "has" if signal.has_lengths else "reaches"
                raise InputError(
                    f"{row.path}: {chrom} {what} {end:,} bp, and {name} in {genome.path.name} has {length:,}. Is it "
                    "on another assembly? If the FASTA has only the first part of its chromosomes: --pieces true"
                )
            chromosomes[name] = chrom
        if not chromosomes:
            raise InputError(
                f"{row.path}: none of its chromosomes ({', '.join(list(signal.ends)[:5])}) is in "
                f"{genome.path.name} (it has {', '.join(list(genome.lengths)[:5])})"
            )
        return cls(row, signal, chromosomes, measured)

    def is_measured(self, chrom: str, bins: NDArray[np.int64], bin_bp: int) -> NDArray[np.bool_]:
        """Return which bins of a chromosome the track was measured in."""
        if chrom not in self.chromosomes:
            return np.zeros(len(bins), dtype=bool)
        return is_measured(self.measured, chrom, bins, bin_bp)

    def bins(self, chrom: str, first: int, last: int, config: TrackConfig) -> NDArray[np.float32]:
        """Return the values of the bins [first, last) of a chromosome, (G,), NaN where not measured."""
        bins = np.arange(first, last)
        measured = self.is_measured(chrom, bins, config.bin)
        if not measured.any():
            return np.full(len(bins), np.nan, np.float32)
        start, end = first * config.bin, last * config.bin
        bases = self.signal.values(self.chromosomes[chrom], start, end)
        is_listed = ~np.isnan(bases).reshape(-1, config.bin)
        is_known = is_listed.any(axis=1) if config.unlisted == "missing" else True
        bases = bases.reshape(is_listed.shape)
        if config.reduce == "max":
            fill = -np.inf if config.unlisted == "missing" else 0
            values = np.where(is_listed, bases, fill).max(axis=1)
        else:
            values = np.where(is_listed, bases, 0).sum(axis=1, dtype=np.float64)
            if config.reduce == "mean":
                count = is_listed.sum(axis=1) if config.unlisted == "missing" else config.bin
                values = values / np.maximum(count, 1)
        return np.where(measured & is_known, values, np.nan).astype(np.float32)


class TrackBins:
    """Reads the values of windows from several tracks; a bin with an N or an excluded base is missing."""

    def __init__(
        self,
        genome: Genome,
        tracks: Sequence[Track],
        config: TrackConfig,
        excluded: Mapping[str, Spans],
    ) -> None:
        self.genome, self.tracks, self.config = genome, tracks, config
        self.excluded = excluded
        self.clips = np.full(len(tracks), np.inf, np.float32)

    @property
    def num_bins(self) -> int:
        """P."""
        return self.config.num_bins

    def is_usable(self, chrom: str, first: int, last: int) -> NDArray[np.bool_]:
        """Return which bins of a chromosome have only known bases that are not excluded."""
        bin_bp = self.config.bin
        starts = np.arange(first, last) * bin_bp
        unknown = unknown_spans(self.genome, chrom, first * bin_bp, last * bin_bp)
        return (
            sum(
                covered_bp(spans, starts, starts + bin_bp)
                for spans in (unknown, self.excluded.get(chrom, _NOWHERE))
            )
            == 0
        )

    def blocks(self, windows: Windows) -> Iterator[NDArray[np.float32]]:
        """Yield the values of windows in order of chromosome and start, (W, P, L) each, transformed."""
        transform = {"log1p": np.log1p, "arcsinh": np.arcsinh}.get(self.config.transform)
        for block_WPL in self._raw(windows, self.tracks):
            block_WPL = np.minimum(block_WPL, self.clips)
            if transform is np.log1p and (block_WPL <= -1).any():
                track = int(np.nonzero(block_WPL <= -1)[2][0])
                raise InputError(
                    f"{self.tracks[track].row.path}: a bin of -1 or less has no log1p; use --transform arcsinh"
                )
            yield block_WPL if transform is None else transform(block_WPL)

    def choose_clips(self, windows: Windows) -> None:
        """Set the value to which each track is clipped, from its bins in training windows."""
        if self.config.clip == 100:
            return
        step = -(-len(windows) * self.num_bins // PERCENTILE_BINS)
        some = windows[slice(None, None, max(1, step))]
        for number, track in enumerate(self.tracks):
            values = np.concatenate([x.ravel() for x in self._raw(some, [track])])
            values = values[~np.isnan(values)]
            if len(values):
                self.clips[number] = np.percentile(values, self.config.clip)

    def _raw(self, windows: Windows, tracks: Sequence[Track]) -> Iterator[NDArray[np.float32]]:
        config = self.config
        first_bins = (windows.start + config.crop) // config.bin
        most = max(self.num_bins, min(MOST_BP // config.bin, MOST_CELLS // len(tracks)))
        stretch = windows.chrom.astype(np.int64) << 40 | first_bins // most
        edges = np.flatnonzero(np.diff(stretch)) + 1
        for here in np.split(np.arange(len(windows)), edges) if len(windows) else ():
            chrom = windows.chromosomes[windows.chrom[here[0]]]
            first, last = int(first_bins[here[0]]), int(first_bins[here[-1]]) + self.num_bins
            grid_GL = np.stack([x.bins(chrom, first, last, config) for x in tracks], axis=1)
            grid_GL[~self.is_usable(chrom, first, last)] = np.nan
            yield grid_GL[(first_bins[here] - first)[:, None] + np.arange(self.num_bins)]


_LEFT_OUT = (
    "left_out_window_with_n",
    "left_out_window_without_measured_bin",
    "left_out_window_across_splits",
)
"""Why a window is left out; the first reason that holds counts."""


def build_tracks(
    genome: Genome,
    sheet: Sequence[SheetRow],
    config: TrackConfig,
    split: SplitConfig,
    *,
    excluded: Mapping[str, Spans],
    pieces: bool,
) -> LabelledData:
    """Return the windows of a track set; their values are read while it is written."""
    regions = measured_regions(sheet, genome, pieces=pieces)
    tracks = [Track.of(x, genome, regions.get(x.measured), pieces=pieces) for x in sheet]
    reader = TrackBins(genome, tracks, config, excluded)
    counts: dict[str, float] = {"tracks_read": len(tracks), **dict.fromkeys(_LEFT_OUT, 0)}
    chroms, starts = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    for rank, (chrom, length) in enumerate(genome.lengths.items()):
        start = _windows_of(reader, chrom, length, split, counts)
        starts.append(start)
        chroms.append(np.full(len(start), rank, np.uint32))
    names = tuple(genome.lengths)
    windows = Windows(names, np.concatenate(chroms), np.concatenate(starts), config.window)
    splits = split.split_of_rows(windows).astype(np.uint8)
    counts |= {f"rows_{name}": int((splits == i).sum()) for i, name in enumerate(SPLITS)}
    if not counts["rows_train"]:
        raise InputError(f"no window is left for training: {counts_in_words(counts)}")
    reader.choose_clips(windows[splits == TRAIN])
    return LabelledData(
        task="tracks",
        window_bp=config.window,
        label_names=[x.label for x in sheet],
        label_groups=[x.group for x in sheet],
        label_cells=[x.cell for x in sheet],
        intervals=windows,
        names=[],
        labels=np.zeros((len(windows), 0), np.uint8),
        split=splits,
        bin_bp=config.bin,
        counts=counts,
        label_type=TRACKS,
        tracks=reader,
    )


def _windows_of(
    reader: TrackBins, chrom: str, length: int, split: SplitConfig, counts: dict[str, float]
) -> NDArray[np.int64]:
    """Return the starts of the windows of a chromosome that are rows, and count the others."""
    config = reader.config
    if not any(chrom in track.chromosomes for track in reader.tracks):
        return _NOWHERE[0]
    middles = np.arange(
        -(-config.crop // config.middle_bp), max(0, length - config.crop) // config.middle_bp
    )
    start = middles * config.middle_bp - config.crop
    end = start + config.window
    has_bin = np.zeros(len(start), dtype=bool)
    windows_at_once = max(1, (MOST_BP // config.bin) // config.num_bins)
    for at in range(0, len(start), windows_at_once):
        part = middles[at : at + windows_at_once]
        first, last = int(part[0]) * config.num_bins, (int(part[-1]) + 1) * config.num_bins
        bins = np.arange(first, last)
        measured = np.any([x.is_measured(chrom, bins, config.bin) for x in reader.tracks], axis=0)
        usable = measured & reader.is_usable(chrom, first, last)
        has_bin[at : at + windows_at_once] = usable.reshape(-1, config.num_bins).any(axis=1)
    unknown = covered_bp(unknown_spans(reader.genome, chrom), start, end)
    across = (
        np.zeros(len(start), bool)
        if split.folds
        else split.splits_of(chrom, start, end) == STRADDLING
    )
    reasons = [unknown > config.max_n_fraction * config.window, ~has_bin, across]
    left_out = np.select(reasons, range(len(_LEFT_OUT)), default=-1)
    for reason, name in enumerate(_LEFT_OUT):
        counts[name] += int((left_out == reason).sum())
    return start[left_out < 0]


def replicate_rows(
    files: Sequence[Path], tracks: Sequence[str], option: str, source: Path | str
) -> list[SheetRow]:
    """Return the files of another measurement, one for each track of a source, in the order of its tracks."""
    rows = {x.label: x for x in track_rows(files)}
    if rows.keys() != set(tracks):
        raise InputError(
            f"{option}: replicates of {shortened(list(rows))}, and {source} has the tracks "
            f"{shortened(tracks)}; give one file for each track, under its name"
        )
    return [rows[x] for x in tracks]


def replicate_values(
    labelled: LabelledSet, files: Sequence[Path], rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return another measurement of the tracks of a set in the bins of some rows, (rows, P, L), NaN where not measured.

    The files are read, clipped and transformed as those of the set were.

    Raises:
        InputError: If the set has no tracks, or the files are not one for each of its tracks.
    """
    if labelled.genome is None or not labelled.num_bins:
        raise InputError(f"{labelled.path}: not a set of tracks (dna-bigbird track-set)")
    named = replicate_rows(files, labelled.label_names, "--tracks", labelled.path)
    genome, pieces = labelled.genome, labelled.setting("pieces") == "true"
    known: dict[str, Any] = {x: labelled.setting(x) for x in ("reduce", "unlisted", "transform")}
    config = TrackConfig(labelled.window_bp, labelled.crop_bp, labelled.bin_bp, **known)
    regions = measured_regions(named, genome, pieces=pieces)
    tracks = [Track.of(x, genome, regions.get(x.measured), pieces=pieces) for x in named]
    reader = TrackBins(genome, tracks, config, {})
    reader.clips = labelled.track_clips
    windows = labelled.intervals[rows]
    windows = replace(windows, chromosomes=tuple(map(genome.resolve, windows.chromosomes)))
    return np.concatenate([*reader.blocks(windows)])
