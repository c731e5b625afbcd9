"""The bins of a window that are predicted at once, as rows of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.chromatin.bin_groups import CENTRAL_SHARE
from dna_bigbird.models.config import BIN
from dna_bigbird.models.label_types import TRACKS
from dna_bigbird.prediction.windows.tiling import Window


@dataclass(frozen=True)
class BinRows:
    """Bins in the middle of windows of equal length: as many bases on either side.

    Example:
        >>> bins = BinRows(window_bp=18, bin_bp=2, count=3)
        >>> [(b.start, b.bases) for b in bins.of(Window("x", 100, 118, "NNNNNNAACCGGNNNNNN"))]
        [(106, 'AA'), (108, 'CC'), (110, 'GG')]
    """

    window_bp: int
    bin_bp: int
    count: int
    """Bins of a window."""

    @classmethod
    def for_bundles(cls, bundles: Sequence[Bundle], window_bp: int) -> "BinRows":
        """Return the bins of tracks, or those of `bins_at_once`: to a quarter of the window from the centre."""
        if bundles[0].config.label_type == TRACKS:
            return cls._of_tracks(bundles, window_bp)
        for bundle in bundles:
            config = bundle.config
            if config.members is not None or config.head is None or config.head.pooling != BIN:
                raise InputError(
                    f"--span bins: {bundle.folder} has no global token per bin; expected a single model of "
                    f"--head.pooling {BIN}"
                )
            if bundle.model.words is not None:
                raise InputError(
                    f"--span bins: {bundle.folder} also counts k-mers, of whole windows; use --span bin"
                )
        bin_bp = bundles[0].config.head.bin_bp
        if any(bundle.config.head.bin_bp != bin_bp for bundle in bundles):
            raise InputError("--span bins: the models have bins of different lengths")
        reach = int(CENTRAL_SHARE * window_bp / 2) // bin_bp
        if not reach:
            raise InputError(
                f"--span bins: windows of {window_bp} bp have one bin of {bin_bp}; expected a --window of at "
                f"least {round(2 * bin_bp / CENTRAL_SHARE)}"
            )
        if (window_bp - bin_bp) % 2:  # bins of the other strand would be one base off
            raise InputError(
                f"--span bins: bins of {bin_bp} bp are not in the middle of windows of {window_bp}; give a "
                f"--window of {window_bp - 1}"
            )
        return cls(window_bp, bin_bp, 2 * reach + 1)

    @classmethod
    def _of_tracks(cls, bundles: Sequence[Bundle], window_bp: int) -> "BinRows":
        heads = [bundle.config.head for bundle in bundles]
        bin_bp, crop_bp = heads[0].bin_bp, heads[0].crop_bp
        if any((head.bin_bp, head.crop_bp) != (bin_bp, crop_bp) for head in heads):
            raise InputError(
                "the models of tracks have bins of different lengths, or other bases without bins"
            )
        middle_bp = window_bp - 2 * crop_bp
        if middle_bp <= 0 or middle_bp % bin_bp:
            raise InputError(
                f"--window {window_bp}: {bundles[0].folder} has bins of {bin_bp} bp and {crop_bp} bp without bins at "
                f"either end; expected {2 * crop_bp} bp and a multiple of {bin_bp}"
            )
        return cls(window_bp, bin_bp, middle_bp // bin_bp)

    def notes(self, bundles: Sequence[Bundle]) -> list[str]:
        """Return what a user should know about the bins, one line each."""
        if all(x.config.head.bins_at_once or x.config.label_type == TRACKS for x in bundles):
            return []
        return [
            "the model was trained for the bin in the middle alone, not with --head.bins_at_once true"
        ]

    @property
    def stride_bp(self) -> int:
        """Bases after which the next window has the next bins."""
        return self.count * self.bin_bp

    def central(self, span_bp: int) -> slice:
        """Return the bins within so many bases in the middle of the window, at least one or two; 0: all."""
        number = -(-span_bp // self.bin_bp) if span_bp else self.count
        if number > self.count:
            raise InputError(
                f"--central_bp {span_bp}: the bins in the middle of a window have {self.stride_bp} bases; expected at most these"
            )
        number += (self.count - number) % 2  # as many on both sides
        first = (self.count - number) // 2
        return slice(first, first + number)

    def of(self, window: Window) -> list[Window]:
        """Return the bins of a window, in the order of its bases."""
        first = (self.window_bp - self.count * self.bin_bp) // 2
        bins = []
        for number in range(self.count):
            start = first + number * self.bin_bp
            bases = window.bases[start : start + self.bin_bp]
            left = window.start + start
            if window.is_reverse:
                left = window.end - start - self.bin_bp
            row = Window(window.name, left, left + self.bin_bp, bases, window.row_name)
            bins.append(row)
        return bins


def check_central(central_bp: int, is_tracks: bool) -> None:
    """Raise InputError if the bins that count are chosen where there are none."""
    if central_bp and not is_tracks:
        raise InputError(f"--central_bp {central_bp}: for a model of tracks; leave it out")


def tracks_of(bundles: Sequence[Bundle], window: int | None, central_bp: int) -> dict[str, Any]:
    """Return `bins` and the `summed` ones in the middle for models of tracks, nothing for others."""
    is_tracks = bundles[0].config.label_type == TRACKS
    check_central(central_bp, is_tracks)
    if not is_tracks:
        return {}
    bins = BinRows.for_bundles(bundles, window or bundles[0].config.window_bp)
    return {"bins": bins, "summed": bins.central(central_bp)}
