"""BigBird-ITC attention with its projections."""

from dna_bigbird.attention.cores.block import BlockAttention
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc


class BigBirdItc(BlockAttention):
    """Multi-head attention over the BigBird-ITC pattern of the sequence's own number of blocks.

    The published code applies no dropout to the attention weights in sparse mode, nor do we.

    Args:
        plan: 'uniform' or 'original', see `patterns.bigbird_itc`.
        seed: Seed of this layer's pattern ('uniform'), or the layer index ('original').
        backend: 'auto', 'gather' or 'dense'.
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
        super().__init__(hidden_size, num_heads, block_size=block_size, backend=backend)
        self.num_random, self.plan, self.seed = num_random, plan, seed

    def pattern(self, num_tokens: int) -> BlockPattern:
        """Return the pattern of a sequence of `num_tokens` tokens."""
        return bigbird_itc(
            self.num_blocks(num_tokens),
            self.block_size,
            self.num_random,
            self.num_heads,
            self.plan,
            self.seed,
        )
