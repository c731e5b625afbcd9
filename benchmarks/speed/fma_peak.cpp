// As many float32 multiply-adds as the processor's registers take, nothing else: what a kernel's
// speed is a fraction of. Twelve independent chains hide the latency of the instruction.

#include <cstdint>

constexpr int WIDTH = __BIGGEST_ALIGNMENT__ / 4;  // lanes of the widest register
using Vec = float __attribute__((vector_size(4 * WIDTH)));
constexpr int CHAINS = 12;

// One multiply-add, which the compiler may neither leave out nor move to memory.
#if defined(__x86_64__)
#define REGISTER "+v"
#else
#define REGISTER "+w"
#endif
#define STEP(c) c = c * factor + term; asm volatile("" : REGISTER(c));

// Run `rounds` times CHAINS multiply-adds on each thread; return the floating-point operations.
extern "C" double dna_bigbird_fma(int threads, int64_t rounds) {
#pragma omp parallel num_threads(threads)
  {
    const Vec factor = Vec{} + 0.999999f, term = Vec{} + 1e-7f;
    Vec a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{}, i{}, j{}, k{}, l{};
    for (int64_t round = 0; round < rounds; ++round) {
      STEP(a) STEP(b) STEP(c) STEP(d) STEP(e) STEP(f) STEP(g) STEP(h) STEP(i) STEP(j) STEP(k) STEP(l)
    }
    volatile float result = (a + b + c + d + e + f + g + h + i + j + k + l)[0];
    (void)result;
  }
  return 2.0 * WIDTH * CHAINS * (double)rounds * threads;
}
