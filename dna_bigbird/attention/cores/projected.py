"""What all cores of one stream share: projections, norms of queries and keys, rotary positions."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from dna_bigbird.attention.packing import Packing

# P packed tokens, H heads, D head size, F frequencies: D / 2


def turns(positions_P: Tensor, head_dim: int, base: float, dtype: torch.dtype) -> Tensor:
    """Return cosine and sine of the angles of every position: (P, 1, F, 2), float32 or float64."""
    # Frequency i turns position p by p * base^(-2 i / D) (Su et al. 2021, RoFormer); the slowest pair
    # turns once in about 2 pi * base tokens. Angles are taken in float64, so a distant token is turned
    # as exactly as the first one.
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float64, device=positions_P.device)
    angles_PF = positions_P[:, None].double() * base ** (-exponents / head_dim)
    return torch.stack([angles_PF.cos(), angles_PF.sin()], dim=-1).to(wide)[:, None]


def rotate(heads_PHD: Tensor, turns_P1F2: Tensor) -> Tensor:
    """Turn values 2 i and 2 i + 1 of each head as a pair by the angle of frequency i."""
    # So the product of a query at position p and a key at position r depends on p - r only.
    pairs = heads_PHD.to(turns_P1F2.dtype).unflatten(-1, (-1, 2))
    if torch.compiler.is_compiling():  # which makes one loop of it, but has no complex numbers
        (x, y), (cos, sin) = pairs.unbind(-1), turns_P1F2.unbind(-1)
        turned = torch.stack([x * cos - y * sin, x * sin + y * cos], dim=-1)
    else:  # one product instead of four, a sum, a difference and a copy
        turned = torch.view_as_complex(pairs) * torch.view_as_complex(turns_P1F2)
        turned = torch.view_as_real(turned)
    return turned.flatten(-2).to(heads_PHD.dtype)


# B batch, T tokens, P packed tokens (attention/packing.py), E hidden size, H heads, D head size


QK_NORM_EPS = 1e-6


class ProjectedAttention(nn.Module):
    """Multi-head attention with the weights `qkv` and `output`, which mean the same in every core.

    So weights move between cores. A subclass computes the attention of a packed batch (`packed`).

    Args:
        qkv_bias: Whether queries, keys and values have a bias.
        output_bias: Whether the output projection has one.
        rotary_base: Base of the frequencies of rotary positions; None: queries and keys carry no
            position of their own.
        qk_norm: Scale each query and key to root mean square 1 per head, times a learned gain,
            before positions are applied.
        value_embeddings: Add a linear map of `first` (by default of the states) to the values.
        head_gates: Multiply the output of each head by a sigmoid of a map of the token.

    Raises:
        ValueError: If the heads do not divide the hidden size, or positions are rotary and the size of a
            head is odd.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        *,
        qkv_bias: bool = True,
        output_bias: bool = True,
        rotary_base: float | None = None,
        qk_norm: bool = False,
        value_embeddings: bool = False,
        head_gates: bool = False,
    ) -> None:
        super().__init__()
        if hidden_size % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide hidden_size {hidden_size}")
        head_dim = hidden_size // num_heads
        if rotary_base is not None and head_dim % 2:
            raise ValueError(f"rotary positions need heads of an even size, got {head_dim}")
        self.num_heads, self.head_dim, self.rotary_base = num_heads, head_dim, rotary_base
        self.qkv = nn.Linear(hidden_size, 3 * hidden_size, bias=qkv_bias)
        self.output = nn.Linear(hidden_size, hidden_size, bias=output_bias)
        self.query_norm = nn.RMSNorm(head_dim, eps=QK_NORM_EPS) if qk_norm else None
        self.key_norm = nn.RMSNorm(head_dim, eps=QK_NORM_EPS) if qk_norm else None
        self.first_value = self.first_share = None
        if value_embeddings:
            self.first_value = nn.Linear(hidden_size, hidden_size, bias=False)
            self.first_share = nn.Parameter(torch.tensor([0.5]))
        self.gate = nn.Linear(hidden_size, num_heads) if head_gates else None

    def forward(self, x_BTE: Tensor, is_padding_BT: Tensor | None = None) -> Tensor:
        """Return the attention output (batch, tokens, hidden) of sequences of one length."""
        B, T, E = x_BTE.shape
        packing = Packing.of_one_length(B, T, is_padding_BT, x_BTE.device)
        return self.packed(x_BTE.reshape(B * T, E), packing).view(B, T, E)

    def shared(
        self, packing: Packing, dtype: torch.dtype, is_global_P: Tensor | None = None
    ) -> Any:
        """Return what is the same in all layers of an encoder, for `packed`: here the turns."""
        return self.turns(packing, dtype)

    def packed(
        self, x_PE: Tensor, packing: Packing, shared: Any = None, first_PE: Tensor | None = None
    ) -> Tensor:
        """Return the attention output (packed tokens, hidden); `shared` is made here if None."""
        raise NotImplementedError

    def turns(self, packing: Packing, dtype: torch.dtype) -> Tensor | None:
        """Return what rotary positions turn heads of this type by; None without them."""
        if self.rotary_base is None:
            return None
        return turns(packing.positions_P, self.head_dim, self.rotary_base, dtype)

    def heads(
        self, x: Tensor, turns: Tensor | None, first: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values (…, H, D) of states (…, E), normed and with positions."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).unbind(-3)
        return (
            self.positioned(q, self.query_norm, turns),
            self.positioned(k, self.key_norm, turns),
            self.with_first(v, x if first is None else first),
        )

    def with_first(self, v: Tensor, first: Tensor) -> Tensor:
        """Return values (…, H, D) with the share of `first` (…, E)."""
        if self.first_value is None:
            return v
        return v + self.first_share.to(v.dtype) * self.first_value(first).unflatten(
            -1, v.shape[-2:]
        )

    def projected(self, mixed: Tensor, x: Tensor) -> Tensor:
        """Return the output (…, E) of what the heads give, (…, E), for the states (…, E) that they read."""
        if self.gate is not None:
            gates = self.gate(x).sigmoid()[..., None]
            mixed = (mixed.unflatten(-1, (self.num_heads, -1)) * gates).flatten(-2)
        return self.output(mixed)

    def positioned(self, heads: Tensor, norm: nn.RMSNorm | None, turns: Tensor | None) -> Tensor:
        """Return queries or keys after their norm and with their positions, of the same type."""
        dtype = heads.dtype
        if norm is not None:
            # As wide as the gain: autocast has no rule for this norm.
            heads = norm(heads.to(norm.weight.dtype))
        if turns is not None:
            heads = rotate(heads, turns)
        return heads.to(dtype)


def by_groups(
    attend: Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor],
    heads: tuple[Tensor, Tensor, Tensor],
    packing: Packing,
) -> Tensor:
    """Return the output of attention (packed tokens, H, D), one group of a length at a time."""
    # `attend` takes queries, keys, values (B, H, T, D) and padding (B, T), None if there is none.
    mixed = []
    for group in packing.groups():
        shape = (group.num_sequences, group.num_tokens)
        q, k, v = (x[group.tokens].unflatten(0, shape).transpose(1, 2) for x in heads)
        hidden_BT = packing.is_padding_P[group.tokens].view(shape) if group.has_padding else None
        mixed.append(attend(q, k, v, hidden_BT).transpose(1, 2).flatten(0, 1))
    return mixed[0] if len(mixed) == 1 else torch.cat(mixed)
