// Output and log-sum-exp of one tile.

#pragma once

#include <algorithm>
#include <cmath>

#include "memory.h"
#include "tiles.h"

namespace {

constexpr float LAZY = 8.0f;      // the maximum may be exceeded by 2^8
constexpr float LOWEST = -1e30f;  // the maximum before any score; finite, for no inf - inf

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
    float* const scores = scores_;  // values in memory would be read again after each store
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

}  // namespace
