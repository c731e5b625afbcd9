"""What all cores with a block pattern share: patterns by length, and packed batches."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.attend import attend, operator_of
from dna_bigbird.attention.cores.projected import ProjectedAttention, by_groups
from dna_bigbird.attention.kernels.native import operator as native
from dna_bigbird.attention.kernels.operators import define_operator, empty_gradients
from dna_bigbird.attention.kernels.triton import operator as triton
from dna_bigbird.attention.kernels.triton.operator import two_way_lists
from dna_bigbird.attention.packing import Group, Packing, Sequences, groups_of
from dna_bigbird.attention.patterns import BlockPattern
from dna_bigbird.attention.patterns.itc import PatternRule

# Attention of packed sequences as one operator of PyTorch, which torch.compile goes through.
#
# What it does follows from its arguments alone: the pattern comes as text (`PatternRule`), the groups
# of sequences as a tensor on the CPU. So one compiled model serves all lengths, and its step on a GPU
# waits for nothing.

# P packed tokens, H heads, D head dimension, B sequences of a group, T tokens of each


class Kernel(NamedTuple):
    """How a backend computes one group; tensors are (B, H, T, D), their rows in one piece."""

    forward_into: Callable[..., None]
    """Of out, log2_sum_exp (B, H, T) and `Sequences`."""
    backward_into: Callable[..., None]
    """Of gradients of q, k and v, then grad, out, log2_sum_exp and `Sequences`."""
    lists: Callable[[BlockPattern, torch.device], tuple]
    """What the kernel reads of a pattern, kept."""


KERNELS = {
    "native": Kernel(
        native.forward_into, native.backward_into, lambda pattern, _: native.block_lists(pattern)
    ),
    "triton": Kernel(triton.forward_into, triton.backward_into, two_way_lists),
}


def attend_packed(
    q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, packing: Packing, rule: str, kernel: str
) -> Tensor:
    """Attend within each sequence of a packed batch: (P, H, D); `rule` is the text of a rule."""
    out_PHD, _ = torch.ops.dna_bigbird.packed_attention(
        q_PHD, k_PHD, v_PHD, packing.sizes_G3, packing.is_padding_P, rule, kernel
    )
    return out_PHD


class _Part(NamedTuple):
    """One group: how to cut it out of packed tensors."""

    group: Group
    num_heads: int
    read: Sequences

    def of_tokens(self, x_PHD: Tensor) -> Tensor:
        """Return a view (B, H, T, D)."""
        return _cut(x_PHD, self.group)

    def of_rows(self, x: Tensor) -> Tensor:
        """Return a view (B, H, T) of one number per head and token."""
        B, T, H = self.group.num_sequences, self.group.num_tokens, self.num_heads
        tokens = self.group.tokens
        return x[tokens.start * H : tokens.stop * H].view(B, H, T)


def _cut(x_PHD: Tensor, group: Group) -> Tensor:
    shape = (group.num_sequences, group.num_tokens)
    return x_PHD[group.tokens].unflatten(0, shape).transpose(1, 2)


def _parts(
    tensors: tuple[Tensor, ...], sizes: Tensor, hidden_P: Tensor | None, rule: str, kernel: Kernel
) -> Iterator[_Part]:
    """Cut q, k and v into groups."""
    of_text, (P, H, _) = PatternRule.of_text(rule), tensors[0].shape
    groups = groups_of(sizes)
    if (groups[-1].tokens.stop if groups else 0) != P:
        raise ValueError(f"the packing is not for {P} tokens: {sizes.tolist()}")
    for group in groups:
        hidden_BT = None
        if group.has_padding and hidden_P is not None:
            hidden_BT = hidden_P[group.tokens].view(group.num_sequences, group.num_tokens)
        lists = kernel.lists(of_text.pattern(group.num_tokens), tensors[0].device)
        q, k, v = (_cut(x, group) for x in tensors)
        yield _Part(group, H, Sequences(q, k, v, lists, hidden_BT, of_text.block_size))


def _forward(q, k, v, sizes, hidden, rule, kernel):
    out, log2_sum_exp = _empty_results(q)
    for part in _parts((q, k, v), sizes, hidden, rule, KERNELS[kernel]):
        KERNELS[kernel].forward_into(part.of_tokens(out), part.of_rows(log2_sum_exp), part.read)
    return out, log2_sum_exp


def _backward(grad, q, k, v, out, log2_sum_exp, sizes, hidden, rule, kernel):
    grads = empty_gradients(q)
    for part in _parts((q, k, v), sizes, hidden, rule, KERNELS[kernel]):
        results = (*map(part.of_tokens, (grad, out)), part.of_rows(log2_sum_exp))
        KERNELS[kernel].backward_into(tuple(map(part.of_tokens, grads)), *results, part.read)
    return grads


def _empty_results(q_PHD: Tensor) -> tuple[Tensor, Tensor]:
    """Return room for the output and for the log-sum-exp of the scores to base 2, group by group."""
    P, H, _ = q_PHD.shape
    return q_PHD.new_empty(q_PHD.shape), q_PHD.new_empty(P * H, dtype=torch.float32)


define_operator(
    "packed_attention",
    "Tensor sizes, Tensor? hidden, str rule, str kernel",
    "default",
    _forward,
    _backward,
    _empty_results,
)


# B batch, T tokens, P packed tokens (attention/packing.py), E hidden size, H heads, D head size


class BlockAttention(ProjectedAttention):
    """Multi-head attention with the pattern of the sequence's own length.

    Args:
        rule: What the patterns follow from. With plan 'huggingface', and with that one only, the
            pattern is another one in training than in evaluation.
        dropout_p: Dropout of the attention weights in training.
        backend: See `attend`. It may be changed at any time and has no meaning of its own.
        projections: Further settings of `ProjectedAttention`.
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

    def packed(
        self,
        x_PE: Tensor,
        packing: Packing,
        shared: Tensor | None = None,
        first_PE: Tensor | None = None,
    ) -> Tensor:
        """Return the attention output (packed tokens, hidden); `shared` are the rotary turns."""
        turns_P1F2 = self.turns(packing, x_PE.dtype) if shared is None else shared
        q_PHD, k_PHD, v_PHD = self.heads(x_PE, turns_P1F2, first_PE)
        return self.projected(self._mix(q_PHD, k_PHD, v_PHD, packing).flatten(1), x_PE)

    def _mix(self, q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, packing: Packing) -> Tensor:
        dropout_p = self.dropout_p if self.training else 0.0
        operator = operator_of(self.backend, q_PHD, self.block_size, dropout_p)
        if operator is None:
            return self._mix_groups(q_PHD, k_PHD, v_PHD, packing, dropout_p)
        text = self._texts[int(self.training)]  # torch 2.11 compiles no index of type bool
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
