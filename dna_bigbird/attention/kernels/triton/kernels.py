"""Block-sparse attention in Triton: forward, and backward without atomic additions.

The algorithm is that of FlashAttention-2 (Dao 2023, arXiv 2307.08691) with a list of blocks in
place of all blocks: a softmax that is updated tile by tile, and a backward pass that computes the
weights again from the log-sum-exp of the scores. Sums are float32; exponents are to base 2.

Each program computes one tile of a block and reads the tiles of the blocks in its list. `operator.py`
describes `starts`, `blocks` and `order`. Only this module imports Triton.
"""

# Q queries and K keys of one tile, D head dimension, filled up to a power of 2;
# H heads, N blocks, T tokens, S tokens in a block

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _own_tile(starts, order, H, N, T, S: tl.constexpr, TILE: tl.constexpr):
    """Return where this program works, and the steps through its list; long lists start first.

    Returns:
        batch, head: int64, for offsets of more than 2^31 elements;
        tokens, exists: (TILE), and which of them are in the block and in the sequence;
        first_step, end: the range of its steps, one for each tile of the blocks in the list.
    """
    TILES: tl.constexpr = (S + TILE - 1) // TILE
    of_head, tile = tl.program_id(0) // (N * TILES), tl.program_id(0) % (N * TILES)
    batch, head = of_head // H, of_head % H
    block = tl.load(order + head * N + tile // TILES)
    within = tile % TILES * TILE + tl.arange(0, TILE)
    tokens = block * S + within
    start = starts + head * (N + 1) + block
    first_step, end = tl.load(start) * TILES, tl.load(start + 1) * TILES
    exists = (within < S) & (tokens < T)
    return batch.to(tl.int64), head.to(tl.int64), tokens, exists, first_step, end


@triton.jit
def _listed_tile(blocks, step, hidden, batch, T, S: tl.constexpr, TILE: tl.constexpr):
    """Return the tokens of one step through a list, and which of them exist and are not hidden."""
    TILES: tl.constexpr = (S + TILE - 1) // TILE
    within = step % TILES * TILE + tl.arange(0, TILE)
    tokens = tl.load(blocks + step // TILES) * S + within
    exists = (within < S) & (tokens < T)
    if hidden is not None:
        exists &= tl.load(hidden + batch * T + tokens, exists, 1) == 0
    return tokens, exists


@triton.jit
def _at(tokens, strides, dims):
    """Return the offsets of some tokens within their head: (tokens, D)."""
    return tokens.to(tl.int64)[:, None] * strides[2] + dims[None, :]


@triton.jit
def forward(
    q, k, v, out, log2_sum_exp, hidden, starts, blocks, order,
    q_strides, k_strides, v_strides, out_strides, H, N, T, scale,
    S: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, TILE_D: tl.constexpr,
):  # fmt: skip
    """Compute output and log-sum-exp of one tile of queries, over the list of its key blocks."""
    batch, head, queries, is_query, first_step, end = _own_tile(starts, order, H, N, T, S, TILE)
    q += batch * q_strides[0] + head * q_strides[1]
    k += batch * k_strides[0] + head * k_strides[1]
    v += batch * v_strides[0] + head * v_strides[1]
    out += batch * out_strides[0] + head * out_strides[1]
    log2_sum_exp += (batch * H + head) * T
    dims = tl.arange(0, TILE_D)
    is_QD = is_query[:, None] & (dims < D)[None, :]
    q_QD = tl.load(q + _at(queries, q_strides, dims), is_QD, 0.0)
    largest_Q = tl.full([TILE], float("-inf"), tl.float32)
    sum_Q = tl.full([TILE], 0.0, tl.float32)
    out_QD = tl.full([TILE, TILE_D], 0.0, tl.float32)
    for step in range(first_step, end):
        keys, is_key = _listed_tile(blocks, step, hidden, batch, T, S, TILE)
        is_KD = is_key[:, None] & (dims < D)[None, :]
        tokens = keys.to(tl.int64)[:, None]
        k_KD = tl.load(k + tokens * k_strides[2] + dims[None, :], is_KD, 0.0)
        v_KD = tl.load(v + tokens * v_strides[2] + dims[None, :], is_KD, 0.0)
        scores_QK = tl.dot(q_QD, tl.trans(k_KD), input_precision="ieee") * (scale * LOG2_E)
        scores_QK = tl.where(is_key[None, :], scores_QK, float("-inf"))
        new_largest_Q = tl.maximum(largest_Q, tl.max(scores_QK, 1))
        # A query that has seen no key yet has -inf, and -inf - -inf is NaN.
        shift_Q = tl.where(new_largest_Q == float("-inf"), 0.0, new_largest_Q)
        weights_QK = tl.exp2(scores_QK - shift_Q[:, None])
        old_share_Q = tl.exp2(largest_Q - shift_Q)
        sum_Q = sum_Q * old_share_Q + tl.sum(weights_QK, 1)
        more_QD = tl.dot(weights_QK.to(v_KD.dtype), v_KD, input_precision="ieee")
        out_QD = out_QD * old_share_Q[:, None] + more_QD
        largest_Q = new_largest_Q
    is_empty_Q = sum_Q == 0
    sum_Q = tl.where(is_empty_Q, 1.0, sum_Q)
    # inf makes the weights of a query without keys zero in the backward pass.
    log2_sum_exp_Q = tl.where(is_empty_Q, float("inf"), largest_Q + tl.log2(sum_Q))
    out_QD = out_QD / sum_Q[:, None]
    tl.store(log2_sum_exp + queries, log2_sum_exp_Q, is_query)
    tl.store(out + _at(queries, out_strides, dims), out_QD.to(out.dtype.element_ty), is_QD)


@triton.jit
def backward_of_queries(
    grad, q, k, v, out, grad_q, log2_sum_exp, delta, hidden, starts, blocks, order,
    grad_strides, q_strides, k_strides, v_strides, out_strides, grad_q_strides, H, N, T, scale,
    S: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, TILE_D: tl.constexpr,
):  # fmt: skip
    """Compute the gradient of one tile of queries, over the list of its key blocks.

    It also writes `delta`, the sum of grad * out over D, which `backward_of_keys` reads.
    """
    batch, head, queries, is_query, first_step, end = _own_tile(starts, order, H, N, T, S, TILE)
    q += batch * q_strides[0] + head * q_strides[1]
    k += batch * k_strides[0] + head * k_strides[1]
    v += batch * v_strides[0] + head * v_strides[1]
    out += batch * out_strides[0] + head * out_strides[1]
    grad += batch * grad_strides[0] + head * grad_strides[1]
    grad_q += batch * grad_q_strides[0] + head * grad_q_strides[1]
    of_head = (batch * H + head) * T
    dims = tl.arange(0, TILE_D)
    is_QD = is_query[:, None] & (dims < D)[None, :]
    q_QD = tl.load(q + _at(queries, q_strides, dims), is_QD, 0.0)
    grad_QD = tl.load(grad + _at(queries, grad_strides, dims), is_QD, 0.0)
    out_QD = tl.load(out + _at(queries, out_strides, dims), is_QD, 0.0)
    delta_Q = tl.sum(grad_QD.to(tl.float32) * out_QD.to(tl.float32), 1)
    tl.store(delta + of_head + queries, delta_Q, is_query)
    log2_sum_exp_Q = tl.load(log2_sum_exp + of_head + queries, is_query, float("inf"))
    grad_q_QD = tl.full([TILE, TILE_D], 0.0, tl.float32)
    for step in range(first_step, end):
        keys, is_key = _listed_tile(blocks, step, hidden, batch, T, S, TILE)
        is_KD = is_key[:, None] & (dims < D)[None, :]
        tokens = keys.to(tl.int64)[:, None]
        k_KD = tl.load(k + tokens * k_strides[2] + dims[None, :], is_KD, 0.0)
        v_KD = tl.load(v + tokens * v_strides[2] + dims[None, :], is_KD, 0.0)
        scores_QK = tl.dot(q_QD, tl.trans(k_KD), input_precision="ieee") * (scale * LOG2_E)
        weights_QK = tl.exp2(scores_QK - log2_sum_exp_Q[:, None])
        weights_QK = tl.where(is_key[None, :], weights_QK, 0.0)
        of_weights_QK = tl.dot(grad_QD, tl.trans(v_KD), input_precision="ieee")
        of_scores_QK = (weights_QK * (of_weights_QK - delta_Q[:, None])).to(k_KD.dtype)
        grad_q_QD += tl.dot(of_scores_QK, k_KD, input_precision="ieee")
    grad_q_QD = (grad_q_QD * scale).to(grad_q.dtype.element_ty)
    tl.store(grad_q + _at(queries, grad_q_strides, dims), grad_q_QD, is_QD)


@triton.jit
def backward_of_keys(
    grad, q, k, v, grad_k, grad_v, log2_sum_exp, delta, hidden, starts, blocks, order,
    grad_strides, q_strides, k_strides, v_strides, grad_k_strides, grad_v_strides, H, N, T, scale,
    S: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, TILE_D: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of one tile of keys and values, over the list of its readers."""
    batch, head, keys, exists, first_step, end = _own_tile(starts, order, H, N, T, S, TILE)
    q += batch * q_strides[0] + head * q_strides[1]
    k += batch * k_strides[0] + head * k_strides[1]
    v += batch * v_strides[0] + head * v_strides[1]
    grad += batch * grad_strides[0] + head * grad_strides[1]
    grad_k += batch * grad_k_strides[0] + head * grad_k_strides[1]
    grad_v += batch * grad_v_strides[0] + head * grad_v_strides[1]
    of_head = (batch * H + head) * T
    dims = tl.arange(0, TILE_D)
    is_key = exists
    if hidden is not None:
        is_key &= tl.load(hidden + batch * T + keys, is_key, 1) == 0
    is_KD = is_key[:, None] & (dims < D)[None, :]
    k_KD = tl.load(k + _at(keys, k_strides, dims), is_KD, 0.0)
    v_KD = tl.load(v + _at(keys, v_strides, dims), is_KD, 0.0)
    grad_k_KD = tl.full([TILE, TILE_D], 0.0, tl.float32)
    grad_v_KD = tl.full([TILE, TILE_D], 0.0, tl.float32)
    for step in range(first_step, end):
        queries, is_query = _listed_tile(blocks, step, None, batch, T, S, TILE)
        is_QD = is_query[:, None] & (dims < D)[None, :]
        tokens = queries.to(tl.int64)[:, None]
        q_QD = tl.load(q + tokens * q_strides[2] + dims[None, :], is_QD, 0.0)
        grad_QD = tl.load(grad + tokens * grad_strides[2] + dims[None, :], is_QD, 0.0)
        log2_sum_exp_Q = tl.load(log2_sum_exp + of_head + queries, is_query, float("inf"))
        delta_Q = tl.load(delta + of_head + queries, is_query, 0.0)
        scores_KQ = tl.dot(k_KD, tl.trans(q_QD), input_precision="ieee") * (scale * LOG2_E)
        weights_KQ = tl.exp2(scores_KQ - log2_sum_exp_Q[None, :])
        weights_KQ = tl.where(is_key[:, None], weights_KQ, 0.0)
        grad_v_KD += tl.dot(weights_KQ.to(grad_QD.dtype), grad_QD, input_precision="ieee")
        of_weights_KQ = tl.dot(v_KD, tl.trans(grad_QD), input_precision="ieee")
        of_scores_KQ = (weights_KQ * (of_weights_KQ - delta_Q[None, :])).to(q_QD.dtype)
        grad_k_KD += tl.dot(of_scores_KQ, q_QD, input_precision="ieee")
    grad_k_KD = (grad_k_KD * scale).to(grad_k.dtype.element_ty)
    is_stored = exists[:, None] & (dims < D)[None, :]
    tl.store(grad_k + _at(keys, grad_k_strides, dims), grad_k_KD, is_stored)
    grad_v_KD = grad_v_KD.to(grad_v.dtype.element_ty)
    tl.store(grad_v + _at(keys, grad_v_strides, dims), grad_v_KD, is_stored)
