"""A batch of sequences of several lengths as one row of tokens, without the padding between."""

# B batch, T tokens, P packed tokens, E hidden size

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.cores import Group, Groups


@dataclass(frozen=True)
class Packing:
    """Where each sequence of a batch is in the packed row of tokens.

    Sequences with equally many blocks follow each other: they are one group and share a pattern.
    Padding remains only within the last block of a sequence. All layers but attention work on
    tokens one by one, so they see one row of tokens for any lengths.

    The plans that repeat published code want the whole batch as one group instead, padded to a
    multiple of the block size: there the pattern follows the width of the batch.
    """

    order: list[int]
    """Rows of the batch in packed order."""
    groups: Groups
    is_padding: Tensor

    @classmethod
    @torch.compiler.disable
    def of(
        cls,
        is_padding_BT: Tensor,
        block_size: int,
        max_tokens: int | None,
        whole_batch: bool = False,
    ) -> "Packing":
        """Plan the packing of a batch.

        Args:
            max_tokens: Longest sequence; None: any.
            whole_batch: All sequences in one group, as wide as the batch.

        Raises:
            ValueError: If a sequence is longer than `max_tokens`.
        """
        B, T = is_padding_BT.shape
        real_BT = ~is_padding_BT
        ends = (real_BT * torch.arange(1, T + 1, device=real_BT.device)).amax(dim=1)
        # One transfer from the device for everything that Python must know.
        lengths, counts = torch.stack([ends, real_BT.sum(dim=1)]).tolist()
        if max_tokens is not None and max(lengths) > max_tokens:
            raise ValueError(
                f"a sequence has {max(lengths)} tokens, the model reads at most {max_tokens}"
            )
        # A row of padding alone still takes a block, so that it has a result.
        ends_of_rows = [T] * B if whole_batch else lengths
        blocks = [max(-(-end // block_size), 1) for end in ends_of_rows]
        order = sorted(range(B), key=blocks.__getitem__)
        wide_BW = F.pad(is_padding_BT, (0, max(max(blocks) * block_size - T, 0)), value=True)
        groups = []
        for num_blocks in sorted(set(blocks)):
            rows = [row for row in order if blocks[row] == num_blocks]
            width = num_blocks * block_size
            whole = all(counts[row] == width for row in rows)
            groups.append(Group(len(rows), width, None if whole else wide_BW[rows, :width]))
        return cls(order, Groups(groups), is_padding_BT)

    @property
    def is_whole_batch(self) -> bool:
        """True if the packed row is the batch itself, flattened."""
        return len(self.groups) == 1 and self.groups[0].num_tokens == self.is_padding.shape[1]

    @torch.compiler.disable
    def pack(self, values_BT: Tensor) -> Tensor:
        """Return one value per token as (packed tokens,), with 0 beyond the end of a row."""
        if self.is_whole_batch:
            return values_BT.reshape(-1)
        longest = self.groups[-1].num_tokens
        values_BT = F.pad(values_BT, (0, max(longest - values_BT.shape[1], 0)))
        rows = values_BT[self.order].split([group.num_sequences for group in self.groups])
        return torch.cat(
            [
                part[:, : group.num_tokens].reshape(-1)
                for part, group in zip(rows, self.groups, strict=True)
            ]
        )

    @torch.compiler.disable
    def positions(self) -> Tensor:
        """Return the position of each packed token in its sequence: (packed tokens,)."""
        device = self.is_padding.device
        longest = torch.arange(self.groups[-1].num_tokens, device=device)
        return torch.cat([longest[: g.num_tokens].repeat(g.num_sequences) for g in self.groups])

    @torch.compiler.disable
    def unpack(self, states_PE: Tensor) -> Tensor:
        """Return (batch, tokens, hidden) with zeros at the padding."""
        (B, T), E = self.is_padding.shape, states_PE.shape[1]
        if self.is_whole_batch:
            states_BTE = states_PE.view(B, T, E)
        else:
            sizes = [group.num_sequences * group.num_tokens for group in self.groups]
            states_BTE = torch.cat(
                [
                    F.pad(
                        part.view(g.num_sequences, -1, E)[:, :T],
                        (0, 0, 0, max(T - g.num_tokens, 0)),
                    )
                    for part, g in zip(states_PE.split(sizes), self.groups, strict=True)
                ]
            )
            ranks = torch.tensor(self.order, device=states_PE.device).argsort()
            states_BTE = states_BTE.index_select(0, ranks)
        if self.is_whole_batch and self.groups[0].is_padding is None:
            return states_BTE
        return states_BTE.masked_fill(self.is_padding[..., None], 0.0)
