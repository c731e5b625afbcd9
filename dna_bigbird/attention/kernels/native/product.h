// The one matrix product that all five of forward and backward are.

#pragma once

#include "elements.h"

namespace {

// C[r][:] (+)= sum over u of A(r, u) · B[u][:] for ROWS rows and VECS registers of columns.
// A(r, u) is at a[r · a_step + u], or transposed at a[u · a_step + r].
template <class E, bool TRANSPOSED, int ROWS, int VECS>
void register_tile(int units, const uint32_t* a, int64_t a_step, const uint32_t* b, int64_t b_step, float* c,
          int64_t c_step, bool add) {
  Vec sum[ROWS][VECS];
  UNROLL for (int r = 0; r < ROWS; ++r) {
    UNROLL for (int v = 0; v < VECS; ++v) sum[r][v] = Vec{};
  }
  for (int u = 0; u < units; ++u) {
    Bits columns[VECS];
    UNROLL for (int v = 0; v < VECS; ++v) {
      columns[v] = load(b + v * W);
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
// may end after the tensor; asking for what does not exist is harmless.
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
constexpr int rows_of_tile(int vecs) { return vecs == MOST_VECS ? 6 : 8; }

struct Factors {  // of a product; see `register_tile`
  int units;
  const uint32_t* a;
  int64_t a_step;
  View b;
};

struct Sums {
  float* c;
  int64_t step;
  bool add;  // to what is there
};

template <class E, bool TRANSPOSED, int ROWS, int VECS>
INLINE void row_tiles(int& r, int num_rows, const Factors& f, const Sums& to, const Ahead& ahead) {
  for (; r + ROWS <= num_rows; r += ROWS) {
    ahead.ask_for(r, ROWS);
    register_tile<E, TRANSPOSED, ROWS, VECS>(f.units, f.a + (TRANSPOSED ? r : r * f.a_step), f.a_step,
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

}  // namespace
