"""Performer attention with its projections and the random features that training redraws."""

import math
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.attend import check_heads
from dna_bigbird.attention.backends.dense import favor_dense
from dna_bigbird.attention.backends.favor import FavorCausal, FavorWhole, wide
from dna_bigbird.attention.cores.projected import ProjectedAttention, by_groups
from dna_bigbird.attention.favor_features import Favor
from dna_bigbird.attention.packing import Packing
from dna_bigbird.core.choices import checked

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


# M features, D head dimension


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
    """Draw the projection of one layer, (M, D) float32 (Choromanski et al. 2021, §2.4).

    The generator is NumPy's PCG64 with (`seed`, `draw`): no other random number has influence, and
    no state but these two numbers is needed to go on.

    Args:
        rows: 'orthogonal': the rows of each block of D are orthogonal; the last block may have
            fewer. 'independent': Gaussian rows. 'identity': no randomness, M = D.
        norms: Of orthogonal rows. 'gaussian': each has the length of a Gaussian vector of its own, so
            a single row has the normal distribution. 'sqrt_dim': all have length √D.

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


# P packed tokens (attention/packing.py), E hidden size, H heads, D head size, M features


def default_features(head_dim: int) -> int:
    """Return D ln D, rounded down, at least 1 (the order of Choromanski et al. 2021, Theorem 4)."""
    return max(1, int(head_dim * math.log(head_dim)))


class Performer(ProjectedAttention):
    """Multi-head attention by random features, linear in the length (Choromanski et al. 2021).

    `qkv` and `output` mean the same as in the other cores, so weights move. All heads share one
    projection. It is drawn from (`seed`, number of the draw), is a buffer, and changes in training
    alone: before training forward number `redraw_interval`, 2 `redraw_interval` and so on, counted
    from 0. The count is saved with the weights, so a training run that is continued draws the same
    matrices. There is no attention dropout, because no weight of a pair is computed.

    A forward that activation checkpointing repeats in the backward pass does not count, and uses the
    projection of that time, which differs if a redraw came between: with checkpointing, run each
    backward before the next forward.

    Args:
        num_features: M; None: D ln D, or D for identity rows.
        favor: Kernel, ε and stabiliser.
        rows, norms: See `draw_projection`.
        seed: Of this layer. Layers with one seed have the same projection.
        redraw_interval: Forwards in training that use one projection; None: it is never redrawn.
        is_causal: Whether a token reads itself and earlier tokens only.
        backend: See `attend_favor`. It may be changed at any time.
        projections: Further settings of `ProjectedAttention`.

    Raises:
        ValueError: If the heads do not divide the hidden size, or a number is out of range.
    """

    @checked()
    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        *,
        num_features: int | None = None,
        favor: Favor = Favor(),  # noqa: B008 - frozen
        rows: Rows = "orthogonal",
        norms: Norms = "gaussian",
        seed: int = 0,
        redraw_interval: int | None = 1000,
        is_causal: bool = False,
        backend: str = "auto",
        **projections: Annotated[Any, ProjectedAttention],
    ) -> None:
        super().__init__(hidden_size, num_heads, **projections)
        if redraw_interval is not None and redraw_interval < 1:
            raise ValueError(f"redraw_interval must be at least 1 or None, got {redraw_interval}")
        if num_features is None:
            num_features = self.head_dim if rows == "identity" else default_features(self.head_dim)
        self.num_features, self.favor, self.rows, self.norms = num_features, favor, rows, norms
        self.seed, self.redraw_interval = seed, redraw_interval
        self.is_causal, self.backend = is_causal, backend
        self.training_forwards = 0
        self.projection: Tensor
        self.register_buffer("projection", self._draw(0))

    def packed(
        self,
        x_PE: Tensor,
        packing: Packing,
        shared: Tensor | None = None,
        first_PE: Tensor | None = None,
    ) -> Tensor:
        """Return the attention output (packed tokens, hidden); padding, even NaN, is ignored."""
        self._count()
        if packing.is_padding_P is not None:
            x_PE = x_PE.masked_fill(packing.is_padding_P[:, None], 0.0)
            if first_PE is not None:
                first_PE = first_PE.masked_fill(packing.is_padding_P[:, None], 0.0)
        turns_P1F2 = self.turns(packing, x_PE.dtype) if shared is None else shared
        heads = self.heads(x_PE, turns_P1F2, first_PE)
        return self.projected(self._mix_groups(*heads, packing).flatten(1), x_PE)

    @torch.compiler.disable
    def _mix_groups(self, q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, packing: Packing) -> Tensor:
        """Attend group by group; torch.compile leaves this as it is."""

        def attended(q: Tensor, k: Tensor, v: Tensor, hidden_BT: Tensor | None) -> Tensor:
            settings = (self.projection, self.favor, hidden_BT, self.is_causal, self.backend)
            return attend_favor(q, k, v, *settings)

        return by_groups(attended, (q_PHD, k_PHD, v_PHD), packing)

    def get_extra_state(self) -> Tensor:
        """Return the number of training forwards, for `state_dict`."""
        return torch.tensor(self.training_forwards)

    def set_extra_state(self, state: Tensor) -> None:
        """Continue the count of `get_extra_state`."""
        self.training_forwards = int(state)

    @torch.compiler.disable
    def _count(self) -> None:
        """Count a forward in training, and draw the next projection before it if it is due."""
        # Within a backward pass this is a repeat of a forward that was counted.
        if not self.training or torch._C._current_graph_task_id() != -1:
            return
        interval = self.redraw_interval
        if (
            interval is not None
            and self.training_forwards
            and not self.training_forwards % interval
        ):
            # A new tensor: backward passes that are still to come have the old one.
            self.projection = self._draw(self.training_forwards // interval).to(self.projection)
        self.training_forwards += 1

    def _draw(self, draw: int) -> Tensor:
        return draw_projection(
            self.num_features,
            self.head_dim,
            seed=self.seed,
            draw=draw,
            rows=self.rows,
            norms=self.norms,
        )
