"""BigBird-ETC attention with its projections and label tables."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.attention.backends.dense import dense_etc_global, dense_etc_long
from dna_bigbird.attention.backends.etc_global import blocked_global
from dna_bigbird.attention.backends.etc_long import blocked_long
from dna_bigbird.attention.etc_heads import EtcHeads
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout
from dna_bigbird.core.choices import checked

# B batch, L long tokens, G global tokens, E hidden size, H heads, D head size, V labels


ETC_BACKENDS = {
    "dense": (dense_etc_long, dense_etc_global),
    "blocked": (blocked_long, blocked_global),
}
DENSE_UP_TO = 128
"""Long tokens up to which 'auto' takes 'dense' (docs/results/bigbird-etc-cost.md)."""


def attend_long(
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float = 0.0,
    backend: str = "auto",
) -> Tensor:
    """Attend from long tokens: one softmax over the band and the global tokens.

    The score of a query and a key with label l is (q · k + q · embedding[l] + bias[l]) / √D
    (Ainslie et al. 2020, §3.2). Padding reads nothing and is not read. A query that reads nothing
    gives exactly zero, and gradients stay finite. Backend 'blocked' is linear in the long stream,
    'dense' is not.

    Returns:
        (batch, heads, long tokens, head dimension). Under autocast in the type of autocast.

    Raises:
        ValueError: If shapes do not fit each other, or a name or number is out of range.
    """
    return _attend(0, heads, pattern, layout, dropout_p, backend)


def attend_global(
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float = 0.0,
    backend: str = "auto",
) -> Tensor:
    """Attend from global tokens: one softmax over global and long tokens; else as `attend_long`."""
    return _attend(1, heads, pattern, layout, dropout_p, backend)


@torch.compiler.disable
def _attend(
    stream: int,
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float,
    backend: str,
) -> Tensor:
    device = heads.q.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        heads = EtcHeads(*(x.to(dtype) for x in heads[:5]), *heads[5:])
    _check(stream, heads, pattern, layout, dropout_p, backend)
    if backend == "auto":
        backend = "dense" if heads.k_long.shape[2] <= DENSE_UP_TO else "blocked"
    with torch.autocast(device, enabled=False):
        if layout.has_padding:
            heads = _without_padding(stream, heads, layout)
        return ETC_BACKENDS[backend][stream](heads, pattern, layout, dropout_p)


def _without_padding(stream: int, heads: EtcHeads, layout: EtcLayout) -> EtcHeads:
    """Set the heads of padding to zero, so that no value of theirs, NaN included, has influence."""
    hidden = (layout.long_padding, layout.global_padding)
    masks = (hidden[stream], hidden[0], hidden[0], hidden[1], hidden[1])
    zeroed = (
        x.masked_fill(mask[:, None, :, None], 0.0) for x, mask in zip(heads[:5], masks, strict=True)
    )
    return EtcHeads(*zeroed, *heads[5:])


def _check(
    stream: int,
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float,
    backend: str,
) -> None:
    B, H, _, D = heads.q.shape
    tokens = (layout.long_padding.shape[1], layout.global_padding.shape[1])
    of_long, of_global = ((B, H, n, D) for n in tokens)
    V = pattern.num_labels
    shapes = ((of_long, of_global)[stream], of_long, of_long, of_global, of_global)
    expected = (*shapes, (V, H, D), (V, H))
    for name, x, shape in zip(heads._fields, heads, expected, strict=True):
        if tuple(x.shape) != shape:
            raise ValueError(
                f"{name} must be {shape} for this layout and pattern, got {tuple(x.shape)}"
            )
    if len(layout.long_padding) != B:
        raise ValueError(f"the layout is for {len(layout.long_padding)} sequences, got {B}")
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must be at least 0 and below 1, got {dropout_p}")
    if backend != "auto" and backend not in ETC_BACKENDS:
        raise ValueError(f"backend must be one of auto, {', '.join(ETC_BACKENDS)}; got {backend!r}")


Sharing = Literal["qkv", "kv", "none"]
LABEL_DEVIATION = 0.5
"""Standard deviation of new label embeddings, cut at two of them (public ETC code)."""


class LabelTable(nn.Module):
    """An embedding (V, H, D) and a bias (V, H) per label and head, of one softmax."""

    def __init__(self, num_labels: int, num_heads: int, head_dim: int) -> None:
        super().__init__()
        self.embeddings = nn.Parameter(torch.empty(num_labels, num_heads, head_dim))
        self.biases = nn.Parameter(torch.empty(num_labels, num_heads))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the embeddings again and set the biases to zero."""
        end = 2 * LABEL_DEVIATION
        std = LABEL_DEVIATION
        nn.init.trunc_normal_(self.embeddings, std=std, a=-end, b=end, generator=generator)
        nn.init.zeros_(self.biases)


class BigBirdEtc(nn.Module):
    """Multi-head attention over a long and a global stream, four pieces in two softmaxes.

    Norms, residual connections and feed-forward layers belong to the encoder. `qkv` and `output`
    are those of the long stream and mean the same as in the other cores, so weights move.

    Args:
        hidden_size: Of both streams.
        pattern: Who reads whom; may be replaced later by one with equally many labels.
        sharing: Which projections the four pieces share. 'qkv', the default of the public code:
            all. 'kv': each softmax has its own, the same for keys of either stream. 'none': each
            piece has its own keys and values, each stream its own queries.
        shared_output: Whether both streams have one output projection; by default two.
        qkv_bias, output_bias: Whether the projections have a bias.
        dropout_p: Dropout of the attention weights in training; the public code applies 0.1.
        backend: See `attend_long`. It may be changed at any time.

    Raises:
        ValueError: If the heads do not divide the hidden size, or `sharing` is unknown.
    """

    @checked()
    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        pattern: EtcPattern,
        *,
        sharing: Sharing = "qkv",
        shared_output: bool = False,
        qkv_bias: bool = True,
        output_bias: bool = True,
        dropout_p: float = 0.1,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        if hidden_size % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide hidden_size {hidden_size}")
        self.num_heads, self.head_dim = num_heads, hidden_size // num_heads
        self.pattern, self.dropout_p, self.backend = pattern, dropout_p, backend

        def linear(outputs: int, bias: bool) -> nn.Linear:
            return nn.Linear(hidden_size, outputs, bias=bias)

        own_global, own_cross = sharing != "qkv", sharing == "none"
        self.qkv = linear(3 * hidden_size, qkv_bias)
        self.global_qkv = linear(3 * hidden_size, qkv_bias) if own_global else None
        self.long_to_global_kv = linear(2 * hidden_size, qkv_bias) if own_cross else None
        self.global_to_long_kv = linear(2 * hidden_size, qkv_bias) if own_cross else None
        self.output = linear(hidden_size, output_bias)
        self.global_output = None if shared_output else linear(hidden_size, output_bias)
        table = (pattern.num_labels, num_heads, self.head_dim)
        self.long_labels, self.global_labels = LabelTable(*table), LabelTable(*table)

    def forward(
        self, long_BLE: Tensor, global_BGE: Tensor, layout: EtcLayout
    ) -> tuple[Tensor, Tensor]:
        """Return the attention outputs of both streams, shaped as they are.

        Padding gets the bias of the output projection. A layout that does not fit is a ValueError.
        """
        of_long, of_global = self.heads(long_BLE, global_BGE)
        dropout_p = self.dropout_p if self.training else 0.0
        settings = (self.pattern, layout, dropout_p, self.backend)
        mixed = attend_long(of_long, *settings), attend_global(of_global, *settings)
        long_out, global_out = (x.transpose(1, 2).flatten(2) for x in mixed)
        return self.output(long_out), (self.global_output or self.output)(global_out)

    def reset_labels(self, generator: torch.Generator | None = None) -> None:
        """Draw both label tables again."""
        self.long_labels.reset_parameters(generator)
        self.global_labels.reset_parameters(generator)

    def heads(self, long_BLE: Tensor, global_BGE: Tensor) -> tuple[EtcHeads, EtcHeads]:
        """Return what the long and the global softmax read."""
        q_long, k_long, v_long = self._projected(self.qkv, long_BLE)
        tables = tuple((t.embeddings, t.biases) for t in (self.long_labels, self.global_labels))
        if self.global_qkv is None:
            q_global, k_global, v_global = self._projected(self.qkv, global_BGE)
            read = (k_long, v_long, k_global, v_global)
            return EtcHeads(q_long, *read, *tables[0]), EtcHeads(q_global, *read, *tables[1])
        q_global, k_g2g, v_g2g = self._projected(self.global_qkv, global_BGE)
        k_l2g, v_l2g = self._keys_values(self.long_to_global_kv, self.qkv, global_BGE)
        k_g2l, v_g2l = self._keys_values(self.global_to_long_kv, self.global_qkv, long_BLE)
        of_long = EtcHeads(q_long, k_long, v_long, k_l2g, v_l2g, *tables[0])
        return of_long, EtcHeads(q_global, k_g2l, v_g2l, k_g2g, v_g2g, *tables[1])

    def _projected(self, linear: nn.Linear, x_BTE: Tensor) -> tuple[Tensor, ...]:
        """Return queries, keys and values (B, H, T, D), or keys and values."""
        return self._as_heads(linear(x_BTE))

    def _keys_values(
        self, own: nn.Linear | None, qkv: nn.Linear, x_BTE: Tensor
    ) -> tuple[Tensor, ...]:
        """Return keys and values by their own projection, or by those parts of `qkv`."""
        if own is not None:
            return self._projected(own, x_BTE)
        E = qkv.in_features
        return self._as_heads(
            F.linear(x_BTE, qkv.weight[E:], None if qkv.bias is None else qkv.bias[E:])
        )

    def _as_heads(self, x_BTE: Tensor) -> tuple[Tensor, ...]:
        heads = x_BTE.unflatten(-1, (-1, self.num_heads, self.head_dim))
        return tuple(x.transpose(1, 2) for x in heads.unbind(2))
