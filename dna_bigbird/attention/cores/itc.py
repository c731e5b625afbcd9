"""BigBird-ITC attention with its projections."""

from dna_bigbird.attention.cores.block import BlockAttention
from dna_bigbird.attention.patterns.itc import PatternRule


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
        rule = PatternRule(
            num_heads, block_size, plan, num_random, seed, window_blocks, global_blocks,
            # Equal rules are one rule: only 'huggingface' reads this.
            table_tokens if plan == "huggingface" else 0,
        )  # fmt: skip
        super().__init__(hidden_size, rule, **shared)
