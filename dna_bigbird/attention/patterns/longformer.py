"""Longformer: which keys the window of a token has, per head (Beltagy et al. 2020, §3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from dna_bigbird.core.choices import check_fields


@dataclass(frozen=True)
class LongformerPattern:
    """Window and dilation of one layer; the same for every length.

    With dilation d a token at position i reads the keys at i + m d for -window ≤ m ≤ window, so d = 1
    is an ordinary window and d = 2 reads every second token. A causal window has m ≤ 0.

    Raises:
        ValueError: If a number is below 1, or no dilation is given.

    Example:
        >>> pattern = LongformerPattern(window=2, dilations=(1, 3))
        >>> [key for key in range(20) if pattern.in_window(10, key, head=1)]
        [4, 7, 10, 13, 16]
        >>> pattern.heads_by_dilation(num_heads=2)
        {1: [0], 3: [1]}
    """

    window: int = 256
    """Keys on one side of a token: 256 in the published models, whose files say 512 for both."""
    dilations: tuple[int, ...] = (1,)
    """Distance between the keys of a window, for each head; a single number is for all heads."""
    is_causal: bool = False
    """No token reads a later one. This holds for global tokens too."""

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "dilations", tuple(self.dilations))
        if self.window < 1:
            raise ValueError(f"window must be at least 1, got {self.window}")
        if not self.dilations or min(self.dilations) < 1:
            raise ValueError(f"dilations must be numbers of at least 1, got {self.dilations}")

    def check_heads(self, num_heads: int) -> None:
        """Raise ValueError if the dilations are for another number of heads."""
        if len(self.dilations) not in (1, num_heads):
            raise ValueError(
                f"dilations must be one number or one per head: got {len(self.dilations)} for "
                f"{num_heads} heads"
            )

    def dilation(self, head: int) -> int:
        """Return the dilation of a head."""
        return self.dilations[head] if len(self.dilations) > 1 else self.dilations[0]

    def heads_by_dilation(self, num_heads: int) -> dict[int, list[int]]:
        """Return the heads of each dilation, smallest dilation first."""
        every = [self.dilation(head) for head in range(num_heads)]
        return {d: [h for h in range(num_heads) if every[h] == d] for d in sorted(set(every))}

    def in_window(self, query: int, key: int, head: int) -> bool:
        """Return True if position `key` is in the window of `query`; padding and global tokens aside."""
        steps, rest = divmod(key - query, self.dilation(head))
        return rest == 0 and -self.window <= steps <= self.furthest_right

    @property
    def furthest_right(self) -> int:
        """Keys to the right of a token: 0 if the pattern is causal."""
        return 0 if self.is_causal else self.window


def upper_dilations(
    layer: int, gaps: Sequence[int], num_heads: int, dilated: int = 2
) -> tuple[int, ...]:
    """Return the dilations of a layer in which the last `dilated` heads skip `gaps[layer]` tokens.

    As the character models of the paper: gaps of 0 in lower layers, larger ones in upper layers, on
    two heads only (Table 12).

    Example:
        >>> upper_dilations(6, [0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3], num_heads=8)
        (1, 1, 1, 1, 1, 1, 2, 2)
    """
    return (1,) * (num_heads - dilated) + (gaps[layer] + 1,) * dilated
