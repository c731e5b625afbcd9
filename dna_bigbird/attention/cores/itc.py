"""BigBird-ITC attention with its projections."""

from torch import Tensor, nn

from dna_bigbird.attention.attend import attend
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc


class BigBirdItc(nn.Module):
    """Multi-head attention over the BigBird-ITC pattern of the sequence's own number of blocks.

    Args:
        seed: Seed of this layer's pattern ('uniform'), or the layer index ('original').
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        *,
        block_size: int,
        num_random: int,
        plan: str,
        seed: int,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.num_heads, self.block_size, self.num_random = num_heads, block_size, num_random
        self.plan, self.seed, self.backend = plan, seed, backend
        self.qkv = nn.Linear(hidden_size, 3 * hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)

    def pattern(self, length: int) -> BlockPattern:
        """Return the pattern of a sequence of `length` tokens."""
        blocks = -(-length // self.block_size)
        return bigbird_itc(
            blocks, self.block_size, self.num_random, self.num_heads, self.plan, self.seed
        )

    def forward(self, x_BTE: Tensor, is_padding_BT: Tensor | None) -> Tensor:
        """Return the attention output (batch, tokens, hidden)."""
        B, T, E = x_BTE.shape
        q, k, v = self.qkv(x_BTE).view(B, T, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        out = attend(q, k, v, self.pattern(T), is_padding_BT, backend=self.backend)
        return self.output(out.transpose(1, 2).reshape(B, T, E))
