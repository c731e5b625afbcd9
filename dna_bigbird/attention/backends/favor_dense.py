"""The Performer's oracle: all weights of queries and keys, from the same features."""

# B batch, H heads, T tokens, M features, D head dimension

import torch
from torch import Tensor

from dna_bigbird.attention.favor_features import LEAST, Favor


def favor_dense(
    q_BHTD: Tensor, k_BHTD: Tensor, v_BHTD: Tensor, w_MD: Tensor, favor: Favor,
    is_padding_BT: Tensor | None, causal: bool,
) -> Tensor:  # fmt: skip
    """Return attention by features in O(T² M), float32 or better; zero for a query without keys."""
    T = q_BHTD.shape[2]
    reads_TT = torch.ones(T, T, dtype=torch.bool, device=q_BHTD.device)
    reads = (reads_TT.tril() if causal else reads_TT)[None, None]
    if is_padding_BT is not None:
        reads = reads & ~is_padding_BT[:, None, None, :]
    of_q, of_k = favor.exponents(q_BHTD, w_MD), favor.exponents(k_BHTD, w_MD)
    c_q, tops = favor.tops(of_q, q_BHTD), favor.tops(of_k, k_BHTD)
    features_q = favor.values(of_q, c_q[..., None]) + favor.added
    c_k = tops[..., None, :].masked_fill(~reads, LEAST).amax(-1)  # of the keys that a query reads
    # A key that is not read may be above c: no infinity, or the gradients are not numbers.
    read_k = of_k[..., None, :, :].masked_fill(~reads[..., None], LEAST)  # for each query
    features_k = favor.values(read_k, c_k[..., None, None]) + favor.added
    features_k = features_k.masked_fill(~reads[..., None], 0.0)
    weights = (features_q[..., None, :] * features_k).sum(-1)
    total = weights.sum(-1, keepdim=True)
    return weights @ v_BHTD / total.masked_fill(total == 0, 1.0)
