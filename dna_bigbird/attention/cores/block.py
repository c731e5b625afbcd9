"""What all cores with a block pattern share: patterns by length, and packed batches."""

# B batch, T tokens, P packed tokens (attention/packing.py), E hidden size, H heads, D head size

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from dna_bigbird.attention.attend import attend, operator_of
from dna_bigbird.attention.cores.projected import ProjectedAttention, by_groups
from dna_bigbird.attention.packed_operator import attend_packed
from dna_bigbird.attention.packing import Packing
from dna_bigbird.attention.patterns import BlockPattern
from dna_bigbird.attention.patterns.rule import PatternRule


class BlockAttention(ProjectedAttention):
    """Multi-head attention with the pattern of the sequence's own length.

    Args:
        rule: What the patterns follow from. With plan 'huggingface', and with that one only, the
            pattern is another one in training than in evaluation.
        dropout_p: Dropout of the attention weights in training.
        backend: See `attend`. It may be changed at any time and has no meaning of its own.
        projections: Further settings of `ProjectedAttention`.

    Raises:
        ValueError: If positions are rotary and the size of a head is odd.
    """

    def __init__(
        self,
        hidden_size: int,
        rule: PatternRule,
        *,
        dropout_p: float = 0.0,
        backend: str = "auto",
        **projections: Any,
    ) -> None:
        super().__init__(hidden_size, rule.num_heads, **projections)
        self.block_size = rule.block_size
        self.set_rule(rule)
        self.backend, self.dropout_p = backend, dropout_p

    def set_rule(self, rule: PatternRule) -> None:
        """Replace the rule by one for the same heads and blocks."""
        self.rule = rule
        self._rules = tuple(replace(rule, training=training) for training in (False, True))
        self._texts = tuple(rule.text() for rule in self._rules)

    def pattern(self, num_tokens: int) -> BlockPattern:
        """Return the pattern of a sequence of `num_tokens` tokens."""
        return self._rules[self.training].pattern(num_tokens)

    def packed(self, x_PE: Tensor, packing: Packing, shared: Tensor | None = None) -> Tensor:
        """Return the attention output (packed tokens, hidden) of sequences of several lengths.

        Args:
            x_PE: The tokens of all sequences, as `packing` says.
            shared: Turns of rotary positions (`turns`), to be shared by layers; else made here.
        """
        turns_P1F2 = self.turns(packing, x_PE.dtype) if shared is None else shared
        q_PHD, k_PHD, v_PHD = self.heads(x_PE, turns_P1F2)
        return self.output(self._mix(q_PHD, k_PHD, v_PHD, packing).flatten(1))

    def _mix(self, q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, packing: Packing) -> Tensor:
        dropout_p = self.dropout_p if self.training else 0.0
        operator = operator_of(self.backend, q_PHD, self.block_size, dropout_p)
        if operator is None:
            return self._mix_groups(q_PHD, k_PHD, v_PHD, packing, dropout_p)
        text = self._texts[self.training]
        return attend_packed(q_PHD, k_PHD, v_PHD, packing, text, operator)

    @torch.compiler.disable
    def _mix_groups(
        self, q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, packing: Packing, dropout_p: float
    ) -> Tensor:
        """Attend group by group; torch.compile leaves this as it is."""

        def attended(q: Tensor, k: Tensor, v: Tensor, hidden_BT: Tensor | None) -> Tensor:
            return attend(q, k, v, self.pattern(q.shape[2]), hidden_BT, dropout_p, self.backend)

        return by_groups(attended, (q_PHD, k_PHD, v_PHD), packing)


class Full(BlockAttention):
    """Every token reads every token: for comparisons."""

    def __init__(self, hidden_size: int, num_heads: int, *, block_size: int, **shared: Any) -> None:
        super().__init__(hidden_size, PatternRule(num_heads, block_size), **shared)
