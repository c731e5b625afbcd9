"""Who reads whom in one sequence of a layout, in plain integers: for the oracle and for drawings."""

from collections.abc import Iterator

from torch import Tensor

from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout

LONG, GLOBAL = 0, 1
Key = tuple[int, int, int]
"""Stream, position in it, label."""


class Example:
    """One row of a layout as lists, and who reads whom there."""

    def __init__(self, pattern: EtcPattern, layout: EtcLayout, row: int) -> None:
        def listed(x: Tensor | None, length: int) -> list:
            return [0] * length if x is None else x[row].tolist()

        self.pattern = pattern
        self.long_padding = layout.long_padding[row].tolist()
        self.global_padding = layout.global_padding[row].tolist()
        self.belongs = layout.belongs[row].tolist()
        num_long, num_global = len(self.long_padding), len(self.global_padding)
        self.long_segments = listed(layout.long_segments, num_long)
        self.global_segments = listed(layout.global_segments, num_global)
        self.free_global = listed(layout.free_global, num_global)
        self.free_long = listed(layout.free_long, num_long)

    def keys_of_long(self, query: int) -> Iterator[Key]:
        """Yield what long token `query` reads."""
        pattern = self.pattern
        if self.long_padding[query]:
            return
        for key, is_padding in enumerate(self.long_padding):
            is_cut = pattern.cuts and self.long_segments[key] != self.long_segments[query]
            if pattern.in_band(query, key) and not is_padding and not is_cut:
                yield LONG, key, pattern.offset_label(key - query)
        for key, is_padding in enumerate(self.global_padding):
            belongs = self.belongs[query][key]
            is_hidden = pattern.hard_l2g and not belongs and not self.free_long[query]
            if not is_padding and not is_hidden:
                yield GLOBAL, key, pattern.cross_label(belongs)

    def keys_of_global(self, query: int) -> Iterator[Key]:
        """Yield what global token `query` reads."""
        pattern, segments = self.pattern, self.global_segments
        if self.global_padding[query]:
            return
        for key, is_padding in enumerate(self.global_padding):
            if not is_padding:
                label = pattern.global_label(query, key, segments[query], segments[key])
                yield GLOBAL, key, label
        for key, is_padding in enumerate(self.long_padding):
            belongs = self.belongs[key][query]
            is_hidden = pattern.hard_g2l and not belongs and not self.free_global[query]
            if not is_padding and not is_hidden:
                yield LONG, key, pattern.cross_label(belongs)
