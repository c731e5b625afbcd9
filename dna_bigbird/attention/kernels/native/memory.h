// Memory of the threads.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace {

constexpr int ALIGNMENT = 64;  // bytes

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

}  // namespace
