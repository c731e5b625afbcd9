// Gradients of keys and values, to which the tiles of a head add.

#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "memory.h"
#include "vectors.h"

namespace {

// The gradients of a head's keys and values, (T, D) in float32.
struct KeyGrads {
  float *k, *v;
};

// One for each part of a head's queries. The first may be where the result goes.
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

}  // namespace
