"""BigBird-ETC: who reads whom in a long and a global stream, and which label a pair has.

The model of the paper's Appendix E (Zaheer et al. 2020), which is that of Ainslie et al. 2020
(arXiv 2004.08483) without random blocks. Everything here is plain integers; the tensors of a batch
are in `etc_layout.py`.
"""

from dataclasses import dataclass
from typing import Literal

from dna_bigbird.core.choices import check_fields


@dataclass(frozen=True)
class EtcPattern:
    """Settings of the two-stream pattern; the same for every length.

    A long token reads the long tokens of its band and all global tokens in one softmax, a global
    token reads all global and all long tokens in another. With k = `max_distance` a pair of query
    and key has one of 2k + 4 labels:

    * 0: the same position; 1 … k: the key is so far to the right, k means k or more;
      k+1 … 2k: so far to the left (label k + distance), 2k means k or more;
    * 2k+1 and 2k+2: between the streams, the long token does not belong or belongs to the global
      one;
    * 2k+3: between global tokens of different segments.

    Raises:
        ValueError: If a number is out of range, a name is unknown, or three blocks would need a
            label for a distance that is neither in the band nor clipped.

    Example:
        >>> pattern = EtcPattern(radius=5, max_distance=3)
        >>> [pattern.offset_label(offset) for offset in range(-5, 6)]
        [6, 6, 6, 5, 4, 0, 1, 2, 3, 3, 3]
        >>> pattern.num_labels
        10
    """

    radius: int = 84
    """Long tokens that a long token reads on either side: 84 in the base, 169 in the large model."""
    local_mode: Literal["exact", "three_blocks"] = "exact"
    """'exact': up to `radius` tokens away. 'three_blocks': blocks of `radius` tokens read themselves
    and their neighbours, which the paper's window of 3 radius tokens counts."""
    max_distance: int = 12
    """Distance from which labels no longer differ: 12 in the base, 24 in the large model."""
    hard_g2l: bool = False
    """A global token reads only the long tokens that belong to it, unless it is free."""
    hard_l2g: bool = False
    """A long token reads only the global tokens that it belongs to, unless it is free."""
    cuts: bool = True
    """The band ends at segment borders, and global tokens of different segments have the label
    2k+3; only where the layout has segments."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.radius < 1 or self.max_distance < 1:
            raise ValueError(
                f"radius {self.radius} and max_distance {self.max_distance} must be at least 1"
            )
        if self.local_mode == "three_blocks" and self.max_distance > self.radius:
            raise ValueError(
                f"local_mode 'three_blocks' needs a radius of at least max_distance "
                f"{self.max_distance}, got {self.radius}"
            )

    @property
    def num_labels(self) -> int:
        """Rows of a label table: 28 in the base, 52 in the large model."""
        return 2 * self.max_distance + 4

    @property
    def label_outside(self) -> int:
        """Label of a long and a global token where the long one does not belong to the global one."""
        return 2 * self.max_distance + 1

    @property
    def label_belongs(self) -> int:
        """Label of a long and a global token where the long one belongs to the global one."""
        return 2 * self.max_distance + 2

    @property
    def label_other_segment(self) -> int:
        """Label of two global tokens of different segments, in either order."""
        return 2 * self.max_distance + 3

    def offset_label(self, offset: int) -> int:
        """Return the label of two tokens of one stream; `offset` is key minus query position."""
        distance = min(abs(offset), self.max_distance)
        return distance if offset >= 0 else self.max_distance + distance

    def labels_by_offset(self) -> list[int]:
        """Return the labels of the offsets -k … k, in this order."""
        k = self.max_distance
        return [self.offset_label(offset) for offset in range(-k, k + 1)]

    def in_band(self, query: int, key: int) -> bool:
        """Return True if long token `query` may read long token `key`; cuts and padding aside."""
        if self.local_mode == "exact":
            return abs(query - key) <= self.radius
        return abs(query // self.radius - key // self.radius) <= 1

    def global_label(self, query: int, key: int, query_segment: int, key_segment: int) -> int:
        """Return the label of two global tokens at these positions and in these segments."""
        if self.cuts and query_segment != key_segment:
            return self.label_other_segment
        return self.offset_label(key - query)

    def cross_label(self, belongs: bool) -> int:
        """Return the label of a long and a global token, in either direction."""
        return self.label_belongs if belongs else self.label_outside
