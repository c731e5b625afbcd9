// Gradients of one tile.

#pragma once

#include <algorithm>
#include <cmath>

#include "memory.h"
#include "tiles.h"

namespace {

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
    View queries, grads;
    read(tile, queries, grads);
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
  void read(const Tile& tile, View& queries, View& grads) {
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
    queries = E::pairs(q, p_.q.token_step, nullptr, tile.n, dim_, query_pairs_);
    grads = E::pairs(grad, p_.grad.token_step, nullptr, tile.n, dim_, out_grad_pairs_);
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

}  // namespace
