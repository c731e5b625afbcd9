"""The patterns of one layer for sequences of every length."""

import functools
import json
from dataclasses import asdict, dataclass

from dna_bigbird.attention.patterns.itc import bigbird_itc
from dna_bigbird.attention.patterns.pattern import BlockPattern, full

FULL = "full"


@dataclass(frozen=True)
class PatternRule:
    """What decides the pattern of a sequence, next to its number of blocks.

    A rule can be written as text, which an operator of PyTorch can take: the text says everything,
    so it means the same in every process and in compiled code that is kept in a file.

    Attributes:
        plan: 'full', or a plan of `bigbird_itc`, as are all settings after it.

    Example:
        >>> rule = PatternRule(num_heads=2, block_size=16)
        >>> rule.pattern(num_tokens=40).num_blocks
        3
        >>> PatternRule.of_text(rule.text()) == rule
        True
    """

    num_heads: int
    block_size: int
    plan: str = FULL
    num_random: int = 0
    seed: int = 0
    window_blocks: int = 3
    global_blocks: str = "first_last"
    table_tokens: int = 4096
    training: bool = False

    def pattern(self, num_tokens: int) -> BlockPattern:
        """Return the pattern of a sequence of `num_tokens` tokens; its last block may be ragged."""
        num_blocks = -(-num_tokens // self.block_size)
        if self.plan == FULL:
            return full(num_blocks, self.block_size, self.num_heads)
        return bigbird_itc(
            num_blocks,
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

    def text(self) -> str:
        """Return the rule as text."""
        return json.dumps(asdict(self))

    @staticmethod
    @functools.lru_cache(maxsize=4096)
    def of_text(text: str) -> "PatternRule":
        """Return the rule that `text` gives."""
        return PatternRule(**json.loads(text))
