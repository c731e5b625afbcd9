"""One fused attention for each part of a pattern, merged by log-sum-exp; CPU.

The keys of an ordinary query are split into those that all queries share, a band, and a rest
(`parts.py`); only the rest is copied. Each part gives its output o_p and log-sum-exp l_p; with
l = log Σ exp(l_p) the whole is Σ exp(l_p - l) o_p, one softmax over all keys. Backward, each part
is differentiated with the *merged* output and l, which is exact: its weights exp(score - l) are
those of the one softmax.

Everything runs in chunks of at most one head or so, whose intermediates stay in the cache
(`chunks.py`), and threads share the heads (`workers.py`).
"""

# B batch, H heads, T tokens, N blocks, S tokens in a block,
# C heads of a chunk, R its query blocks, D head dimension

import itertools
import weakref

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.backends.chunks import Chunk, chunks
from dna_bigbird.attention.backends.flash import Fused, Products, flash
from dna_bigbird.attention.backends.fused import fused
from dna_bigbird.attention.backends.parts import split
from dna_bigbird.attention.backends.readers import Reader
from dna_bigbird.attention.backends.workers import load, share_heads, store
from dna_bigbird.attention.patterns import BlockPattern

DTYPES = (torch.float32, torch.float64, torch.bfloat16)
HIDDEN = -1e30
"""Added to the score of a hidden key. Finite: minus infinity gives NaN where all keys are hidden."""

# An operator takes numbers and tensors only, so it is given the number of its pattern.
_numbers: weakref.WeakKeyDictionary[BlockPattern, int] = weakref.WeakKeyDictionary()
_patterns: weakref.WeakValueDictionary[int, BlockPattern] = weakref.WeakValueDictionary()
_next_number = itertools.count()


def merged(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    pattern: BlockPattern,
    key_padding_mask_BT: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Backend `merged`, O(length) in time and memory; see `attend` for the arguments.

    Raises:
        ValueError: On another device than a CPU, for another type than float32, float64 or
            bfloat16, or with dropout.
    """
    if q_BHTD.device.type != "cpu":
        raise ValueError(f"backend 'merged' runs on a CPU, the tensors are on {q_BHTD.device}")
    if q_BHTD.dtype not in DTYPES:
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
        raise ValueError(f"backend 'merged' computes {names}; the tensors are {q_BHTD.dtype}")
    if dropout_p:
        raise ValueError(
            f"backend 'merged' has no dropout, dropout_p is {dropout_p}; 'gather' has it"
        )
    if pattern.covers_everything:
        hidden = None if key_padding_mask_BT is None else key_padding_mask_BT[:, None, None, :]
        return fused(q_BHTD, k_BHTD, v_BHTD, hidden, 0.0)
    B, _, T, _ = q_BHTD.shape
    q, k, v, hidden_BT = q_BHTD, k_BHTD, v_BHTD, key_padding_mask_BT
    if ragged := pattern.num_blocks * pattern.block_size - T:
        q, k, v = (F.pad(x, (0, 0, 0, ragged)) for x in (q, k, v))
        if hidden_BT is None:
            hidden_BT = torch.zeros(B, T, dtype=torch.bool)
        hidden_BT = F.pad(hidden_BT, (0, ragged), value=True)
    return _merged(q, k, v, hidden_BT, _number(pattern))[0][:, :, :T]


def _number(pattern: BlockPattern) -> int:
    if pattern not in _numbers:
        _numbers[pattern] = next(_next_number)
        _patterns[_numbers[pattern]] = pattern
    return _numbers[pattern]


# An operator is one opaque node for torch.compile, whatever the pattern.
@torch.library.custom_op("dna_bigbird::merged", mutates_args=(), device_types="cpu")
def _merged(
    q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, pattern: int
) -> tuple[Tensor, Tensor]:
    """Return the output (B, H, T, D) and the log-sum-exp of the scores (B, H, T)."""
    table, dtype = _patterns[pattern], _precise(q.dtype)
    S, H = table.block_size, q.shape[1]
    # In memory as (B, T, H, D), which the projection after it wants.
    out = torch.empty_like(q.transpose(1, 2), memory_format=torch.contiguous_format).transpose(1, 2)
    lse = torch.empty(q.shape[:3], dtype=dtype)
    bias = _bias(hidden, q)

    def attend_heads(heads: slice) -> None:
        some = [load(x, heads, S, dtype) for x in (q, k, v)]
        some_bias = None if bias is None else load(bias, heads, S, dtype)
        some_out, some_lse = torch.empty_like(some[0]), torch.empty_like(some[0][..., :1])
        for chunk in chunks(split(table), heads.start, len(some_out), table.num_blocks, S):
            queries = chunk.take(some[0])
            results = [
                flash(queries, *_keys(chunk, reader, *some[1:], some_bias), reader.one_list)
                for reader in chunk.readers
            ]
            for whole, part in zip((some_out, some_lse), _merge(results), strict=True):
                chunk.put(whole, part)
        if bias is not None:
            some_out.masked_fill_(some_lse < HIDDEN / 2, 0.0)
        store(out, heads, some_out)
        store(lse[..., None], heads, some_lse)

    share_heads(attend_heads, q.shape[0] * H)
    return out, lse


@torch.library.custom_op("dna_bigbird::merged_backward", mutates_args=(), device_types="cpu")
def _merged_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    hidden: Tensor | None,
    out: Tensor,
    lse: Tensor,
    pattern: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of q, k and v."""
    table, dtype = _patterns[pattern], _precise(q.dtype)
    S = table.block_size
    bias = _bias(hidden, q)
    gradients = tuple(torch.empty_like(q, memory_format=torch.contiguous_format) for _ in range(3))

    def differentiate_heads(heads: slice) -> None:
        of_query = [load(x, heads, S, dtype) for x in (grad, q, out, lse[..., None])]
        keys = [load(x, heads, S, dtype) for x in (k, v)]
        some_bias = None if bias is None else load(bias, heads, S, dtype)
        if bias is not None:  # a query without keys gives zero whatever they are
            of_query[0] = of_query[0].masked_fill(of_query[3] < HIDDEN / 2, 0.0)
        dq, dk, dv = torch.empty_like(keys[0]), *map(torch.zeros_like, keys)
        for chunk in chunks(split(table), heads.start, len(dq), table.num_blocks, S):
            method = (Fused if chunk.is_global else Products)(*map(chunk.take, of_query))
            for reader in chunk.readers:
                taken = _keys(chunk, reader, *keys, some_bias)
                for whole, part in zip((dk, dv), method.keys(*taken, reader.one_list), strict=True):
                    reader.give(whole[chunk.heads], part)
            chunk.put(dq, method.of_q)
        for whole, some in zip(gradients, (dq, dk, dv), strict=True):
            store(whole, heads, some)

    share_heads(differentiate_heads, q.shape[0] * q.shape[1])
    return gradients


@_merged.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, pattern: int):
    out = torch.empty_like(q.transpose(1, 2), memory_format=torch.contiguous_format).transpose(1, 2)
    return out, q.new_empty(q.shape[:3], dtype=_precise(q.dtype))


@_merged_backward.register_fake
def _(grad, q, k, v, hidden, out, lse, pattern):
    return tuple(torch.empty_like(q, memory_format=torch.contiguous_format) for _ in range(3))


def _save(ctx, inputs, output) -> None:
    *tensors, ctx.pattern = inputs
    ctx.save_for_backward(*tensors, *output)


def _backward(ctx, grad: Tensor, _):
    return *_merged_backward(grad, *ctx.saved_tensors, ctx.pattern), None, None


_merged.register_autograd(_backward, setup_context=_save)


def _precise(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _bias(hidden_BT: Tensor | None, q_BHTD: Tensor) -> Tensor | None:
    """Return what to add to the scores of each key (B, H, T, 1); None if nothing is hidden."""
    if hidden_BT is None or not hidden_BT.any():
        return None
    B, H, T, _ = q_BHTD.shape
    bias_BT = torch.zeros(B, T, dtype=_precise(q_BHTD.dtype)).masked_fill_(hidden_BT, HIDDEN)
    return bias_BT[:, None, :, None].expand(B, H, T, 1)


def _keys(chunk: Chunk, reader: Reader, k: Tensor, v: Tensor, bias: Tensor | None):
    k, v = (reader.take(x[chunk.heads]) for x in (k, v))
    if bias is None:
        return k, v, None
    added = reader.take(bias[chunk.heads]).mT
    return k, v, added if added.any() else None


def _merge(results: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Return the output and log-sum-exp over the keys of all parts."""
    if len(results) == 1:
        return results[0]
    lse = torch.logsumexp(torch.stack([part for _, part in results]), dim=0)
    total = results[0][0] * (results[0][1] - lse).exp_()
    for out, part in results[1:]:
        total.addcmul_(out, (part - lse).exp_())
    return total, lse
