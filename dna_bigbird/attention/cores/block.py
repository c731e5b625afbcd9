"""What all cores with a block pattern share: the projections, and packed batches."""

# B batch, T tokens, P packed tokens (attention/packing.py), E hidden size, H heads, D head size

from dataclasses import replace

import torch
from torch import Tensor, nn

from dna_bigbird.attention.attend import attend, operator_of
from dna_bigbird.attention.cores.rotary import rotate, turns
from dna_bigbird.attention.packed_operator import attend_packed
from dna_bigbird.attention.packing import Packing
from dna_bigbird.attention.patterns import BlockPattern
from dna_bigbird.attention.patterns.rule import PatternRule

QK_NORM_EPS = 1e-6


class BlockAttention(nn.Module):
    """Multi-head attention with the pattern of the sequence's own length.

    The weights mean the same in every core (`qkv`, `output`), so they move between cores.

    Args:
        rule: What the patterns follow from. With plan 'huggingface', and with that one only, the
            pattern is another one in training than in evaluation.
        qkv_bias: Whether queries, keys and values have a bias.
        output_bias: Whether the output projection has one.
        dropout_p: Dropout of the attention weights in training.
        backend: See `attend`. It may be changed at any time and has no meaning of its own.
        rotary_base: Base of the frequencies of rotary positions; None: queries and keys carry no
            position of their own.
        qk_norm: Scale each query and key to root mean square 1 per head, times a learned gain,
            before positions are applied.

    Raises:
        ValueError: If positions are rotary and the size of a head is odd.
    """

    def __init__(
        self,
        hidden_size: int,
        rule: PatternRule,
        *,
        qkv_bias: bool = True,
        output_bias: bool = True,
        dropout_p: float = 0.0,
        backend: str = "auto",
        rotary_base: float | None = None,
        qk_norm: bool = False,
    ) -> None:
        super().__init__()
        head_dim = hidden_size // rule.num_heads
        if rotary_base is not None and head_dim % 2:
            raise ValueError(f"rotary positions need heads of an even size, got {head_dim}")
        self.num_heads, self.head_dim, self.block_size = rule.num_heads, head_dim, rule.block_size
        self.set_rule(rule)
        self.backend = backend
        self.dropout_p, self.rotary_base = dropout_p, rotary_base
        self.qkv = nn.Linear(hidden_size, 3 * hidden_size, bias=qkv_bias)
        self.output = nn.Linear(hidden_size, hidden_size, bias=output_bias)
        self.query_norm = nn.RMSNorm(head_dim, eps=QK_NORM_EPS) if qk_norm else None
        self.key_norm = nn.RMSNorm(head_dim, eps=QK_NORM_EPS) if qk_norm else None

    def set_rule(self, rule: PatternRule) -> None:
        """Replace the rule by one for the same heads and blocks."""
        self.rule = rule
        self._rules = tuple(replace(rule, training=training) for training in (False, True))
        self._texts = tuple(rule.text() for rule in self._rules)

    def pattern(self, num_tokens: int) -> BlockPattern:
        """Return the pattern of a sequence of `num_tokens` tokens."""
        return self._rules[self.training].pattern(num_tokens)

    def forward(self, x_BTE: Tensor, is_padding_BT: Tensor | None = None) -> Tensor:
        """Return the attention output (batch, tokens, hidden) of sequences of one length."""
        B, T, E = x_BTE.shape
        packing = Packing.of_one_length(B, T, is_padding_BT, x_BTE.device)
        return self.packed(x_BTE.reshape(B * T, E), packing).view(B, T, E)

    def packed(self, x_PE: Tensor, packing: Packing, turns_P1F2: Tensor | None = None) -> Tensor:
        """Return the attention output (packed tokens, hidden) of sequences of several lengths.

        Args:
            x_PE: The tokens of all sequences, as `packing` says.
            turns_P1F2: Of rotary positions (`turns`), to be shared by layers; else made here.
        """
        qkv_P3HD = self.qkv(x_PE).unflatten(-1, (3, self.num_heads, -1))
        q_PHD, k_PHD, v_PHD = qkv_P3HD.unbind(1)
        if turns_P1F2 is None:
            turns_P1F2 = self.turns(packing, x_PE.dtype)
        q_PHD = self._placed(q_PHD, self.query_norm, turns_P1F2)
        k_PHD = self._placed(k_PHD, self.key_norm, turns_P1F2)
        return self.output(self._mix(q_PHD, k_PHD, v_PHD, packing).flatten(1))

    def turns(self, packing: Packing, dtype: torch.dtype) -> Tensor | None:
        """Return what rotary positions turn heads of this type by; None without them."""
        if self.rotary_base is None:
            return None
        return turns(packing.positions_P, self.head_dim, self.rotary_base, dtype)

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
        mixed = []
        for group in packing.groups():
            shape = (group.num_sequences, group.num_tokens)
            parts = (x[group.tokens].unflatten(0, shape) for x in (q_PHD, k_PHD, v_PHD))
            hidden_BT = (
                packing.is_padding_P[group.tokens].view(shape) if group.has_padding else None
            )
            out_BHTD = attend(
                *(x.transpose(1, 2) for x in parts),
                self.pattern(group.num_tokens),
                hidden_BT,
                dropout_p,
                self.backend,
            )
            mixed.append(out_BHTD.transpose(1, 2).flatten(0, 1))
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed)

    def _placed(
        self, heads_PHD: Tensor, norm: nn.RMSNorm | None, turns_P1F2: Tensor | None
    ) -> Tensor:
        """Return queries or keys after their norm and with their positions, of the same type."""
        dtype = heads_PHD.dtype
        if norm is not None:
            # As wide as the gain: autocast has no rule for this norm.
            heads_PHD = norm(heads_PHD.to(norm.weight.dtype))
        if turns_P1F2 is not None:
            heads_PHD = rotate(heads_PHD, turns_P1F2)
        return heads_PHD.to(dtype)


class Full(BlockAttention):
    """Every token reads every token: for comparisons."""

    def __init__(
        self, hidden_size: int, num_heads: int, *, block_size: int, **shared: object
    ) -> None:
        super().__init__(hidden_size, PatternRule(num_heads, block_size), **shared)
