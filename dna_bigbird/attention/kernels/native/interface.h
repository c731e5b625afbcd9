// What the kernel is given, and its two calls; library.py has the other side.

#pragma once

#include <cstdint>

extern "C" {

struct DnaBigbirdTensor {  // (batch, heads, tokens, head_dim), the last one contiguous
  void* data;
  int64_t batch_step, head_step, token_step;  // in elements
};

struct DnaBigbirdAttention {
  int64_t batch, heads, tokens, head_dim, block_size, num_blocks;
  const int32_t* row_starts;  // (heads, num_blocks + 1): where each query block's list begins
  const int32_t* key_blocks;  // the lists; a block that is listed twice counts twice
  const int32_t* order;       // (heads, num_blocks): query blocks, longest list first
  const uint8_t* hidden;      // (batch, tokens), 1 = hidden; or null
  float scale;
  int32_t is_bfloat16, threads;
  DnaBigbirdTensor q, k, v, out;
  float* log2_sum_exp;  // (batch, heads, tokens), to base 2; minus infinity if nothing is seen
  DnaBigbirdTensor grad, grad_q, grad_k, grad_v;  // backward only
};

// Return 0, or 1 if memory ran out.
int dna_bigbird_forward(const DnaBigbirdAttention* problem);
int dna_bigbird_backward(const DnaBigbirdAttention* problem);

// Return how many threads share the work where `wanted` are asked for.
int dna_bigbird_threads(int wanted);
}
