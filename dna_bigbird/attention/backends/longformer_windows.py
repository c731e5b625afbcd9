"""Windows of Longformer block by block: one softmax over a band and the global keys.

Time and memory are linear in the length: of the scores only those of a block exist at a time, for a
few heads (a "unit"), so that they stay in the cache. The backward pass computes the weights again.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.backends.longformer_band import (
    Band,
    Block,
    Corners,
    Cut,
    Positions,
    PositionScores,
    Windows,
)
from dna_bigbird.attention.backends.sdpa import sdpa
from dna_bigbird.attention.backends.softmax_parts import (
    HIDDEN,
    LEAST,
    LOWEST_EXPONENT,
    Dropout,
    dropped,
    finished,
    new_seed,
)
from dna_bigbird.attention.backends.workers import load, share_heads, store
from dna_bigbird.attention.etc_heads import wide
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

# B sequences, H heads, T tokens, G global keys, D head dimension, U heads of a unit, S queries of a
# block, W its keys


def blocked_windows(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    k_global: Tensor,
    v_global: Tensor,
    windows: Windows,
    dropout_p: float = 0.0,
    cut: Cut | None = None,
    positions: Positions | None = None,
) -> Tensor:
    """Return the output (B, H, T, D), zero for tokens without a window."""
    # `positions` are added to the scores of the window, not to those of global keys.
    cut = cut or Cut.of(q, windows)
    tensors = (q, k, v, k_global, v_global, *(positions or (None, None)))
    return _Windows.apply(*tensors, windows, cut, dropout_p, new_seed(dropout_p))


class _Unit:
    """Some heads in float32 or better, and the scores of a block of them."""

    def __init__(self, inputs: tuple[Tensor, ...], windows: Windows, cut: Cut, unit: int) -> None:
        q, k_global = inputs[0], inputs[3]
        B, H, T, D = q.shape
        self.heads = slice(unit * cut.unit, min((unit + 1) * cut.unit, B * H))
        self.dtype, self.scale = wide(q.dtype), D**-0.5
        self.band = Band(T, windows.left, windows.right, cut.block)
        self.corners = Corners(self.band, self.dtype, q.device)
        q, self.k, self.v = (self.some(x) for x in inputs[:3])
        self.q = q * self.scale
        self.k_global = self.v_global = None
        if k_global.shape[2]:
            self.k_global, self.v_global = (self.some(x) for x in inputs[3:5])
        self.positions = None
        if inputs[5] is not None:
            q_position, table = (self.some(x) for x in inputs[5:])
            self.positions = PositionScores(self.band, q_position * self.scale, table)
        rows = torch.arange(self.heads.start, self.heads.stop, device=q.device) // H
        self.no_window, self.first_readers = windows.no_window[rows], windows.first_readers[rows]
        self.hides_global = bool((self.first_readers > 0).any())
        # Holes are tokens without a window: padding and global tokens. How many of the first t tokens are holes in
        # some head (`_before`), or in all (`_all_before`), so that a block asks by one subtraction whether it has
        # any. As lists: to read a number from a tensor in each block would wait for the GPU each time.
        self._before = F.pad(self.no_window.any(0).cumsum(0), (1, 0)).tolist()
        self._all_before = F.pad(self.no_window.all(0).cumsum(0), (1, 0)).tolist()

    def some(self, x: Tensor) -> Tensor:
        """Return (U, any, D), contiguous."""
        return load(x, self.heads, x.shape[2], self.dtype)[:, 0]

    def blocks(self) -> list[Block]:
        """Return the blocks in which a token has a window."""
        before = self._all_before
        return [
            block
            for block in self.band.blocks()
            if before[block.rows.stop] - before[block.rows.start]
            < block.rows.stop - block.rows.start
        ]

    def scores(self, block: Block) -> tuple[Tensor, Tensor | None]:
        """Return the scores of the band (U, S, W) and of global keys (U, S, G), hidden ones -1e30."""
        q = self.q[:, block.rows]
        near = torch.bmm(q, self.k[:, block.keys].mT)
        if self.positions is not None:
            self.positions.add(near, block)
        self.corners.hide(near, block)
        if self._has_holes(block):
            near.add_(self.no_window[:, None, block.keys].to(self.dtype) * HIDDEN)
        if self.k_global is None:
            return near, None
        far = torch.bmm(q, self.k_global.mT)
        if self.hides_global:
            far.add_((1 - self._reads_global(block)) * HIDDEN)
        return near, far

    def exponentials(
        self, near: Tensor, far: Tensor | None, subtracted: Tensor, block: Block
    ) -> None:
        """Turn scores into exp(score - subtracted), exactly 0 where hidden, in place."""
        near.sub_(subtracted)
        has_holes = self._has_holes(block)
        if has_holes:
            near.clamp_(min=LOWEST_EXPONENT)
        else:
            self.corners.clamp(near, block)
        self.corners.clear(near.exp_(), block)
        if has_holes:
            has_window = (~self.no_window).to(self.dtype)
            rows = has_window[:, block.rows, None]
            near.mul_(has_window[:, None, block.keys]).mul_(rows)
        if far is not None:
            far.sub_(subtracted).clamp_(min=LOWEST_EXPONENT).exp_()
            if self.hides_global:
                far.mul_(self._reads_global(block))
            if has_holes:
                far.mul_(rows)

    def _has_holes(self, block: Block) -> bool:
        return self._before[block.keys.stop] > self._before[block.keys.start]

    def _reads_global(self, block: Block) -> Tensor:
        """Return 1 where a query reads a global key, else 0: (U, S, G)."""
        at = torch.arange(block.rows.start, block.rows.stop, device=self.first_readers.device)
        return (at[:, None] >= self.first_readers[:, None]).to(self.dtype)


class _Windows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *arguments):
        *inputs, windows, cut, dropout_p, seed = arguments
        q = inputs[0]
        # In memory as (B, T, H, D), which the projection after it expects.
        out = torch.zeros_like(q.transpose(1, 2), memory_format=torch.contiguous_format)
        out = out.transpose(1, 2)
        lse = q.new_full((*q.shape[:3], 1), torch.inf, dtype=wide(q.dtype))

        def attend(unit: int) -> None:
            part = _Unit(inputs, windows, cut, unit)
            some_out = torch.zeros_like(part.q)
            some_lse = torch.full_like(part.q[..., :1], torch.inf)
            dropout = Dropout(dropout_p, seed + unit, q.device)
            for block in part.blocks():
                results = _attend(part, block, dropout)
                some_out[:, block.rows], some_lse[:, block.rows] = results
            store(out, part.heads, some_out[:, None])
            store(lse, part.heads, some_lse[:, None])

        _each_unit(attend, q, cut)
        ctx.save_for_backward(*inputs, out, lse)
        ctx.settings = (windows, cut, dropout_p, seed)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        *inputs, out, lse = ctx.saved_tensors
        windows, cut, dropout_p, seed = ctx.settings
        gradients = [
            None if x is None else torch.empty_like(x, memory_format=torch.contiguous_format)
            for x in inputs
        ]

        def differentiate(unit: int) -> None:
            part = _Unit(inputs, windows, cut, unit)
            of_rows = [part.some(x) for x in (grad, out, lse)]
            dropout = Dropout(dropout_p, seed + unit, grad.device)
            for whole, some in zip(gradients, _gradients(part, dropout, *of_rows), strict=True):
                if some is not None:
                    store(whole, part.heads, some[:, None])

        _each_unit(differentiate, grad, cut)
        return *gradients, None, None, None, None


def _each_unit(task: Callable[[int], None], q: Tensor, cut: Cut) -> None:
    """Call the task for each unit; on a CPU threads take units."""
    units = math.ceil(q.shape[0] * q.shape[1] / cut.unit)

    def run(some: slice) -> None:
        for unit in range(some.start, some.stop):
            task(unit)

    share_heads(run, units) if q.device.type == "cpu" else run(slice(0, units))


def _attend(part: _Unit, block: Block, dropout: Dropout) -> tuple[Tensor, Tensor]:
    """Return output (U, S, D) and log-sum-exp (U, S, 1) of a block."""
    near, far = part.scores(block)
    top = near.amax(-1, keepdim=True)
    if far is not None:
        top = torch.maximum(top, far.amax(-1, keepdim=True))
    part.exponentials(near, far, top.clamp_(min=LEAST), block)
    total = near.sum(-1, keepdim=True)
    near = dropped(near, dropout.factors(near))
    weighted = torch.bmm(near, part.v[:, block.keys])
    if far is not None:
        total += far.sum(-1, keepdim=True)
        weighted.baddbmm_(dropped(far, dropout.factors(far)), part.v_global)
    return finished(total, top, weighted)


def _gradients(
    part: _Unit, dropout: Dropout, grad: Tensor, out: Tensor, lse: Tensor
) -> list[Tensor | None]:
    """Return the gradients of queries, keys and values, of global keys and values, and of positions."""
    inputs = (part.q, part.k, part.v, part.k_global, part.v_global)
    dq, dk, dv, dk_global, dv_global = (None if x is None else torch.zeros_like(x) for x in inputs)
    delta = (grad * out).sum(-1, keepdim=True)
    for block in part.blocks():
        q, of_out = part.q[:, block.rows], grad[:, block.rows]
        near, far = part.scores(block)
        part.exponentials(near, far, lse[:, block.rows], block)
        factors = dropout.factors(near)
        dv[:, block.keys].baddbmm_(dropped(near, factors).mT, of_out)
        of_near = dropped(torch.bmm(of_out, part.v[:, block.keys].mT), factors)
        of_near.sub_(delta[:, block.rows]).mul_(near)
        dk[:, block.keys].baddbmm_(of_near.mT, q)
        of_q = torch.bmm(of_near, part.k[:, block.keys])
        if far is not None:
            factors = dropout.factors(far)
            dv_global.baddbmm_(dropped(far, factors).mT, of_out)
            of_far = dropped(torch.bmm(of_out, part.v_global.mT), factors)
            of_far.sub_(delta[:, block.rows]).mul_(far)
            dk_global.baddbmm_(of_far.mT, q)
            of_q.baddbmm_(of_far, part.k_global)
        dq[:, block.rows] = of_q
        if part.positions is not None:
            part.positions.add_gradients(of_near, block)
    of_positions = (None, None) if part.positions is None else part.positions.gradients(part.scale)
    return [dq.mul_(part.scale), dk, dv, dk_global, dv_global, *of_positions]


# --- Longformer in linear time and memory: heads with dilation are ordinary windows of other sequences ---
#
# A head with dilation d reads, from position i, only positions that equal i modulo d. So its tokens are d
# sequences that do not read each other's windows, with windows without dilation: `longformer_windows.py`
# computes them, as d times as many sequences of a d-th of the length. Global keys are the same for all.

# B batch, H heads, T tokens, G global tokens, D head dimension, d dilation, N = ceil(T / d)


def blocked(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float = 0.0,
    cut: Cut | None = None,
    positions: Positions | None = None,
) -> Tensor:
    """Return the output of ordinary tokens (B, H, T, D), zero for the others.

    `positions` are for a causal pattern: queries (B, H, T, D), and a table (B, H, R, D) with the
    key m steps to the left in row m. More rows than the window needs are not read.
    """
    T = q.shape[2]
    groups = pattern.heads_by_dilation(q.shape[1])
    parts = []
    for dilation, heads in groups.items():
        some = [x if len(groups) == 1 else x[:, heads] for x in (q, k, v)]
        of_global = [_for_each_residue(layout.gathered(x), dilation) for x in some[1:]]
        windows = _windows(pattern, layout, dilation)
        of_heads = None
        if positions is not None:
            windows = windows._replace(left=min(windows.left, windows.no_window.shape[1] - 1))
            of_heads = Positions(*(x if len(groups) == 1 else x[:, heads] for x in positions))
            of_heads = _positions_by_residue(of_heads, dilation, windows.left + 1)
        out = blocked_windows(
            *(_by_residue(x, dilation) for x in some),
            *of_global,
            windows,
            dropout_p,
            cut,
            of_heads,
        )
        parts.append(_by_position(out, dilation, T))
    if len(parts) == 1:
        return parts[0]
    order = torch.tensor([h for heads in groups.values() for h in heads], device=q.device)
    return torch.cat(parts, dim=1)[:, order.argsort()]


def blocked_global(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float = 0.0,
) -> Tensor:
    """Return the output of global tokens (B, H, G, D), by PyTorch's fused attention."""
    hidden = layout.hidden_from_global(pattern.is_causal)
    is_needed = pattern.is_causal or layout.has_padding
    return sdpa(q, k, v, hidden[:, None] if is_needed else None, dropout_p)


def _windows(pattern: LongformerPattern, layout: LongformerLayout, dilation: int) -> Windows:
    """Return who reads whom among the tokens of each residue, as (B d) sequences."""
    hidden = _by_residue(layout.no_window[:, None, :, None], dilation, value=True)[:, 0, :, 0]
    positions = layout.global_positions[:, None]
    first = torch.zeros_like(positions).expand(-1, dilation, -1)
    if pattern.is_causal:
        residue = torch.arange(dilation, device=positions.device)[:, None]
        first = (positions - residue + dilation - 1).div(dilation, rounding_mode="floor")
    first = first.masked_fill(layout.is_unused[:, None], hidden.shape[1]).flatten(0, 1)
    return Windows(hidden, first, pattern.window, pattern.furthest_right)


def _by_residue(x: Tensor, dilation: int, value: object = 0.0) -> Tensor:
    """Return the tokens of each residue as sequences: (B d, H, N, D) of (B, H, T, D)."""
    if dilation == 1:
        return x
    missing = -x.shape[2] % dilation
    whole = F.pad(x, (0, 0, 0, missing), value=value) if missing else x
    return whole.unflatten(2, (-1, dilation)).permute(0, 3, 1, 2, 4).flatten(0, 1)


def _positions_by_residue(positions: Positions, dilation: int, num_keys: int) -> Positions:
    """Return the positions of the sequences of each residue, with the keys from left to right."""
    table = positions.table[:, :, :num_keys].flip(2)
    return Positions(_by_residue(positions.q, dilation), _for_each_residue(table, dilation))


def _by_position(x: Tensor, dilation: int, num_tokens: int) -> Tensor:
    """Return the inverse of `_by_residue`."""
    if dilation == 1:
        return x
    whole = x.unflatten(0, (-1, dilation)).permute(0, 2, 3, 1, 4).flatten(2, 3)
    return whole[:, :, :num_tokens]


def _for_each_residue(x: Tensor, dilation: int) -> Tensor:
    """Return (B d, H, G, D): what belongs to a sequence, for each of its residues."""
    return x if dilation == 1 else x.repeat_interleave(dilation, dim=0)
