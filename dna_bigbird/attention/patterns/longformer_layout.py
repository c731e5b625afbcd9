"""What Longformer has to know about the tokens of a batch: padding and global tokens."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from dna_bigbird.attention.patterns.longformer import LongformerPattern

# B batch, T tokens, G global tokens of the sequence that has most, R read tokens


@dataclass(frozen=True, eq=False)
class LongformerLayout:
    """Padding and global tokens of one batch; the same for all layers.

    A token that is both is padding.

    Attributes:
        is_padding: (B, T) bool, True = padding, anywhere.
        is_global: (B, T) bool, True for tokens that read all tokens and that all tokens read. None:
            there are none.

    Raises:
        ValueError: If shapes or types do not fit.
    """

    is_padding: Tensor
    is_global: Tensor | None = None

    def __post_init__(self) -> None:
        shape = tuple(self.is_padding.shape)
        for name in ("is_padding", "is_global"):
            x = getattr(self, name)
            if x is not None and (x.dtype != torch.bool or tuple(x.shape) != shape or x.dim() != 2):
                raise ValueError(
                    f"{name} must be bool (batch, tokens) = {shape}, got {x.dtype} {tuple(x.shape)}"
                )
        if self.is_global is not None:
            object.__setattr__(self, "is_global", self.is_global & ~self.is_padding)

    @classmethod
    def without_padding(cls, num_sequences: int, num_tokens: int, device: torch.device) -> Self:
        """Return the layout of a batch of whole sequences without global tokens."""
        return cls(torch.zeros(num_sequences, num_tokens, dtype=torch.bool, device=device))

    def to(self, device: torch.device | str) -> Self:
        """Return the layout on a device."""
        moved = None if self.is_global is None else self.is_global.to(device)
        return type(self)(self.is_padding.to(device), moved)

    @functools.cached_property
    def has_padding(self) -> bool:
        """True if a token is padding."""
        return bool(self.is_padding.any())

    @functools.cached_property
    def num_global(self) -> int:
        """Global tokens of the sequence that has most. On a GPU this waits for it."""
        return 0 if self.is_global is None else int(self.is_global.sum(1).max())

    @functools.cached_property
    def global_positions(self) -> Tensor:
        """(B, G) int64: the positions of global tokens, ascending; T in unused entries."""
        T = self.is_padding.shape[1]
        if not self.num_global:
            return self.is_padding.new_zeros((len(self.is_padding), 0), dtype=torch.int64)
        every = torch.arange(T, device=self.is_padding.device)
        marked = torch.where(self.is_global, every, T)
        return marked.topk(self.num_global, dim=1, largest=False, sorted=True).values

    @functools.cached_property
    def is_unused(self) -> Tensor:
        """(B, G) bool: entries of sequences with fewer global tokens than another."""
        return self.global_positions == self.is_padding.shape[1]

    @functools.cached_property
    def no_window(self) -> Tensor:
        """(B, T) bool: tokens that no window contains and that have none: padding and global ones."""
        return self.is_padding if self.is_global is None else self.is_padding | self.is_global

    def gathered(self, x: Tensor) -> Tensor:
        """Return the rows of global tokens (B, …, G, D) of (B, …, T, D); any token's in unused ones."""
        at = self.global_positions.clamp(max=x.shape[-2] - 1)
        at = at.view(len(at), *(1,) * (x.dim() - 3), -1, 1)
        return x.gather(-2, at.expand(*x.shape[:-2], -1, x.shape[-1]))

    def with_global(self, of_windows: Tensor, of_global: Tensor) -> Tensor:
        """Return (B, H, T, D) with the rows of global tokens from (B, H, G, D)."""
        B, H, T, D = of_windows.shape
        at = self.global_positions[:, None, :, None].expand(B, H, -1, D)
        used = of_global.masked_fill(self.is_unused[:, None, :, None], 0.0)
        # A global token has zeros in `of_windows`, and nothing is added in unused entries.
        return of_windows.scatter_add(2, at.clamp(max=T - 1), used.to(of_windows.dtype))

    def hidden_from_global(self, is_causal: bool) -> Tensor:
        """Return True where a global token does not read a token: (B, G or 1, T) bool."""
        if not is_causal:
            return self.is_padding[:, None]
        every = torch.arange(self.is_padding.shape[1], device=self.is_padding.device)
        return self.is_padding[:, None] | (every > self.global_positions[..., None])


# --- Who reads whom in one sequence of Longformer, in plain integers: for the oracle and for drawings ---

NOT_READ, WINDOW, GLOBAL = ".wg"


class Example:
    """One row of a layout as lists, and who reads whom there."""

    def __init__(self, pattern: LongformerPattern, layout: LongformerLayout, row: int) -> None:
        self.pattern = pattern
        self.is_padding = layout.is_padding[row].tolist()
        no_token = [False] * len(self.is_padding)
        self.is_global = no_token if layout.is_global is None else layout.is_global[row].tolist()

    def keys(self, query: int, head: int) -> Iterator[tuple[int, str]]:
        """Yield the positions that `query` reads, each once, with the reason: WINDOW or GLOBAL."""
        if self.is_padding[query]:
            return
        for key, is_padding in enumerate(self.is_padding):
            if is_padding or (self.pattern.is_causal and key > query):
                continue
            if self.is_global[query] or self.is_global[key]:
                yield key, GLOBAL
            elif self.pattern.in_window(query, key, head):
                yield key, WINDOW


def draw_longformer(
    pattern: LongformerPattern, layout: LongformerLayout, head: int = 0, row: int = 0
) -> str:
    """Return one head as text: 'w' window, 'g' global, '.' not read; one line per query."""
    example = Example(pattern, layout, row)
    num_tokens = len(example.is_padding)
    lines = []
    for query in range(num_tokens):
        reasons = dict(example.keys(query, head))
        lines.append("".join(reasons.get(key, NOT_READ) for key in range(num_tokens)))
    return "\n".join(lines)
