// Block-sparse attention on a CPU: forward and backward, float32 and bfloat16.
//
// The algorithm is FlashAttention over lists of key blocks. For each head and each tile of queries
//
//   forward    S = K Qᵀ            keys are rows, queries are columns
//              P = exp2(c (S - m)) m: a running maximum of each query, c = scale · log2(e)
//              O = O · 2^(c (m_old - m)) + Pᵀ V;  l likewise, with the column sums of P
//              at the end O / l, and the log-sum-exp to base 2, c m + log2 l
//   backward   P again from the log-sum-exp;  dP = V dOᵀ;  dS = scale · P ∘ (dP - delta)
//              dV += P dO;  dK += dS Q;  dQ += dSᵀ K,  with delta = row sums of dO ∘ O
//
// one chunk of at most 64 keys after the other. No score, no copy of the keys leaves the cache.
//
// * Scores are computed transposed, so that maximum, sum and the factors of a query are vectors of
//   different queries: nothing is ever added up across the lanes of a register. Keys are read where
//   they are, as broadcast scalars; only the tile of queries is transposed, once.
// * All five products have one form, C[r][:] += sum over u of A(r, u) · B[u][:], with A broadcast
//   and C in registers (product.h), about 6 rows by 64 columns with AVX-512.
// * The running maximum moves only when a score exceeds it by 2^8 (exp2 stays far from overflow),
//   so that O is hardly ever rescaled.
// * bfloat16: a "unit" of 32 bits holds two neighbours along the sum, which is what the dot product
//   instruction eats; everything else is as for float32, where a unit is one float. Sums are kept
//   in float32. Without that instruction bfloat16 is converted to float32 as it is read.
// * Hidden keys: a chunk with some is copied without them; the rest never knows.
// * Threads take tiles (forward) or heads (backward) from a counter, longest tiles first. In the
//   backward pass a head's dK and dV belong to one thread. If the heads do not divide well among
//   the threads, a head is cut into parts with dK and dV of their own, added up in a fixed order.
//   So equal inputs and thread count give equal bits, whichever thread is faster.
//
// Compiled once for each instruction set; the width of a register follows from the compiler's flags
// (isa.py). Needed are a C++17 compiler with vector extensions (GCC, Clang) and OpenMP, nothing else.
//
//   interface.h   what is given              product.h    the product
//   vectors.h     registers, exp2            tiles.h      tiles of queries, chunks of keys
//   elements.h    float32, bfloat16          memory.h     buffers of a thread
//   forward.h     one tile forward           backward.h   one tile backward
//   head_sums.h   dK and dV of a head        here         threads
//
// Words: T tokens, D head dimension, S tokens of a block, tile = up to 64 queries of one block,
// chunk = up to 64 keys of one block, step = distance of two rows in units.

#include <atomic>
#include <deque>
#include <memory>
#include <new>
#include <type_traits>

#include "backward.h"
#include "forward.h"
#include "head_sums.h"
#include "interface.h"

namespace {

#if defined(__AVX512BF16__)
using FastBfloat16 = Bfloat16Pairs;
#else
using FastBfloat16 = Bfloat16;
#endif

// Run `make_worker()(item)` for all items; return whether there was memory enough.
template <class F>
bool share(int64_t items, int threads, F&& make_worker) {
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
#pragma omp parallel num_threads(threads)
  {
    try {
      auto worker = make_worker();
      for (int64_t item; !failed && (item = next++) < items;) worker(item);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  }
  return !failed;
}

template <class E>
bool forward(const Problem& p) {
  return share(p.batch * p.heads * num_tiles(p), p.threads, [&] {
    return [&p, work = std::make_unique<Forward<E>>(p)](int64_t item) {
      const Tile tile = tile_of(p, item);
      if (tile.n) (*work)(tile);
    };
  });
}

// Where a head's sums may be from the beginning: in the result, if that is (T, D) in float32.
template <class E>
KeyGrads place_of(const Problem& p, int64_t batch, int64_t head) {
  if constexpr (std::is_same_v<E, Float32>) {
    if (p.grad_k.token_step == p.head_dim && p.grad_v.token_step == p.head_dim)
      return {head_of<E>(p.grad_k, batch, head), head_of<E>(p.grad_v, batch, head)};
  }
  return {};
}

template <class E>
void put_rows(const Problem& p, const float* from, const Tensor& to, int64_t batch, int64_t head) {
  auto* rows = head_of<E>(to, batch, head);
  for (int64_t t = 0; t < p.tokens; ++t)
    for (int64_t d = 0; d < p.head_dim; d += W)
      E::put(rows + t * to.token_step + d, load(from + t * p.head_dim + d));
}

template <class E>
bool backward(const Problem& p) {
  const int64_t heads = p.batch * p.heads, tiles = num_tiles(p);
  const int parts = num_parts(heads, p.threads, tiles);
  std::deque<HeadSums> sums;
  for (int64_t i = 0; i < heads; ++i)
    sums.emplace_back(parts, p.tokens * p.head_dim, place_of<E>(p, i / p.heads, i % p.heads));
  return share(heads * parts, p.threads, [&] {
    return [&, work = std::make_unique<Backward<E>>(p)](int64_t item) {
      const int64_t i = item / parts;
      const KeyGrads sum = sums[i].begin(item % parts);
      for (int64_t t = item % parts; t < tiles; t += parts) {
        const Tile tile = tile_of(p, i * tiles + t);
        if (tile.n) (*work)(tile, sum.k, sum.v);
      }
      if (!sums[i].end() || place_of<E>(p, 0, 0).k) return;
      put_rows<E>(p, sums[i].sum().k, p.grad_k, i / p.heads, i % p.heads);
      put_rows<E>(p, sums[i].sum().v, p.grad_v, i / p.heads, i % p.heads);
      sums[i].clear();
    };
  });
}

template <class F>
bool failed(F&& call) {
  try {
    return !call();
  } catch (const std::bad_alloc&) {
    return true;
  }
}

}  // namespace

int dna_bigbird_threads(int wanted) {
  std::atomic<int> found{0};
  share(wanted, wanted, [&] {
    ++found;
    return [](int64_t) {};
  });
  return found;
}

int dna_bigbird_forward(const DnaBigbirdAttention* problem) {
  const Problem& p = *problem;
  return failed([&] { return p.is_bfloat16 ? forward<FastBfloat16>(p) : forward<Float32>(p); });
}

int dna_bigbird_backward(const DnaBigbirdAttention* problem) {
  const Problem& p = *problem;
  return failed([&] { return p.is_bfloat16 ? backward<FastBfloat16>(p) : backward<Float32>(p); });
}
