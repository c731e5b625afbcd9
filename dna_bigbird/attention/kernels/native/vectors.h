// Registers: as wide as the compiler's options allow, and what can be done with them.

#pragma once

#include <cstdint>
#include <utility>

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

constexpr int W = WIDTH;  // lanes of a register

using Vec = float __attribute__((vector_size(4 * W)));
using Ints = int32_t __attribute__((vector_size(4 * W)));
using Bits = uint32_t __attribute__((vector_size(4 * W)));
using Words = uint16_t __attribute__((vector_size(4 * W)));
using Halves = uint16_t __attribute__((vector_size(2 * W)));
// As they are in memory; a row of bfloat16 may begin at any even byte. (Clang ignores `aligned` of
// an alias that is made by `using`.)
typedef float LooseVec __attribute__((vector_size(4 * W), aligned(2), may_alias));
typedef uint32_t LooseBits __attribute__((vector_size(4 * W), aligned(2), may_alias));
typedef uint16_t LooseHalves __attribute__((vector_size(2 * W), aligned(2), may_alias));
typedef uint32_t LooseUnit __attribute__((aligned(2), may_alias));

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

// The bfloat16 is in the upper half. Weights are rounded the quick way, ties away from zero.
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

}  // namespace
