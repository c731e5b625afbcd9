"""A batch of sequences of several lengths as one row of tokens, without the padding between."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

# B sequences, H heads, T tokens, D head dimension


class Sequences(NamedTuple):
    """What `forward_into` and `backward_into` of the kernels read; the last dimension is in one piece."""

    q: Tensor
    """(B, H, T, D), as k and v."""
    k: Tensor
    v: Tensor
    lists: tuple[Tensor, Tensor, Tensor]
    """The pattern in the kernel's own form, for these tokens."""
    hidden: Tensor | None
    """(B, T) bool, contiguous; True = padding."""
    block_size: int


# B batch, T tokens, P packed tokens, E hidden size, G groups
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


class Group(NamedTuple):
    """Sequences that follow each other in a packed row and have equally many blocks."""

    num_sequences: int
    num_tokens: int
    """Tokens of each sequence, padding included."""
    has_padding: bool
    start: int
    """Number of their first token in the packed row."""

    @property
    def tokens(self) -> slice:
        """Their part of the packed row."""
        return slice(self.start, self.start + self.num_sequences * self.num_tokens)


@dataclass(frozen=True)
class Packing:
    """Where each sequence of a batch is in the packed row of tokens.

    Sequences with equally many blocks follow each other: they are one group and share a pattern.
    Padding remains only within the last block of a sequence. The plans that repeat published code
    want the whole batch as one group instead, padded to a multiple of the block size.

    It holds tensors only, so that a compiled model serves all lengths and numbers of groups, and
    can be made ahead, where the batch is on the CPU: then a step on a GPU waits for nothing.
    """

    sizes_G3: Tensor
    """(groups + 1, 3) int64, always on the CPU: of each group its sequences, the tokens of each and
    whether it has padding. The last line is zero: torch.compile has a program of its own for
    tensors of one line."""
    positions_P: Tensor
    """Position of each token in its sequence, from 0."""
    is_padding_P: Tensor | None
    """True = padding; None if there is none."""
    sources_P: Tensor | None
    """Where each token is in the flattened (B * T) batch, padding beyond its end at the end of its
    row; None if the packed row is the flattened batch."""
    places_BT: Tensor | None
    """The inverse, (B * T): where each token of the batch is; None likewise."""

    @classmethod
    @torch.compiler.disable
    def of(
        cls,
        is_padding_BT: Tensor,
        block_size: int,
        max_tokens: int | None,
        whole_batch: bool = False,
    ) -> "Packing":
        """Plan the packing of a batch, on the device of `is_padding_BT`; on a GPU it waits for it.

        Raises ValueError if a sequence is longer than `max_tokens`.
        """
        hidden_BT = is_padding_BT.cpu().numpy()
        B, T = hidden_BT.shape
        ends_B = (~hidden_BT * np.arange(1, T + 1)).max(axis=1)
        if max_tokens is not None and ends_B.max() > max_tokens:
            raise ValueError(
                f"a sequence has {ends_B.max()} tokens, the model reads at most {max_tokens}"
            )
        # Three sequences in blocks of 4; . is padding. Equal widths are neighbours, so a group is one piece:
        #
        #     batch   0  a a a a a a .        row   b b b . | c c c c | a a a a a a . .
        #             1  b b b . . . .              group 1: 2 x 4    | group 2: 1 x 8
        #             2  c c c c . . .
        #
        # A row of padding alone still takes a block, so that it has a result.
        blocks_B = -(-np.maximum(np.full(B, T) if whole_batch else ends_B, 1) // block_size)
        order_B = np.argsort(blocks_B, kind="stable")
        widths_B = blocks_B[order_B] * block_size
        positions_P = np.concatenate([np.arange(width) for width in widths_B])
        columns_P = np.minimum(positions_P, T - 1)
        rows_P = np.repeat(order_B, widths_B)
        is_padding_P = hidden_BT[rows_P, columns_P] | (positions_P >= T)
        starts_B = np.concatenate([[0], widths_B.cumsum()])
        sizes = []
        for width in np.unique(widths_B):
            (members,) = np.nonzero(widths_B == width)
            of_group = is_padding_P[starts_B[members[0]] : starts_B[members[-1] + 1]]
            sizes.append((len(members), int(width), int(of_group.any())))
        sources_P = places_BT = None
        if len(sizes) > 1 or sizes[0][1] != T:
            sources_P = torch.from_numpy(rows_P * T + columns_P)
            places_BT = np.empty((B, T), dtype=np.int64)
            in_row = np.minimum(np.arange(T), widths_B[:, None] - 1)
            places_BT[order_B] = starts_B[:-1, None] + in_row
            places_BT = torch.from_numpy(places_BT).flatten()
        return cls(
            torch.tensor([*sizes, (0, 0, 0)]),
            torch.from_numpy(positions_P),
            torch.from_numpy(is_padding_P) if is_padding_P.any() else None,
            sources_P,
            places_BT,
        ).to(is_padding_BT.device)

    @classmethod
    @torch.compiler.disable
    def of_one_length(
        cls, num_sequences: int, num_tokens: int, is_padding_BT: Tensor | None, device: torch.device
    ) -> "Packing":
        """Return the packing of a batch as it is: one group, of any length."""
        has_padding = is_padding_BT is not None
        return cls(
            torch.tensor([(num_sequences, num_tokens, int(has_padding)), (0, 0, 0)]),
            torch.arange(num_tokens, device=device).repeat(num_sequences),
            is_padding_BT.flatten() if has_padding else None,
            None,
            None,
        )

    def to(self, device: torch.device | str) -> "Packing":
        """Return the packing on a device, no copy waited for; `sizes_G3` stays where it is."""
        to_gpu = torch.device(device).type == "cuda"
        return self._each(lambda x: x.to(device, non_blocking=to_gpu))

    def pin_memory(self) -> "Packing":
        """Return a copy in memory from which a GPU can read while the program goes on."""
        return self._each(Tensor.pin_memory)

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Packing":
        parts = (self.positions_P, self.is_padding_P, self.sources_P, self.places_BT)
        return Packing(self.sizes_G3, *(None if x is None else change(x) for x in parts))

    def groups(self) -> list[Group]:
        """Return the groups in order."""
        return groups_of(self.sizes_G3)

    def pack(self, values_BT: Tensor) -> Tensor:
        """Return one value per token as (packed tokens,); that of padding means nothing."""
        values = values_BT.flatten()
        return values if self.sources_P is None else values.index_select(0, self.sources_P)

    def pack_states(self, states_BTE: Tensor) -> Tensor:
        """Return one row of vectors, (packed tokens, hidden); those of padding mean nothing."""
        states = states_BTE.flatten(0, 1)
        if self.sources_P is None:
            return states
        return _Packed.apply(states, self.sources_P, self.places_BT, self.is_padding_P)

    def unpack(self, states_PE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return (batch, tokens, hidden) with zeros at the padding."""
        if self.sources_P is not None:
            states_PE = _Unpacked.apply(
                states_PE, self.places_BT, self.sources_P, self.is_padding_P
            )
        states_BTE = states_PE.view(*is_padding_BT.shape, -1)
        if self.sources_P is None and self.is_padding_P is None:
            return states_BTE
        return states_BTE.masked_fill(is_padding_BT[..., None], 0.0)


def groups_of(sizes_G3: Tensor) -> list[Group]:
    """Return the groups that `Packing.sizes_G3` lists."""
    groups, start = [], 0
    for num_sequences, num_tokens, has_padding in sizes_G3.tolist()[:-1]:
        groups.append(Group(num_sequences, num_tokens, bool(has_padding), start))
        start = groups[-1].tokens.stop
    return groups


class _Unpacked(torch.autograd.Function):
    """Rows in another order. The gradient is the inverse order: the same in every run, unlike sums."""

    @staticmethod
    def forward(
        ctx, states_PE: Tensor, indices: Tensor, sources_P: Tensor, is_padding_P: Tensor | None
    ) -> Tensor:
        ctx.save_for_backward(sources_P, is_padding_P)
        return states_PE.index_select(0, indices)

    @staticmethod
    def backward(ctx, grad: Tensor):
        sources_P, is_padding_P = ctx.saved_tensors
        grad_PE = grad.index_select(0, sources_P)
        if is_padding_P is not None:  # padding beyond the end of the batch repeats its last token
            grad_PE = grad_PE.masked_fill(is_padding_P[:, None], 0.0)
        return grad_PE, None, None, None


class _Packed(torch.autograd.Function):
    """The inverse of `_Unpacked`: padding, which may repeat a token, gives no gradient."""

    @staticmethod
    def forward(
        ctx, states: Tensor, sources_P: Tensor, places_BT: Tensor, is_padding_P: Tensor | None
    ) -> Tensor:
        ctx.save_for_backward(places_BT, is_padding_P)
        return states.index_select(0, sources_P)

    @staticmethod
    def backward(ctx, grad_PE: Tensor):
        places_BT, is_padding_P = ctx.saved_tensors
        if is_padding_P is not None:
            grad_PE = grad_PE.masked_fill(is_padding_P[:, None], 0.0)
        return grad_PE.index_select(0, places_BT), None, None, None
