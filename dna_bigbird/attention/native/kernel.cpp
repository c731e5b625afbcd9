// Block-sparse attention on a CPU: forward and backward, float32 and bfloat16.
//
// The algorithm is FlashAttention over lists of key blocks. For each head and each tile of queries
//
//   forward    S = K Qᵀ            keys are rows, queries are columns
//              P = exp2(c (S - m)) m: a running maximum of each query, c = scale · log2(e)
//              O = O · 2^(c (m_old - m)) + Pᵀ V;  l likewise, with the column sums of P
//              at the end O / l, and the log-sum-exp to base 2, c m + log2 l
//   backward   P anew from the log-sum-exp;  dP = V dOᵀ;  dS = scale · P ∘ (dP - delta)
//              dV += P dO;  dK += dS Q;  dQ += dSᵀ K,  with delta = row sums of dO ∘ O
//
// one chunk of at most 64 keys after the other. No score, no copy of the keys leaves the cache.
//
// * Scores are computed transposed, so that maximum, sum and the factors of a query are vectors of
//   different queries: nothing is ever added up across the lanes of a register. Keys are read where
//   they are, as broadcast scalars; only the tile of queries is transposed, once.
// * All five products have one form, C[r][:] += sum over u of A(r, u) · B[u][:], with A broadcast
//   and C in registers: `tile` below, about 6 rows by 64 columns with AVX-512.
// * The running maximum moves only when a score exceeds it by 2^8 (exp2 stays far from overflow),
//   so that O is hardly ever rescaled.
// * bfloat16: a "unit" of 32 bits holds two neighbours along the sum, which is what the dot product
//   instruction eats; everything else is as for float32, where a unit is one float. Sums are kept
//   in float32. Without that instruction bfloat16 is converted to float32 as it is read.
// * Hidden keys: a chunk with some is copied without them; the rest never knows.
// * Threads take tiles (forward) or heads (backward) from a counter, longest tiles first. In the
//   backward pass a head's dK and dV belong to one thread. If the heads do not divide well among
//   the threads, a head is cut into parts with dK and dV of their own, added up in a fixed order.
//   So equal inputs and thread count give equal bits, whoever is faster.
//
// The file is compiled once for each instruction set; the width of `Vec` follows from the
// compiler's flags (isa.py). It needs a C++17 compiler with vector extensions (GCC, Clang) and
// OpenMP, nothing else.
//
// Words: T tokens, D head dimension, S tokens of a block, tile = up to 64 queries of one block,
// chunk = up to 64 keys of one block, step = distance of two rows in units.

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX2__)
#define WIDTH 8
#else
#define WIDTH 4
#endif

namespace {

// ---- What the caller gives -----------------------------------------------------------------

struct Tensor {  // (batch, heads, tokens, head_dim), the last one contiguous; steps in elements
  void* data;
  int64_t batch_step, head_step, token_step;
};

}  // namespace

extern "C" struct DnaBigbirdAttention {
  int64_t batch, heads, tokens, head_dim, block_size, num_blocks;
  const int32_t* row_starts;  // (heads, num_blocks + 1): where each query block's list begins
  const int32_t* key_blocks;  // the lists; a block that stands twice counts twice
  const int32_t* order;       // (heads, num_blocks): query blocks, longest list first
  const uint8_t* hidden;      // (batch, tokens), 1 = hidden; or null
  float scale;
  int32_t is_bfloat16, threads;
  Tensor q, k, v, out;
  float* log2_sum_exp;  // (batch, heads, tokens), to base 2; minus infinity if nothing is seen
  Tensor grad, grad_q, grad_k, grad_v;  // backward only
};

namespace {

using Problem = DnaBigbirdAttention;

constexpr int W = WIDTH;         // lanes of a register
constexpr int QUERIES = 64;      // most queries of a tile; also the step of score matrices
constexpr int KEYS = 64;         // most keys of a chunk
constexpr int ALIGNMENT = 64;    // bytes
constexpr float LAZY = 8.0f;     // the maximum may be exceeded by 2^8
constexpr float LOWEST = -1e30f; // the maximum before any score; finite, for no inf - inf

// ---- Vectors ---------------------------------------------------------------------------------

using Vec = float __attribute__((vector_size(4 * W)));
using Ints = int32_t __attribute__((vector_size(4 * W)));
using Bits = uint32_t __attribute__((vector_size(4 * W)));
using Words = uint16_t __attribute__((vector_size(4 * W)));
using Halves = uint16_t __attribute__((vector_size(2 * W)));
using LooseVec = float __attribute__((vector_size(4 * W), aligned(4), may_alias));
using LooseBits = uint32_t __attribute__((vector_size(4 * W), aligned(4), may_alias));
using LooseHalves = uint16_t __attribute__((vector_size(2 * W), aligned(2), may_alias));
using LooseUnit = uint32_t __attribute__((aligned(2), may_alias));

#define INLINE inline __attribute__((always_inline))
#define INLINE_LAMBDA __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 64")

INLINE Vec load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
INLINE Bits load(const uint32_t* p) { return *reinterpret_cast<const LooseBits*>(p); }
INLINE void store(float* p, Vec x) { *reinterpret_cast<LooseVec*>(p) = x; }
INLINE void store(uint32_t* p, Bits x) { *reinterpret_cast<LooseBits*>(p) = x; }
INLINE Vec splat(float x) { return x - Vec{}; }

INLINE Vec larger(Vec a, Vec b) {  // NaN if b is
#if WIDTH == 16
  return _mm512_max_ps(a, b);
#elif WIDTH == 8
  return _mm256_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}

INLINE bool any_greater(Vec a, Vec b) {
#if WIDTH == 16
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
#elif WIDTH == 8
  return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ));
#else
  Ints is = a > b;
  return is[0] | is[1] | is[2] | is[3];
#endif
}

// 2^x for x < 127, to 2e-7 with five terms and 1e-4 with three; what is smaller than 2^-126 may stay
// that. x = n + f with a whole number n and |f| <= 1/2: a polynomial of f, then n goes into the
// exponent.
template <int TERMS>
INLINE Vec exp2_of(Vec x) {
  static constexpr float coefficients[2][5] = {
      {0.693282902f, 0.242210969f, 0.0550089329f},
      {0.693147063f, 0.24022235f, 0.0555067845f, 0.00967196189f, 0.00132746331f}};
  constexpr auto& c = coefficients[TERMS == 5];
#if WIDTH == 16
  const Vec n = _mm512_roundscale_ps(x, 0);
#else
  const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  x = larger(splat(-126.0f), x);
  const Vec rounded = x + magic, n = rounded - magic;
#endif
  const Vec f = x - n;
  Vec p = splat(c[TERMS - 1]);
  UNROLL for (int i = TERMS - 2; i >= 0; --i) p = p * f + c[i];
  p = p * f + 1.0f;
#if WIDTH == 16
  return _mm512_scalef_ps(p, n);
#else
  return (Vec)((Ints)p + ((Ints)rounded << 23));
#endif
}

// The bfloat16 stands in the upper half. Weights are rounded the quick way, ties away from zero.
INLINE Bits rounded_quickly(Vec x) { return (Bits)x + 0x8000u; }
INLINE Bits rounded_to_even(Vec x) {
  Bits bits = (Bits)x;
  return bits + 0x7fffu + (bits >> 16 & 1u);
}

INLINE Bits paired(Vec even, Vec odd) {
  return rounded_quickly(even) >> 16 | (rounded_quickly(odd) & 0xffff0000u);
}

INLINE Bits widened(const uint16_t* p) {
#if WIDTH == 16
  return (Bits)_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#else
  return __builtin_convertvector(*reinterpret_cast<const LooseHalves*>(p), Bits);
#endif
}

// One step of `transpose`: the lanes and rows that differ in bit STEP change places.
template <int STEP, int... LANE>
INLINE void exchange(Bits& a, Bits& b, std::integer_sequence<int, LANE...>) {
  Bits low = __builtin_shufflevector(a, b, (LANE & STEP ? W + (LANE ^ STEP) : LANE)...);
  b = __builtin_shufflevector(a, b, (LANE & STEP ? W + LANE : LANE ^ STEP)...);
  a = low;
}

// W rows of W units become columns.
template <int STEP = 1>
INLINE void transpose(Bits* row) {
  UNROLL for (int i = 0; i < W; ++i) {
    if (!(i & STEP)) exchange<STEP>(row[i], row[i + STEP], std::make_integer_sequence<int, W>());
  }
  if constexpr (2 * STEP < W) transpose<2 * STEP>(row);
}

// ---- Element types -----------------------------------------------------------------------------
//
// A type says how its elements become units, and how units are multiplied.
//   rows    n rows of `dim` elements as they are: units along the row
//   pairs   the same rows, units along the column: [n / PACK][dim]
// Both return where the units stand: at their place in memory where that is possible, else in
// `scratch`. `index` names the rows to take; null takes the first n.

struct View {
  const uint32_t* units;
  int64_t step;
};

INLINE int64_t row_of(const int32_t* index, int i) { return index ? index[i] : i; }

INLINE const uint32_t* units_of(const float* p) { return reinterpret_cast<const uint32_t*>(p); }

INLINE uint32_t unit_at(const void* p) { return *static_cast<const LooseUnit*>(p); }

struct Float32 {
  using Element = float;
  static constexpr int PACK = 1, EXP_TERMS = 5;

  static INLINE Vec multiply_add(Vec sum, Bits a, Bits b) { return sum + (Vec)a * (Vec)b; }
  static INLINE Bits row_units(const Element* p, int = W) { return (Bits)load(p); }

  static View rows(const Element* p, int64_t step, const int32_t* index, int n, int dim,
                   uint32_t* scratch) {
    if (!index) return {reinterpret_cast<const uint32_t*>(p), step};
    return copied(p, step, index, n, dim, scratch);
  }
  static View pairs(const Element* p, int64_t step, const int32_t* index, int n, int dim,
                    uint32_t* scratch) {
    // Rows far apart would share the same few places of the cache.
    if (!index && step == dim) return {reinterpret_cast<const uint32_t*>(p), step};
    return copied(p, step, index, n, dim, scratch);
  }
  static View copied(const Element* p, int64_t step, const int32_t* index, int n, int dim,
                     uint32_t* scratch) {
    for (int i = 0; i < n; ++i)
      std::memcpy(scratch + i * dim, p + row_of(index, i) * step, 4 * dim);
    return {scratch, dim};
  }
  static INLINE void put(Element* p, Vec x) { store(p, x); }
};

INLINE void store_narrowed(void* p, Vec x) {
  *reinterpret_cast<LooseHalves*>(p) =
      __builtin_convertvector(rounded_to_even(x) >> 16, Halves);
}

struct Bfloat16 {  // converted to float32
  using Element = uint16_t;
  static constexpr int PACK = 1, EXP_TERMS = 5;

  static INLINE Vec multiply_add(Vec sum, Bits a, Bits b) { return sum + (Vec)a * (Vec)b; }
  static INLINE Bits row_units(const Element* p, int = W) { return widened(p) << 16; }

  static View rows(const Element* p, int64_t step, const int32_t* index, int n, int dim,
                   uint32_t* scratch) {
    for (int i = 0; i < n; ++i)
      for (int d = 0; d < dim; d += W)
        store(scratch + i * dim + d, row_units(p + row_of(index, i) * step + d));
    return {scratch, dim};
  }
  static View pairs(const Element* p, int64_t step, const int32_t* index, int n, int dim,
                    uint32_t* scratch) {
    return rows(p, step, index, n, dim, scratch);
  }
  static INLINE void put(Element* p, Vec x) { store_narrowed(p, x); }
};

#if defined(__AVX512BF16__)
struct Bfloat16Pairs {  // two neighbours in a unit
  using Element = uint16_t;
  static constexpr int PACK = 2, EXP_TERMS = 3;

  static INLINE Vec multiply_add(Vec sum, Bits a, Bits b) {
    return (Vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
  }
  static INLINE Bits row_units(const Element* p) { return (Bits)load((const float*)p); }
  static INLINE Bits row_units(const Element* p, int units) {  // a row may end within a register
    Bits found{};
    std::memcpy(&found, p, 4 * units);
    return found;
  }

  static View rows(const Element* p, int64_t step, const int32_t* index, int n, int dim,
                   uint32_t* scratch) {
    if (!index) return {reinterpret_cast<const uint32_t*>(p), step / 2};
    for (int i = 0; i < n; ++i)
      std::memcpy(scratch + i * dim / 2, p + index[i] * step, 2 * dim);
    return {scratch, dim / 2};
  }
  static View pairs(const Element* p, int64_t step, const int32_t* index, int n, int dim,
                    uint32_t* scratch) {
    for (int i = 0; i < n; i += 2) {
      const Element* even = p + row_of(index, i) * step;
      uint32_t* to = scratch + i / 2 * dim;
      if (i + 1 == n) {  // the last row alone, with zeros
        for (int d = 0; d < dim; d += W) store(to + d, widened(even + d));
        continue;
      }
      const Element* odd = p + row_of(index, i + 1) * step;
      int d = 0;
      for (; d + 2 * W <= dim; d += 2 * W) interleave(even + d, odd + d, to + d);
      if (d < dim) store(to + d, widened(even + d) | widened(odd + d) << 16);
    }
    return {scratch, dim};
  }
  // 2 W elements of each row become 2 W units.
  static INLINE void interleave(const Element* even, const Element* odd, uint32_t* to) {
    static constexpr auto lanes = std::make_integer_sequence<int, 2 * W>();
    const Bits a = row_units(even), b = row_units(odd);
    store(to, mixed<0>(a, b, lanes));
    store(to + W, mixed<W>(a, b, lanes));
  }
  template <int FROM, int... LANE>
  static INLINE Bits mixed(Bits a, Bits b, std::integer_sequence<int, LANE...>) {
    return (Bits)__builtin_shufflevector((Words)a, (Words)b,
                                         (FROM + LANE / 2 + LANE % 2 * 2 * W)...);
  }
  static INLINE void put(Element* p, Vec x) { store_narrowed(p, x); }
};
#endif

// ---- The product -------------------------------------------------------------------------------

// C[r][:] (+)= sum over u of A(r, u) · B[u][:] for ROWS rows and VECS registers of columns.
// A(r, u) stands at a[r · a_step + u], or transposed at a[u · a_step + r].
template <class E, bool TRANSPOSED, int ROWS, int VECS>
void tile(int units, const uint32_t* a, int64_t a_step, const uint32_t* b, int64_t b_step, float* c,
          int64_t c_step, bool add) {
  Vec sum[ROWS][VECS];
  UNROLL for (int r = 0; r < ROWS; ++r) {
    UNROLL for (int v = 0; v < VECS; ++v) sum[r][v] = Vec{};
  }
  for (int u = 0; u < units; ++u) {
    Bits columns[VECS];
    UNROLL for (int v = 0; v < VECS; ++v) {
      columns[v] = *reinterpret_cast<const LooseBits*>(b + v * W);
    }
    UNROLL for (int r = 0; r < ROWS; ++r) {
      const Bits factor = unit_at(TRANSPOSED ? a + r : a + r * a_step) + Bits{};
      UNROLL for (int v = 0; v < VECS; ++v) {
        sum[r][v] = E::multiply_add(sum[r][v], factor, columns[v]);
      }
    }
    a += TRANSPOSED ? a_step : 1;
    b += b_step;
  }
  UNROLL for (int r = 0; r < ROWS; ++r, c += c_step) {
    UNROLL for (int v = 0; v < VECS; ++v) {
      store(c + v * W, add ? load(c + v * W) + sum[r][v] : sum[r][v]);
    }
  }
}

// Rows that will be needed soon: a product asks for them meanwhile, some with each of its tiles. They
// may end behind the tensor; asking for what does not exist is harmless.
struct Ahead {
  const char* first;  // null for none
  int64_t step, bytes;

  INLINE void ask_for(int row, int n) const {
    if (!first) return;
    const char* p = first + row * step;
    for (int i = 0; i < n; ++i, p += step)
      for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(p + at);
  }
};

// Registers: 32 with AVX-512, else 16.
constexpr int MOST_VECS = W == 16 ? 4 : 2;
constexpr int rows_of_tile(int vecs) { return W == 16 ? (vecs == 4 ? 6 : 8) : 4; }

struct Factors {  // of a product; see `tile`
  int units;
  const uint32_t* a;
  int64_t a_step;
  View b;
};

struct Sums {
  float* c;
  int64_t step;
  bool add;  // to what stands there
};

template <class E, bool TRANSPOSED, int ROWS, int VECS>
INLINE void row_tiles(int& r, int num_rows, const Factors& f, const Sums& to, const Ahead& ahead) {
  for (; r + ROWS <= num_rows; r += ROWS) {
    ahead.ask_for(r, ROWS);
    tile<E, TRANSPOSED, ROWS, VECS>(f.units, f.a + (TRANSPOSED ? r : r * f.a_step), f.a_step,
                                    f.b.units, f.b.step, to.c + r * to.step, to.step, to.add);
  }
}

template <class E, bool TRANSPOSED, int VECS>
void column_tiles(int num_rows, const Factors& f, const Sums& to, const Ahead& ahead) {
  int r = 0;
  row_tiles<E, TRANSPOSED, rows_of_tile(VECS), VECS>(r, num_rows, f, to, ahead);
  row_tiles<E, TRANSPOSED, 4, VECS>(r, num_rows, f, to, ahead);
  row_tiles<E, TRANSPOSED, 1, VECS>(r, num_rows, f, to, ahead);
}

// The product for any number of rows and a multiple of W columns.
template <class E, bool TRANSPOSED>
void product(int num_rows, int num_columns, Factors f, Sums to, Ahead ahead = {}) {
  int left = num_columns / W;
  while (left) {
    const int pieces = (left + MOST_VECS - 1) / MOST_VECS;
    const int vecs = (left + pieces - 1) / pieces;  // 5 registers are 3 and 2, not 4 and 1
    const auto tiles = vecs == 1   ? column_tiles<E, TRANSPOSED, 1>
                       : vecs == 2 ? column_tiles<E, TRANSPOSED, 2>
                       : vecs == 3 ? column_tiles<E, TRANSPOSED, MOST_VECS == 4 ? 3 : 2>
                                   : column_tiles<E, TRANSPOSED, MOST_VECS>;
    tiles(num_rows, f, to, ahead);
    left -= vecs, f.b.units += vecs * W, to.c += vecs * W;
    ahead.first = nullptr;
  }
}

// ---- Tiles and chunks --------------------------------------------------------------------------

// n rows of `dim` elements as columns of units: [dim / PACK][QUERIES], the unused columns zero.
template <class E>
void columns_of(const typename E::Element* p, int64_t step, int n, int dim, uint32_t* to) {
  constexpr int ELEMENTS = W * E::PACK;  // of a row that W units take
  for (int i = 0; i < n; i += W) {
    for (int d = 0; d < dim; d += ELEMENTS) {
      Bits block[W];
      const int units = std::min(W, (dim - d) / E::PACK);
      const typename E::Element* from = p + i * step + d;
      if (i + W <= n && units == W) {
        UNROLL for (int j = 0; j < W; ++j) block[j] = E::row_units(from + j * step);
      } else {
        for (int j = 0; j < W; ++j)
          block[j] = i + j < n ? E::row_units(from + j * step, units) : Bits{};
      }
      transpose(block);
      float* column = reinterpret_cast<float*>(to) + d / E::PACK * QUERIES + i;
      if (units == W) {
        UNROLL for (int j = 0; j < W; ++j) store(column + j * QUERIES, (Vec)block[j]);
      } else {
        for (int j = 0; j < units; ++j) store(column + j * QUERIES, (Vec)block[j]);
      }
    }
  }
}

// A block's keys, at most KEYS at a time, without the hidden ones.
struct Chunk {
  int64_t start;         // the first key's place in the sequence
  int n;                 // keys that are not hidden
  const int32_t* index;  // their places after `start`; null if none is hidden
  int64_t next;          // where the next chunk starts; -1 after the last one
};

template <class F>
void for_each_chunk(const Problem& p, int64_t batch, int64_t head, int64_t row, F&& body) {
  alignas(ALIGNMENT) int32_t index[KEYS];
  const int32_t* starts = p.row_starts + head * (p.num_blocks + 1) + row;
  for (int32_t i = starts[0]; i < starts[1]; ++i) {
    const int64_t block = p.key_blocks[i] * p.block_size;
    const int64_t end = std::min(block + p.block_size, p.tokens);
    for (int64_t start = block; start < end; start += KEYS) {
      const int64_t next = start + KEYS < end   ? start + KEYS
                           : i + 1 < starts[1] ? p.key_blocks[i + 1] * p.block_size
                                               : -1;
      Chunk chunk{start, (int)std::min<int64_t>(KEYS, end - start), nullptr, next};
      if (p.hidden) {
        const uint8_t* hidden = p.hidden + batch * p.tokens + start;
        int seen = 0;
        for (int k = 0; k < chunk.n; ++k)
          if (!hidden[k]) index[seen++] = k;
        if (seen < chunk.n) chunk = {start, seen, index, next};
      }
      if (chunk.n) body(chunk);
    }
  }
}

// Up to QUERIES queries of one block.
struct Tile {
  int64_t batch, head, row, start;
  int n;     // queries
  int wide;  // n, rounded up to whole registers
};

// Tile number `item` of all, longest lists of each head first.
Tile tile_of(const Problem& p, int64_t item) {
  const int64_t per_block = (p.block_size + QUERIES - 1) / QUERIES;
  const int64_t per_head = p.num_blocks * per_block;
  const int64_t batch_head = item / per_head, head = batch_head % p.heads;
  const int64_t row = p.order[head * p.num_blocks + item % per_head / per_block];
  const int64_t offset = item % per_block * QUERIES;
  const int64_t start = row * p.block_size + offset;
  const int64_t end = std::min((row + 1) * p.block_size, p.tokens);
  const int n = (int)std::clamp<int64_t>(end - start, 0, QUERIES);
  return {batch_head / p.heads, head, row, start, n, (n + W - 1) / W * W};
}

int64_t num_tiles(const Problem& p) {
  return p.num_blocks * ((p.block_size + QUERIES - 1) / QUERIES);  // of a head
}

template <class E>
typename E::Element* head_of(const Tensor& tensor, int64_t batch, int64_t head) {
  return static_cast<typename E::Element*>(tensor.data) + batch * tensor.batch_step +
         head * tensor.head_step;
}

// The next chunk's rows of keys or values.
template <class Element>
Ahead ahead_of(const Problem& p, const Element* head, int64_t token_step, const Chunk& chunk) {
  if (chunk.next < 0) return {};
  constexpr int64_t size = sizeof(Element);
  return {reinterpret_cast<const char*>(head + chunk.next * token_step), token_step * size,
          p.head_dim * size};
}

struct FreeIt {
  void operator()(float* p) const { std::free(p); }
};
using Floats = std::unique_ptr<float, FreeIt>;

// Memory of one thread, handed out in pieces.
class Memory {
 public:
  explicit Memory(size_t floats)
      : all_(static_cast<float*>(std::aligned_alloc(ALIGNMENT, floats * 4))) {
    if (!all_) throw std::bad_alloc();
    next_ = all_.get();
  }
  float* take(size_t floats) {  // a multiple of 16
    float* taken = next_;
    next_ += floats;
    return taken;
  }
  uint32_t* take_units(size_t units) { return reinterpret_cast<uint32_t*>(take(units)); }

 private:
  Floats all_;
  float* next_;
};

// ---- Forward -----------------------------------------------------------------------------------

// Registers of a row of scores that are worked on at the same time.
constexpr int GROUP = W == 16 ? 4 : 2;

template <class F>
INLINE void for_each_group(int wide, F&& body) {
  int q = 0;
  for (; q + GROUP * W <= wide; q += GROUP * W) body(q, std::integral_constant<int, GROUP>());
  for (; q < wide; q += W) body(q, std::integral_constant<int, 1>());
}

template <class E>
class Forward {
 public:
  explicit Forward(const Problem& p)
      : p_(p), dim_((int)p.head_dim), c_(p.scale * (float)M_LOG2E), memory_(floats(dim_)) {
    queries_ = memory_.take_units(dim_ * QUERIES);
    keys_ = memory_.take_units(KEYS * dim_);
    values_ = memory_.take_units(KEYS * dim_);
    scores_ = memory_.take(KEYS * QUERIES);
    sum_ = memory_.take(QUERIES * dim_);
    maximum_ = memory_.take(QUERIES);
    total_ = memory_.take(QUERIES);
    factor_ = memory_.take(QUERIES);
  }

  void operator()(const Tile& tile) {
    using Element = typename E::Element;
    const Element* q = head_of<E>(p_.q, tile.batch, tile.head) + tile.start * p_.q.token_step;
    const Element* k = head_of<E>(p_.k, tile.batch, tile.head);
    const Element* v = head_of<E>(p_.v, tile.batch, tile.head);
    columns_of<E>(q, p_.q.token_step, tile.n, dim_, queries_);
    std::fill_n(maximum_, QUERIES, LOWEST);
    std::fill_n(total_, QUERIES, 0.0f);
    bool has_sum = false;

    for_each_chunk(p_, tile.batch, tile.head, tile.row, [&](const Chunk& chunk) {
      const int n = chunk.n, units = (n + E::PACK - 1) / E::PACK;
      View keys = E::rows(k + chunk.start * p_.k.token_step, p_.k.token_step, chunk.index, n, dim_,
                          keys_);
      product<E, false>(n, tile.wide,
                        {dim_ / E::PACK, keys.units, keys.step, {queries_, QUERIES}},
                        {scores_, QUERIES, false}, ahead_of(p_, k, p_.k.token_step, chunk));
      if (raise_maximum(n, tile.wide) && has_sum) rescale(tile.n);
      weigh(n, tile.wide);
      View values = E::pairs(v + chunk.start * p_.v.token_step, p_.v.token_step, chunk.index, n,
                             dim_, values_);
      product<E, true>(tile.n, dim_, {units, units_of(scores_), QUERIES, values},
                       {sum_, dim_, has_sum}, ahead_of(p_, v, p_.v.token_step, chunk));
      has_sum = true;
    });
    if (!has_sum) std::fill_n(sum_, QUERIES * dim_, 0.0f);
    put(tile);
  }

 private:
  static size_t floats(int dim) {
    return dim * QUERIES + 2 * KEYS * dim + KEYS * QUERIES + QUERIES * dim + 3 * QUERIES;
  }

  // Raise the maxima that these scores exceed by far; factor_ is what they take from the sums.
  bool raise_maximum(int n, int wide) {
    const float* const scores = scores_;
    bool raised = false;
    for_each_group(wide, [&](int q, auto group) {
      constexpr int G = group;
      Vec highest[G];
      UNROLL for (int g = 0; g < G; ++g) highest[g] = load(scores + q + g * W);
      for (int k = 1; k < n; ++k) {
        UNROLL for (int g = 0; g < G; ++g) {
          highest[g] = larger(highest[g], load(scores + k * QUERIES + q + g * W));
        }
      }
      UNROLL for (int g = 0; g < G; ++g) {
        const Vec old = load(maximum_ + q + g * W);
        raised |= any_greater((highest[g] - old) * c_, splat(LAZY));
        store(factor_ + q + g * W, larger(old, highest[g]));
      }
    });
    if (!raised) return false;
    for (int q = 0; q < wide; q += W) {
      Vec raised_to = load(factor_ + q);
      Vec factor = exp2_of<5>((load(maximum_ + q) - raised_to) * c_);
      store(maximum_ + q, raised_to);
      store(total_ + q, load(total_ + q) * factor);
      store(factor_ + q, factor);
    }
    return true;
  }

  void rescale(int n) {
    float* row = sum_;
    for (int q = 0; q < n; ++q) {
      const float factor = factor_[q];
      for (float* end = row + dim_; row < end; row += W) store(row, load(row) * factor);
    }
  }

  // Turn scores into weights, as units along the keys in the same place; add them to the totals.
  void weigh(int n, int wide) {
    float* const scores = scores_;  // what stands in memory would be read again after each store
    const float c = c_;
    for_each_group(wide, [&](int q, auto group) {
      constexpr int G = group;
      Vec maximum[G], total[G];
      UNROLL for (int g = 0; g < G; ++g) {
        maximum[g] = load(maximum_ + q + g * W);
        total[g] = load(total_ + q + g * W);
      }
      const auto weight_of = [&](int k, int g) INLINE_LAMBDA {
        const Vec score = load(scores + k * QUERIES + q + g * W);
        const Vec weight = exp2_of<E::EXP_TERMS>((score - maximum[g]) * c);
        total[g] += weight;
        return weight;
      };
      int k = 0;
      for (; k + E::PACK <= n; k += E::PACK) {
        UNROLL for (int g = 0; g < G; ++g) {
          Vec unit = weight_of(k, g);
          if constexpr (E::PACK == 2) unit = (Vec)paired(unit, weight_of(k + 1, g));
          store(scores + k / E::PACK * QUERIES + q + g * W, unit);
        }
      }
      if (k < n) {
        UNROLL for (int g = 0; g < G; ++g) {
          store(scores + k / 2 * QUERIES + q + g * W, (Vec)paired(weight_of(k, g), Vec{}));
        }
      }
      UNROLL for (int g = 0; g < G; ++g) store(total_ + q + g * W, total[g]);
    });
  }

  void put(const Tile& tile) {
    auto* out = head_of<E>(p_.out, tile.batch, tile.head) + tile.start * p_.out.token_step;
    float* lse = p_.log2_sum_exp + (tile.batch * p_.heads + tile.head) * p_.tokens + tile.start;
    for (int q = 0; q < tile.n; ++q) {
      const float inverse = total_[q] == 0.0f ? 0.0f : 1.0f / total_[q];
      for (int d = 0; d < dim_; d += W)
        E::put(out + q * p_.out.token_step + d, load(sum_ + q * dim_ + d) * inverse);
      lse[q] = total_[q] == 0.0f ? -INFINITY : maximum_[q] * c_ + std::log2(total_[q]);
    }
  }

  const Problem& p_;
  const int dim_;
  const float c_;
  Memory memory_;
  uint32_t *queries_, *keys_, *values_;
  float *scores_, *sum_, *maximum_, *total_, *factor_;
};

// ---- Backward ----------------------------------------------------------------------------------

template <class E>
class Backward {
 public:
  explicit Backward(const Problem& p)
      : p_(p), dim_((int)p.head_dim), c_(p.scale * (float)M_LOG2E), memory_(floats(dim_)) {
    for (uint32_t** columns : {&query_columns_, &grad_columns_, &out_columns_})
      *columns = memory_.take_units(dim_ * QUERIES);
    for (uint32_t** rows : {&query_pairs_, &out_grad_pairs_, &keys_, &key_pairs_, &values_})
      *rows = memory_.take_units(KEYS * dim_);
    for (float** matrix : {&scores_, &grad_weights_})
      *matrix = memory_.take(KEYS * QUERIES);
    grad_pairs_ = memory_.take_units(KEYS * QUERIES);
    grad_query_ = memory_.take(QUERIES * dim_);
    part_ = memory_.take(KEYS * dim_);
    lse_ = memory_.take(QUERIES);
    delta_ = memory_.take(QUERIES);
  }

  // Write the gradient of the tile's queries; add to those of the head's keys and values, (T, D).
  void operator()(const Tile& tile, float* grad_k, float* grad_v) {
    using Element = typename E::Element;
    const Element* k = head_of<E>(p_.k, tile.batch, tile.head);
    const Element* v = head_of<E>(p_.v, tile.batch, tile.head);
    const auto [queries, grads] = read(tile);
    const int query_units = (tile.n + E::PACK - 1) / E::PACK;
    bool has_sum = false;

    for_each_chunk(p_, tile.batch, tile.head, tile.row, [&](const Chunk& chunk) {
      const int n = chunk.n, units = (n + E::PACK - 1) / E::PACK;
      const Element* k_rows = k + chunk.start * p_.k.token_step;
      const Element* v_rows = v + chunk.start * p_.v.token_step;
      View keys = E::rows(k_rows, p_.k.token_step, chunk.index, n, dim_, keys_);
      View key_pairs = E::pairs(k_rows, p_.k.token_step, chunk.index, n, dim_, key_pairs_);
      View values = E::rows(v_rows, p_.v.token_step, chunk.index, n, dim_, values_);
      product<E, false>(n, tile.wide,
                        {dim_ / E::PACK, keys.units, keys.step, {query_columns_, QUERIES}},
                        {scores_, QUERIES, false}, ahead_of(p_, k, p_.k.token_step, chunk));
      product<E, false>(n, tile.wide,
                        {dim_ / E::PACK, values.units, values.step, {grad_columns_, QUERIES}},
                        {grad_weights_, QUERIES, false}, ahead_of(p_, v, p_.v.token_step, chunk));
      differentiate(n, tile.wide);
      add_rows(chunk, query_units, scores_, grads, grad_v);
      add_rows(chunk, query_units, grad_weights_, queries, grad_k);
      const uint32_t* grad_pairs = E::PACK == 1 ? units_of(grad_weights_) : grad_pairs_;
      product<E, true>(tile.n, dim_, {units, grad_pairs, QUERIES, key_pairs},
                       {grad_query_, dim_, has_sum});
      has_sum = true;
    });
    if (!has_sum) std::fill_n(grad_query_, QUERIES * dim_, 0.0f);
    auto* grad_q = head_of<E>(p_.grad_q, tile.batch, tile.head);
    for (int q = 0; q < tile.n; ++q)
      for (int d = 0; d < dim_; d += W)
        E::put(grad_q + (tile.start + q) * p_.grad_q.token_step + d,
               load(grad_query_ + q * dim_ + d));
  }

 private:
  static size_t floats(int dim) {
    return 3 * dim * QUERIES + 5 * KEYS * dim + 3 * KEYS * QUERIES + (QUERIES + KEYS) * dim +
           2 * QUERIES;
  }
  // The tile's queries and output gradients, both ways round; log-sum-exp and delta.
  std::pair<View, View> read(const Tile& tile) {
    const auto* q = head_of<E>(p_.q, tile.batch, tile.head) + tile.start * p_.q.token_step;
    const auto* out = head_of<E>(p_.out, tile.batch, tile.head) + tile.start * p_.out.token_step;
    const auto* grad =
        head_of<E>(p_.grad, tile.batch, tile.head) + tile.start * p_.grad.token_step;
    const float* lse =
        p_.log2_sum_exp + (tile.batch * p_.heads + tile.head) * p_.tokens + tile.start;
    columns_of<E>(q, p_.q.token_step, tile.n, dim_, query_columns_);
    columns_of<E>(grad, p_.grad.token_step, tile.n, dim_, grad_columns_);
    columns_of<E>(out, p_.out.token_step, tile.n, dim_, out_columns_);
    for (int i = 0; i < tile.wide; i += W) {
      Vec sum{};  // in the order of the product, so that it cancels where a query sees one key only
      for (int at = i; at < dim_ / E::PACK * QUERIES; at += QUERIES)
        sum = E::multiply_add(sum, load(out_columns_ + at), load(grad_columns_ + at));
      store(delta_ + i, sum);
    }
    std::fill_n(lse_, QUERIES, 0.0f);
    for (int i = 0; i < tile.n; ++i)
      if (lse[i] != -INFINITY) lse_[i] = lse[i];
    return {E::pairs(q, p_.q.token_step, nullptr, tile.n, dim_, query_pairs_),
            E::pairs(grad, p_.grad.token_step, nullptr, tile.n, dim_, out_grad_pairs_)};
  }

  // From scores and gradients of the weights: weights and gradients of the scores, in the same
  // place as units along the queries; the latter also as units along the keys.
  void differentiate(int n, int wide) {
    float *const scores = scores_, *const grads = grad_weights_;  // see Forward::weigh
    float* const pairs = reinterpret_cast<float*>(grad_pairs_);
    const float c = c_, scale = p_.scale;
    for_each_group(wide, [&](int first, auto group) {
      constexpr int G = group;
      Vec lse[G], delta[G];
      UNROLL for (int g = 0; g < G; ++g) {
        lse[g] = load(lse_ + first + g * W);
        delta[g] = load(delta_ + first + g * W);
      }
      for (int k = 0; k < n; k += E::PACK) {
        UNROLL for (int g = 0; g < G; ++g) {
          const int q = first + g * W;
          Vec weight[2]{}, grad[2]{};
          UNROLL for (int i = 0; i < E::PACK; ++i) {
            if (k + i == n) break;
            const int at = (k + i) * QUERIES + q;
            weight[i] = exp2_of<E::EXP_TERMS>(load(scores + at) * c - lse[g]);
            grad[i] = (load(grads + at) - delta[g]) * (weight[i] * scale);
          }
          if constexpr (E::PACK == 1) {  // units along one are units along the other
            store(scores + k * QUERIES + q, weight[0]);
            store(grads + k * QUERIES + q, grad[0]);
          } else {
            UNROLL for (int i = 0; i < 2; ++i) {
              store_quickly(scores + (k + i) * QUERIES + q / 2, weight[i]);
              store_quickly(grads + (k + i) * QUERIES + q / 2, grad[i]);
            }
            store(pairs + k / 2 * QUERIES + q, (Vec)paired(grad[0], grad[1]));
          }
        }
      }
    });
  }

  static INLINE void store_quickly(float* p, Vec x) {
    *reinterpret_cast<LooseHalves*>(p) =
        __builtin_convertvector(rounded_quickly(x) >> 16, Halves);
  }

  // Add the product of `rows` (keys, queries) and `of_queries` (queries, D) to the keys' rows.
  void add_rows(const Chunk& chunk, int units, const float* rows, View of_queries, float* to) {
    float* from = to + chunk.start * dim_;
    if (!chunk.index) {
      product<E, false>(chunk.n, dim_, {units, units_of(rows), QUERIES, of_queries},
                        {from, dim_, true});
      return;
    }
    product<E, false>(chunk.n, dim_, {units, units_of(rows), QUERIES, of_queries},
                      {part_, dim_, false});
    for (int i = 0; i < chunk.n; ++i) {
      float* row = from + chunk.index[i] * dim_;
      for (int d = 0; d < dim_; d += W) store(row + d, load(row + d) + load(part_ + i * dim_ + d));
    }
  }

  const Problem& p_;
  const int dim_;
  const float c_;
  Memory memory_;
  uint32_t *query_columns_, *grad_columns_, *out_columns_, *query_pairs_, *out_grad_pairs_, *keys_, *key_pairs_,
      *values_, *grad_pairs_;
  float *scores_, *grad_weights_, *grad_query_, *part_, *lse_, *delta_;
};

// The gradients of a head's keys and values, (T, D) in float32.
struct KeyGrads {
  float *k, *v;
};

// One for each part of a head's queries. The first may stand where the result goes.
class HeadSums {
 public:
  HeadSums(int parts, size_t size, KeyGrads place) : parts_(parts), left_(parts), size_(size) {
    parts_[0].sum = place;
  }

  KeyGrads begin(int part) {  // zeros
    Part& p = parts_[part];
    if (p.sum.k) {
      std::fill_n(p.sum.k, size_, 0.0f);
      std::fill_n(p.sum.v, size_, 0.0f);
    } else {
      p.own.reset(static_cast<float*>(std::calloc(2 * size_, 4)));
      if (!p.own) throw std::bad_alloc();
      p.sum = {p.own.get(), p.own.get() + size_};
    }
    return p.sum;
  }
  // Add up all parts in their order if this was the last one; return whether it was.
  bool end() {
    if (--left_) return false;
    for (size_t part = 1; part < parts_.size(); ++part) {
      add(parts_[part].sum.k, parts_[0].sum.k);
      add(parts_[part].sum.v, parts_[0].sum.v);
      parts_[part].own.reset();
    }
    return true;
  }
  KeyGrads sum() const { return parts_[0].sum; }
  void clear() { parts_[0].own.reset(); }

 private:
  struct Part {
    Floats own;
    KeyGrads sum{};
  };
  void add(const float* from, float* to) const {
    for (size_t i = 0; i < size_; i += W) store(to + i, load(to + i) + load(from + i));
  }

  std::vector<Part> parts_;
  std::atomic<int> left_;
  const size_t size_;
};

// How many parts a head is cut into, so that the busiest thread has hardly more than the others.
int num_parts(int64_t heads, int threads, int64_t tiles) {
  const int64_t most = std::min<int64_t>(threads, tiles);
  for (int64_t parts = 1; parts < most; ++parts) {
    const int64_t items = heads * parts, rounds = (items + threads - 1) / threads;
    if (items * 10 >= rounds * threads * 9) return (int)parts;
  }
  return (int)most;
}

template <class E>
void put_rows(const Problem& p, const float* from, const Tensor& to, int64_t batch, int64_t head) {
  auto* rows = head_of<E>(to, batch, head);
  for (int64_t t = 0; t < p.tokens; ++t)
    for (int64_t d = 0; d < p.head_dim; d += W)
      E::put(rows + t * to.token_step + d, load(from + t * p.head_dim + d));
}

// ---- Threads -----------------------------------------------------------------------------------

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

// Where a head's sums may stand from the beginning: in the result, if that is (T, D) in float32.
template <class E>
KeyGrads place_of(const Problem& p, int64_t batch, int64_t head) {
  if constexpr (std::is_same_v<E, Float32>) {
    if (p.grad_k.token_step == p.head_dim && p.grad_v.token_step == p.head_dim)
      return {head_of<E>(p.grad_k, batch, head), head_of<E>(p.grad_v, batch, head)};
  }
  return {};
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

}  // namespace

// ---- Calls: 0, or 1 if memory ran out ----------------------------------------------------------

#if defined(__AVX512BF16__)
using FastBfloat16 = Bfloat16Pairs;
#else
using FastBfloat16 = Bfloat16;
#endif

extern "C" int dna_bigbird_forward(const DnaBigbirdAttention* problem) {
  const Problem& p = *problem;
  return !(p.is_bfloat16 ? forward<FastBfloat16>(p) : forward<Float32>(p));
}

extern "C" int dna_bigbird_backward(const DnaBigbirdAttention* problem) {
  const Problem& p = *problem;
  return !(p.is_bfloat16 ? backward<FastBfloat16>(p) : backward<Float32>(p));
}
