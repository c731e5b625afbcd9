// A type says how its elements become units, and how units are multiplied.
//   rows    n rows of `dim` elements as they are: units along the row
//   pairs   the same rows, units along the column: [n / PACK][dim]
// Both return where the units are: at their place in memory where that is possible, else in
// `scratch`. `index` names the rows to take; null takes the first n.

#pragma once

#include <cstring>

#include "vectors.h"

namespace {

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

}  // namespace
