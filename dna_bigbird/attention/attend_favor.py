"""One call for attention by random features, causal or not, and every way to compute it."""

import torch
from torch import Tensor

from dna_bigbird.attention.attend import check_heads
from dna_bigbird.attention.backends.favor import FavorCausal, FavorWhole, wide
from dna_bigbird.attention.backends.favor_dense import favor_dense
from dna_bigbird.attention.favor_features import Favor

FAVOR_BACKENDS = ("auto", "linear", "dense")


@torch.compiler.disable
def attend_favor(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    projection: Tensor,
    favor: Favor,
    key_padding_mask: Tensor | None = None,
    causal: bool = False,
    backend: str = "auto",
) -> Tensor:
    """Attend by features: Σ φ(q)·φ(k) v / Σ φ(q)·φ(k) (Choromanski et al. 2021, eq. 4 and §2.5).

    Features and sums are float32 (float64 for float64), also for bfloat16 and float16. With `causal` a
    query gets exactly what it would get alone with the tokens up to itself, unless the keys of 512
    tokens differ by a factor of more than e^60 in their largest feature (e^490 in float64).

    Args:
        q, k, v: (batch, heads, length, head_dim), as the result.
        projection: (features, head_dim).
        key_padding_mask: (batch, length), True = padding, anywhere: in no sum, whatever its memory
            holds, and exactly zero as a query.
        backend: 'linear' takes time and memory in proportion to the length; 'dense' has a weight per
            pair and feature, for tests; 'auto' is 'linear'.

    Raises:
        ValueError: If shapes or types do not fit each other, or the backend is unknown.
    """
    device = q.device.type
    if torch.is_autocast_enabled(device):
        q, k, v = (x.to(torch.get_autocast_dtype(device)) for x in (q, k, v))
    check_heads(q, k, v, key_padding_mask)
    if projection.dim() != 2 or projection.shape[1] != q.shape[3]:
        raise ValueError(
            f"projection must be (features, {q.shape[3]}), got {tuple(projection.shape)}"
        )
    if backend not in FAVOR_BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(FAVOR_BACKENDS)}; got {backend!r}")
    hidden = None if key_padding_mask is None else key_padding_mask[:, None, :, None]
    if hidden is not None:
        q, k, v = (x.masked_fill(hidden, 0.0) for x in (q, k, v))
    with torch.autocast(device, enabled=False):
        w_MD = projection.to(torch.promote_types(q.dtype, torch.float32))
        if backend == "dense":
            wides = (wide(x) for x in (q, k, v))
            out = favor_dense(*wides, w_MD, favor, key_padding_mask, causal).to(q.dtype)
        else:
            keep = None if hidden is None else ~hidden.expand(*q.shape[:3], 1).flatten(0, 1)
            flat = (x.flatten(0, 1) for x in (q, k, v))
            form = FavorCausal if causal else FavorWhole
            out = form.apply(*flat, keep, w_MD, favor).view(q.shape)
    return out if hidden is None else out.masked_fill(hidden, 0.0)
