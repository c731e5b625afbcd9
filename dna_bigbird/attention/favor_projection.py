"""Random projections of the Performer, drawn from (seed, number of the draw)."""

# M features, D head dimension

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.core.choices import checked

Rows = Literal["orthogonal", "independent", "identity"]
Norms = Literal["gaussian", "sqrt_dim"]


@checked()
def draw_projection(
    num_features: int,
    head_dim: int,
    *,
    seed: int,
    draw: int,
    rows: Rows = "orthogonal",
    norms: Norms = "gaussian",
) -> Tensor:
    """Draw the projection of one layer (Choromanski et al. 2021, arXiv 2009.14794, §2.4).

    The generator is NumPy's PCG64 with (`seed`, `draw`): no other random number has influence, and no
    state but these two numbers is needed to go on.

    Args:
        num_features: Rows M of the matrix.
        draw: Number of this draw of the layer, from 0.
        rows: 'orthogonal': the rows of each block of D are orthogonal; the last block may have
            fewer. 'independent': Gaussian rows. 'identity': no randomness, M = D.
        norms: Of orthogonal rows. 'gaussian': each has the length of a Gaussian vector of its own, so
            a single row has the normal distribution. 'sqrt_dim': all have length √D.

    Returns:
        (M, D) float32, on the CPU.

    Raises:
        ValueError: If a number is out of range, or there is not one row per dimension for 'identity'.

    Example:
        >>> w_MD = draw_projection(6, 4, seed=0, draw=0, norms="sqrt_dim")
        >>> (w_MD[:4] @ w_MD[:4].T).round(decimals=4).abs().diagonal()
        tensor([4., 4., 4., 4.])
    """
    if num_features < 1 or head_dim < 1 or seed < 0 or draw < 0:
        raise ValueError(
            f"num_features and head_dim must be at least 1, seed and draw at least 0; got "
            f"{num_features}, {head_dim}, {seed}, {draw}"
        )
    if rows == "identity":
        if num_features != head_dim:
            raise ValueError(f"rows 'identity' needs {head_dim} features, got {num_features}")
        return torch.eye(head_dim)
    rng = np.random.default_rng((seed, draw))
    if rows == "independent":
        w_MD = rng.standard_normal((num_features, head_dim))
        return torch.from_numpy(w_MD).float()
    blocks = [_rotation(rng, head_dim) for _ in range(-(-num_features // head_dim))]
    w_MD = np.concatenate(blocks)[:num_features]
    if norms == "gaussian":
        lengths_M1 = np.linalg.norm(
            rng.standard_normal((num_features, head_dim)), axis=1, keepdims=True
        )
    else:
        lengths_M1 = np.full((num_features, 1), head_dim**0.5)
    return torch.from_numpy(w_MD * lengths_M1).float()


def _rotation(rng: np.random.Generator, head_dim: int) -> np.ndarray:
    """Return an orthogonal matrix of the uniform (Haar) distribution."""
    q_DD, r_DD = np.linalg.qr(rng.standard_normal((head_dim, head_dim)))
    # Without these signs (Mezzadri 2007, §5) the first row always points to one side, which biases
    # the kernel.
    return (q_DD * np.sign(np.diagonal(r_DD))).T
