"""BigBird-ITC attention with its projections."""

from dna_bigbird.attention.cores.block import BlockAttention
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc


class BigBirdItc(BlockAttention):
    """Multi-head attention over the BigBird-ITC pattern of the sequence's own number of blocks.

    The published code applies no dropout to the attention weights in sparse mode; a model that
    must equal it leaves `dropout_p` at 0.

    Args:
        num_random, plan, window_blocks, global_blocks, table_tokens: See `patterns.bigbird_itc`.
            With plan 'huggingface', and with that one only, the pattern is another one in training
            than in evaluation.
        seed: Seed of this layer's pattern ('uniform'), else the layer index.
        shared: Further settings of `BlockAttention`.
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
        window_blocks: int = 3,
        global_blocks: str = "first_last",
        table_tokens: int = 4096,
        **shared: object,
    ) -> None:
        super().__init__(hidden_size, num_heads, block_size=block_size, **shared)
        self.num_random, self.plan, self.seed = num_random, plan, seed
        self.window_blocks, self.global_blocks = window_blocks, global_blocks
        self.table_tokens = table_tokens

    def pattern(self, num_tokens: int) -> BlockPattern:
        """Return the pattern of a sequence of `num_tokens` tokens."""
        return bigbird_itc(
            self.num_blocks(num_tokens),
            self.block_size,
            self.num_random,
            self.num_heads,
            self.plan,
            self.seed,
            window_blocks=self.window_blocks,
            global_blocks=self.global_blocks,
            table_tokens=self.table_tokens,
            training=self.training,
        )
