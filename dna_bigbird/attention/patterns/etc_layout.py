"""What BigBird-ETC has to know about the two streams of a batch."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from dna_bigbird.attention.patterns.etc import EtcPattern

# B batch, L long tokens, G global tokens, M global tokens that one long token may belong to


PADDING_QUERY, PADDING_KEY = -1, -2
"""Segments of padding as a query and as a key: equal to no other, so nothing is read."""


@dataclass(frozen=True, eq=False)
class EtcLayout:
    """Padding, segments and belongings of one batch; the same for all layers.

    Attributes:
        long_padding: (B, L) bool, True = padding, anywhere.
        global_padding: (B, G) bool.
        belongs: (B, L, G) bool, True where the long token belongs to the global token: label and
            hard attention follow it. (In the public code a linked mention has the label only.)
            A table, because a token may belong to several: its sentence, its paragraph.
        long_segments: (B, L) integers from 0, equal within a paragraph; None: one segment.
        global_segments: (B, G) integers from 0, equal for the global tokens of a paragraph.
        free_global: (B, G) bool, global tokens that read everything in spite of `hard_g2l`:
            [CLS] in HotpotQA, question and candidates in WikiHop. None: there are none.
        free_long: (B, L) bool, long tokens that read everything in spite of `hard_l2g`.

    Raises:
        ValueError: If shapes or types do not fit, or there is no global token.
    """

    long_padding: Tensor
    global_padding: Tensor
    belongs: Tensor
    long_segments: Tensor | None = None
    global_segments: Tensor | None = None
    free_global: Tensor | None = None
    free_long: Tensor | None = None

    def __post_init__(self) -> None:
        (B, L), (_, G) = self.long_padding.shape, self.global_padding.shape
        if not L or not G:
            raise ValueError(f"both streams need tokens, got {L} long and {G} global ones")
        shapes = {
            "long_padding": (B, L), "global_padding": (B, G), "belongs": (B, L, G),
            "long_segments": (B, L), "global_segments": (B, G),
            "free_global": (B, G), "free_long": (B, L),
        }  # fmt: skip
        for name, shape in shapes.items():
            x = getattr(self, name)
            if x is None:
                continue
            is_boolean = x.dtype == torch.bool
            if tuple(x.shape) != shape or is_boolean == name.endswith("segments"):
                expected = "integers" if name.endswith("segments") else "bool"
                raise ValueError(
                    f"{name} must be {expected} {shape}, got {x.dtype} {tuple(x.shape)}"
                )

    @classmethod
    def of_owners(
        cls, owners: Tensor, long_padding: Tensor, global_padding: Tensor, **more: Tensor | None
    ) -> Self:
        """Build the layout from the global tokens (B, L, M) of each long token; -1 is unused."""
        B, L, _ = owners.shape
        G = global_padding.shape[1]
        counts = torch.zeros(B, L, G + 1, dtype=torch.bool, device=owners.device)
        counts.scatter_(2, owners.masked_fill(owners < 0, G), True)
        return cls(long_padding, global_padding, counts[..., :G].contiguous(), **more)

    def to(self, device: torch.device | str) -> Self:
        """Return the layout on a device."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self)(**{n: x if x is None else x.to(device) for n, x in values.items()})

    @functools.cached_property
    def has_padding(self) -> bool:
        """True if a token of either stream is padding."""
        return bool(self.long_padding.any() or self.global_padding.any())

    def band_segments(self, pattern: EtcPattern) -> tuple[Tensor, Tensor]:
        """Return (B, L) int32 twice, of queries and of keys: a pair is read if they are equal."""
        segments = torch.zeros_like(self.long_padding, dtype=torch.int32)
        if pattern.cuts and self.long_segments is not None:
            segments = self.long_segments.to(torch.int32)
        queries = segments.masked_fill(self.long_padding, PADDING_QUERY)
        return queries, segments.masked_fill(self.long_padding, PADDING_KEY)

    def long_reads_global(self, pattern: EtcPattern, rows: slice) -> Tensor:
        """Return which global tokens some long tokens read: (B, rows, G) bool."""
        reads = ~self.long_padding[:, rows, None] & ~self.global_padding[:, None]
        if pattern.hard_l2g:
            allowed = self.belongs[:, rows]
            if self.free_long is not None:
                allowed = allowed | self.free_long[:, rows, None]
            reads = reads & allowed
        return reads

    def global_reads_long(self, pattern: EtcPattern, columns: slice) -> Tensor:
        """Return which of some long tokens the global tokens read: (B, G, columns) bool."""
        reads = ~self.global_padding[:, :, None] & ~self.long_padding[:, None, columns]
        if pattern.hard_g2l:
            allowed = self.belongs[:, columns].mT
            if self.free_global is not None:
                allowed = allowed | self.free_global[:, :, None]
            reads = reads & allowed
        return reads

    def global_reads_global(self) -> Tensor:
        """Return which global tokens the global tokens read: (B, G, G) bool."""
        return ~self.global_padding[:, :, None] & ~self.global_padding[:, None]

    def global_labels(self, pattern: EtcPattern) -> Tensor:
        """Return the labels between global tokens: (B, G, G) int64."""
        labels = offset_labels(pattern, self.global_padding.shape[1], self.global_padding.device)
        segments = self.global_segments
        if not pattern.cuts or segments is None:
            return labels.expand(len(self.global_padding), -1, -1)
        differ = segments[:, :, None] != segments[:, None]
        return torch.where(differ, pattern.label_other_segment, labels)


def offset_labels(pattern: EtcPattern, num_tokens: int, device: torch.device) -> Tensor:
    """Return the labels within one stream: (queries, keys) int64, quadratic in memory."""
    at = torch.arange(num_tokens, device=device)
    offset = at[None, :] - at[:, None]
    distance = offset.abs().clamp(max=pattern.max_distance)
    return torch.where(offset >= 0, distance, distance + pattern.max_distance)


# --- Who reads whom in one sequence of a layout, in plain integers: for the oracle and for drawings ---

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
