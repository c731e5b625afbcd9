// Tiles of queries and chunks of keys.

#pragma once

#include <algorithm>

#include "elements.h"
#include "interface.h"
#include "product.h"

namespace {

using Problem = DnaBigbirdAttention;
using Tensor = DnaBigbirdTensor;

constexpr int QUERIES = 64;  // most queries of a tile; also the step of score matrices
constexpr int KEYS = 64;     // most keys of a chunk

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

// Registers of a row of scores that are worked on at the same time.
constexpr int GROUP = W == 16 ? 4 : 2;

template <class F>
INLINE void for_each_group(int wide, F&& body) {
  int q = 0;
  for (; q + GROUP * W <= wide; q += GROUP * W) body(q, std::integral_constant<int, GROUP>());
  for (; q < wide; q += W) body(q, std::integral_constant<int, 1>());
}

}  // namespace
