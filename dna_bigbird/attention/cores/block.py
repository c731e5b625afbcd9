"""What all cores with a block pattern share: the projections, and packed batches."""

# B batch, T tokens, P tokens of all sequences one after the other, E hidden size

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dna_bigbird.attention.attend import attend
from dna_bigbird.attention.cores.rotary import rotate
from dna_bigbird.attention.patterns import BlockPattern, full

QK_NORM_EPS = 1e-6


class Group(NamedTuple):
    """Sequences that follow each other in a packed batch and share one pattern."""

    num_sequences: int
    num_tokens: int
    """Tokens of each sequence, padding included."""
    is_padding: Tensor | None
    """(sequences, tokens), True = padding; None if there is none."""


class Groups:
    """The groups of a packed batch, in order.

    No list: torch.compile takes the length of one for a part of the program, and would compile the
    layers again for each number of groups.
    """

    def __init__(self, groups: Iterable[Group]) -> None:
        self._groups = tuple(groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups)

    def __getitem__(self, index: int) -> Group:
        return self._groups[index]


class BlockAttention(nn.Module):
    """Multi-head attention with the pattern of the sequence's own length.

    The weights mean the same in every core (`qkv`, `output`), so they move between cores.

    Args:
        qkv_bias: Whether queries, keys and values have a bias.
        output_bias: Whether the output projection has one.
        dropout_p: Dropout of the attention weights in training.
        backend: See `attend`. It may be changed at any time and has no meaning of its own.
        rotary_base: Base of the frequencies of rotary positions; None: queries and keys carry no
            position of their own.
        qk_norm: Scale each query and key to root mean square 1 per head, times a learned gain,
            before positions are applied.

    Raises:
        ValueError: If positions are rotary and the size of a head is odd.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        *,
        block_size: int,
        qkv_bias: bool = True,
        output_bias: bool = True,
        dropout_p: float = 0.0,
        backend: str = "auto",
        rotary_base: float | None = None,
        qk_norm: bool = False,
    ) -> None:
        super().__init__()
        head_dim = hidden_size // num_heads
        if rotary_base is not None and head_dim % 2:
            raise ValueError(f"rotary positions need heads of an even size, got {head_dim}")
        self.num_heads, self.block_size, self.backend = num_heads, block_size, backend
        self.dropout_p, self.rotary_base = dropout_p, rotary_base
        self.qkv = nn.Linear(hidden_size, 3 * hidden_size, bias=qkv_bias)
        self.output = nn.Linear(hidden_size, hidden_size, bias=output_bias)
        self.query_norm = nn.RMSNorm(head_dim, eps=QK_NORM_EPS) if qk_norm else None
        self.key_norm = nn.RMSNorm(head_dim, eps=QK_NORM_EPS) if qk_norm else None

    def pattern(self, num_tokens: int) -> BlockPattern:
        """Return the pattern of a sequence of `num_tokens` tokens."""
        raise NotImplementedError

    def num_blocks(self, num_tokens: int) -> int:
        """Return the number of blocks of a sequence, a ragged last one included."""
        return -(-num_tokens // self.block_size)

    def forward(self, x_BTE: Tensor, is_padding_BT: Tensor | None = None) -> Tensor:
        """Return the attention output (batch, tokens, hidden) of sequences of one length."""
        B, T, E = x_BTE.shape
        return self.packed(x_BTE.reshape(B * T, E), [Group(B, T, is_padding_BT)]).view(B, T, E)

    @torch.compiler.disable
    def packed(self, x_PE: Tensor, groups: Groups | Sequence[Group]) -> Tensor:
        """Return the attention output (packed tokens, hidden) of sequences of several lengths.

        Args:
            x_PE: The tokens of all sequences, group after group.
        """
        sizes = [group.num_sequences * group.num_tokens for group in groups]
        mixed = [
            self._mix(qkv, group)
            for qkv, group in zip(self.qkv(x_PE).split(sizes), groups, strict=True)
        ]
        return self.output(mixed[0] if len(mixed) == 1 else torch.cat(mixed))

    def _mix(self, qkv: Tensor, group: Group) -> Tensor:
        B, T, hidden_BT = group
        q, k, v = qkv.view(B, T, 3, self.num_heads, -1).unbind(2)
        q, k = self._placed(q, self.query_norm), self._placed(k, self.key_norm)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        dropout_p = self.dropout_p if self.training else 0.0
        out_BHTD = attend(q, k, v, self.pattern(T), hidden_BT, dropout_p, self.backend)
        return out_BHTD.transpose(1, 2).reshape(B * T, -1)

    def _placed(self, heads_BTHD: Tensor, norm: nn.RMSNorm | None) -> Tensor:
        """Return queries or keys after their norm and with their positions, of the same type."""
        dtype = heads_BTHD.dtype
        if norm is not None:
            # As wide as the gain: autocast has no rule for this norm.
            heads_BTHD = norm(heads_BTHD.to(norm.weight.dtype))
        if self.rotary_base is not None:
            heads_BTHD = rotate(heads_BTHD, self.rotary_base)
        return heads_BTHD.to(dtype)


class Full(BlockAttention):
    """Every token reads every token: for comparisons."""

    def pattern(self, num_tokens: int) -> BlockPattern:
        """Return the pattern that covers everything."""
        return full(self.num_blocks(num_tokens), self.block_size, self.num_heads)
