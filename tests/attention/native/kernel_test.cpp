// Test of the native attention kernel: random problems, compared with plain loops in double.
//
//   kernel_test FIRST_SEED PROBLEMS [MOST_WORK] [--self-test]
//
// Each problem follows from its own seed (FIRST_SEED, FIRST_SEED + 1, ...) and from MOST_WORK, the
// most products of a query's and a key's element. A failure is one line with what repeats it, and
// exit status 1. --self-test gives the kernel lists in which one block is wrong: every problem must
// be found to fail.
//
// Memory ends with the last element, for AddressSanitizer and valgrind; what must not be read
// (hidden keys, places between rows) is NaN, and what must not be written has to stay so.

#include "interface.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace test {

using Doubles = std::vector<double>;
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Random numbers that are the same with every compiler, unlike those of <random>'s distributions.
class Draw {
 public:
  explicit Draw(uint64_t seed) : bits_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return between(1, n) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[between(0, static_cast<int64_t>(all.size()) - 1)];
  }
  double normal() {  // about: four even numbers of one draw
    uint64_t bits = bits_();
    double sum = 0;
    for (int i = 0; i < 4; ++i, bits >>= 16) sum += static_cast<double>(bits & 0xffff) / 65536;
    return (sum - 2) * std::sqrt(3.0);
  }

 private:
  std::mt19937_64 bits_;
};

// ---- Tensors ------------------------------------------------------------------------------------

struct Sizes {
  int64_t batch, heads, tokens, head_dim;
  int64_t rows() const { return batch * heads * tokens; }
  int64_t elements() const { return rows() * head_dim; }
};

// FUSED: a third of a projection to queries, keys and values. PADDED: two elements between rows.
enum class Layout { HEADS_FIRST, TOKENS_FIRST, FUSED, PADDED };

float rounded_to_bfloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  std::memcpy(&x, &bits, 4);
  return x;
}

// A tensor (batch, heads, tokens, head_dim) of NaN, to begin with.
class Array {
 public:
  Array(const Sizes& sizes, bool is_bfloat16, Layout layout, int64_t first = 0)
      : sizes_(sizes), width_(is_bfloat16 ? 2 : 4), first_(first) {
    const auto [B, H, T, D] = sizes;
    const int64_t per_token = layout == Layout::FUSED          ? 3 * H * D
                              : layout == Layout::TOKENS_FIRST ? H * D
                              : layout == Layout::PADDED       ? D + 2
                                                               : D;
    const bool is_split = layout == Layout::HEADS_FIRST || layout == Layout::PADDED;
    token_step_ = per_token;
    head_step_ = is_split ? T * per_token : D;
    batch_step_ = is_split ? H * T * per_token : T * per_token;
    bytes_.resize(static_cast<size_t>(width_ * (at(B - 1, H - 1, T - 1) + D)), 0xff);
  }

  DnaBigbirdTensor tensor() {
    return {bytes_.data() + width_ * first_, batch_step_, head_step_, token_step_};
  }
  void fill(const Doubles& values) {  // in the order of the dimensions; NaN is left out
    each([&](int64_t i, unsigned char* p) {
      const double value = values[static_cast<size_t>(i)];
      if (!std::isnan(value)) put(p, static_cast<float>(value));
    });
  }
  Doubles values() {
    Doubles found(static_cast<size_t>(sizes_.elements()));
    each([&](int64_t i, unsigned char* p) { found[static_cast<size_t>(i)] = get(p); });
    return found;
  }
  bool kept_the_gaps() {
    std::vector<unsigned char> before = bytes_;
    each([&](int64_t, unsigned char* p) { std::memset(p, 0xff, static_cast<size_t>(width_)); });
    bytes_.swap(before);
    return std::all_of(before.begin(), before.end(), [](unsigned char c) { return c == 0xff; });
  }
  bool operator==(const Array& other) const { return bytes_ == other.bytes_; }

 private:
  int64_t at(int64_t b, int64_t h, int64_t t) const {
    return first_ + b * batch_step_ + h * head_step_ + t * token_step_;
  }
  template <class F>
  void each(F&& f) {
    int64_t i = 0;
    for (int64_t b = 0; b < sizes_.batch; ++b)
      for (int64_t h = 0; h < sizes_.heads; ++h)
        for (int64_t t = 0; t < sizes_.tokens; ++t)
          for (int64_t d = 0; d < sizes_.head_dim; ++d)
            f(i++, bytes_.data() + width_ * (at(b, h, t) + d));
  }
  void put(unsigned char* p, float x) const {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    const uint16_t upper = static_cast<uint16_t>(bits >> 16);
    width_ == 4 ? std::memcpy(p, &bits, 4) : std::memcpy(p, &upper, 2);
  }
  float get(const unsigned char* p) const {
    uint16_t upper;
    std::memcpy(&upper, p, 2);
    uint32_t bits = static_cast<uint32_t>(upper) << 16;
    if (width_ == 4) std::memcpy(&bits, p, 4);
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
  }

  Sizes sizes_;
  int64_t width_, first_, batch_step_ = 0, head_step_ = 0, token_step_ = 0;
  std::vector<unsigned char> bytes_;
};

// ---- Problems -----------------------------------------------------------------------------------

struct Lists {
  std::vector<int32_t> row_starts, key_blocks, order;
};

struct Case {
  uint64_t seed;
  Sizes sizes;
  int64_t block_size, num_blocks;
  bool is_bfloat16;
  int threads;
  float scale;
  Lists lists;
  bool has_mask;
  std::vector<uint8_t> hidden;  // (batch, tokens)
  Doubles q, k, v, grad;        // rounded to the type; the rows of hidden keys are NaN
  Layout layouts[8];            // q, k, v, grad, out, grad_q, grad_k, grad_v
  int64_t first[4];             // where q, k, v and grad begin in their memory
};

Lists draw_lists(Draw& draw, int64_t heads, int64_t num_blocks) {
  Lists lists;
  const auto any = [&] { return static_cast<int32_t>(draw.between(0, num_blocks - 1)); };
  for (int64_t h = 0; h < heads; ++h) {
    std::vector<int32_t> lengths;
    lists.row_starts.push_back(static_cast<int32_t>(lists.key_blocks.size()));
    for (int64_t row = 0; row < num_blocks; ++row) {
      const size_t before = lists.key_blocks.size();
      if (draw.one_in(8)) {  // a global row
        for (int32_t i = 0; i < num_blocks; ++i) lists.key_blocks.push_back(i);
      } else if (!draw.one_in(16)) {  // else sees nothing
        const int64_t length = draw.one_in(4) ? 1 : draw.between(2, 8);
        for (int64_t i = 0; i < length; ++i) lists.key_blocks.push_back(any());
        if (draw.one_in(4)) lists.key_blocks.push_back(lists.key_blocks.back());
      }
      lengths.push_back(static_cast<int32_t>(lists.key_blocks.size() - before));
      lists.row_starts.push_back(static_cast<int32_t>(lists.key_blocks.size()));
    }
    std::vector<int32_t> order(lengths.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
    });
    lists.order.insert(lists.order.end(), order.begin(), order.end());
  }
  lists.key_blocks.shrink_to_fit();
  return lists;
}

void draw_hidden(Draw& draw, Case& c) {
  const auto [B, H, T, D] = c.sizes;
  c.has_mask = !draw.one_in(4);
  c.hidden.assign(static_cast<size_t>(c.has_mask ? B * T : 0), 0);
  for (int64_t b = 0; c.has_mask && b < B; ++b) {
    uint8_t* hidden = c.hidden.data() + b * T;
    const int64_t kind = draw.between(0, 7);  // 0: none
    const int64_t start = kind == 1 ? 0 : draw.between(0, T);
    const int64_t rare = draw.one_of<int64_t>({2, 10, 100});
    for (int64_t t = 0; t < T; ++t)
      hidden[t] = kind >= 5 ? draw.one_in(rare) : kind >= 1 && t >= start;
  }
}

Doubles draw_values(Draw& draw, const Case& c, double size, bool of_keys) {
  Doubles values(static_cast<size_t>(c.sizes.elements()));
  for (double& x : values) {
    const float value = static_cast<float>(size * draw.normal());
    x = c.is_bfloat16 ? rounded_to_bfloat16(value) : value;
  }
  if (!of_keys || !c.has_mask) return values;
  for (int64_t row = 0; row < c.sizes.rows(); ++row) {
    const int64_t b = row / c.sizes.tokens / c.sizes.heads, t = row % c.sizes.tokens;
    if (c.hidden[static_cast<size_t>(b * c.sizes.tokens + t)])
      std::fill_n(values.begin() + row * c.sizes.head_dim, c.sizes.head_dim, NAN);
  }
  return values;
}

Case draw_case(uint64_t seed, int64_t most_work) {
  Draw draw(seed);
  Case c{};
  c.seed = seed;
  int64_t work;
  do {
    const int64_t tokens = draw.one_in(3) ? draw.between(1, 80) : draw.between(1, 700);
    c.sizes = {draw.between(1, 3), draw.between(1, 4), tokens,
               draw.one_of<int64_t>({16, 32, 64, 80, 96, 128, 256})};
    c.block_size = draw.one_of<int64_t>({16, 32, 48, 64, 80, 128});
    c.num_blocks = (tokens + c.block_size - 1) / c.block_size;
    c.lists = draw_lists(draw, c.sizes.heads, c.num_blocks);
    work = c.sizes.batch * static_cast<int64_t>(c.lists.key_blocks.size()) * c.block_size *
           c.block_size * c.sizes.head_dim;
  } while (work > most_work);
  c.is_bfloat16 = draw.one_in(2);
  c.threads = static_cast<int>(draw.between(1, 5));
  c.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.sizes.head_dim)));
  draw_hidden(draw, c);
  // Large queries: maxima that rise while the list is read, weights that vanish.
  c.q = draw_values(draw, c, draw.one_of({1.0, 1.0, 4.0, 30.0}), false);
  c.k = draw_values(draw, c, 1.0, true);
  c.v = draw_values(draw, c, 1.0, true);
  c.grad = draw_values(draw, c, 1.0, false);
  for (Layout& layout : c.layouts)
    layout = draw.one_of(
        {Layout::HEADS_FIRST, Layout::TOKENS_FIRST, Layout::FUSED, Layout::PADDED});
  for (int64_t& first : c.first) first = draw.one_in(4) ? draw.between(1, 3) : 0;
  return c;
}

// ---- What is expected ---------------------------------------------------------------------------

struct Results {
  Doubles out, log2_sum_exp, grad_q, grad_k, grad_v;
};

struct Expected : Results {
  std::vector<uint8_t> is_seen;  // (batch, heads, tokens): keys that some query sees
  std::vector<uint8_t> is_free;  // queries that see two keys or more; others have no gradient
  // What rounding is measured by where large terms cancel.
  double largest_score = 1;  // or 1, or what scores of that query are of usually
  double largest_term = 0;   // of a score's gradient
};

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void add(double factor, const double* from, double* to, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

// The keys that a row of blocks sees, each as often as it counts.
std::vector<int64_t> keys_of(const Case& c, int64_t b, int64_t h, int64_t row) {
  std::vector<int64_t> keys;
  const int32_t* starts = c.lists.row_starts.data() + h * (c.num_blocks + 1) + row;
  for (int32_t i = starts[0]; i < starts[1]; ++i) {
    const int64_t first = c.lists.key_blocks[static_cast<size_t>(i)] * c.block_size;
    for (int64_t t = first; t < std::min(first + c.block_size, c.sizes.tokens); ++t)
      if (!c.has_mask || !c.hidden[static_cast<size_t>(b * c.sizes.tokens + t)]) keys.push_back(t);
  }
  return keys;
}

Expected expected_of(const Case& c) {
  const auto [B, H, T, D] = c.sizes;
  Expected e;
  for (Doubles* x : {&e.out, &e.grad_q, &e.grad_k, &e.grad_v})
    x->assign(static_cast<size_t>(c.sizes.elements()), 0.0);
  e.log2_sum_exp.assign(static_cast<size_t>(c.sizes.rows()), -INFINITE);
  for (auto* x : {&e.is_seen, &e.is_free}) x->assign(static_cast<size_t>(c.sizes.rows()), 0);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t row = 0; row < c.num_blocks; ++row) {
        const std::vector<int64_t> keys = keys_of(c, b, h, row);
        const int64_t head = (b * H + h) * T;
        for (const int64_t t : keys) e.is_seen[static_cast<size_t>(head + t)] = 1;
        Doubles weights(keys.size()), products(keys.size());
        const int64_t end = std::min((row + 1) * c.block_size, T);
        for (int64_t t = row * c.block_size; t < end && !keys.empty(); ++t) {
          e.is_free[static_cast<size_t>(head + t)] = keys.size() > 1;
          const int64_t at = (head + t) * D;
          const double *q = c.q.data() + at, *grad = c.grad.data() + at;
          double highest = -INFINITE, total = 0, delta = 0, squares = 0;
          e.largest_score = std::max(e.largest_score, c.scale * std::sqrt(dot(q, q, D)));
          for (size_t i = 0; i < keys.size(); ++i) {
            weights[i] = c.scale * dot(q, c.k.data() + (head + keys[i]) * D, D);
            highest = std::max(highest, weights[i]);
            e.largest_score = std::max(e.largest_score, std::fabs(weights[i]));
          }
          for (double& weight : weights) total += weight = std::exp(weight - highest);
          e.log2_sum_exp[static_cast<size_t>(head + t)] =
              (highest + std::log(total)) / M_LN2;
          for (size_t i = 0; i < keys.size(); ++i) {
            const double* v = c.v.data() + (head + keys[i]) * D;
            weights[i] /= total;
            products[i] = dot(grad, v, D);
            delta += weights[i] * products[i];
            add(weights[i], v, e.out.data() + at, D);
          }
          for (int64_t d = 0; d < D; ++d) {
            const double term = grad[d] * e.out[static_cast<size_t>(at + d)];
            squares += term * term;
          }
          for (size_t i = 0; i < keys.size(); ++i) {
            const int64_t key = (head + keys[i]) * D;
            const double size = c.scale * weights[i], slope = size * (products[i] - delta);
            e.largest_term =
                std::max(e.largest_term, size * (std::fabs(products[i]) + std::sqrt(squares)));
            add(slope, c.k.data() + key, e.grad_q.data() + at, D);
            add(slope, q, e.grad_k.data() + key, D);
            add(weights[i], grad, e.grad_v.data() + key, D);
          }
        }
      }
  return e;
}

// ---- What the kernel computes -------------------------------------------------------------------

struct Run {
  Array out, grad_q, grad_k, grad_v;
  std::vector<float> log2_sum_exp;

  bool has_same_forward(const Run& other) const {
    return out == other.out && !std::memcmp(log2_sum_exp.data(), other.log2_sum_exp.data(),
                                            log2_sum_exp.size() * sizeof(float));
  }
  bool has_same_backward(const Run& other) const {
    return grad_q == other.grad_q && grad_k == other.grad_k && grad_v == other.grad_v;
  }
};

Run run(const Case& c, const Lists& lists, int threads) {
  const auto empty = [&](int i) { return Array(c.sizes, c.is_bfloat16, c.layouts[i]); };
  Run r{empty(4), empty(5), empty(6), empty(7),
        std::vector<float>(static_cast<size_t>(c.sizes.rows()), NAN)};
  std::vector<Array> inputs;
  for (const Doubles* values : {&c.q, &c.k, &c.v, &c.grad}) {
    const size_t i = inputs.size();
    inputs.emplace_back(c.sizes, c.is_bfloat16, c.layouts[i], c.first[i]);
    inputs[i].fill(*values);
  }
  const auto [B, H, T, D] = c.sizes;
  const DnaBigbirdAttention problem{
      B, H, T, D, c.block_size, c.num_blocks, lists.row_starts.data(), lists.key_blocks.data(),
      lists.order.data(), c.has_mask ? c.hidden.data() : nullptr, c.scale, c.is_bfloat16, threads,
      inputs[0].tensor(), inputs[1].tensor(), inputs[2].tensor(), r.out.tensor(),
      r.log2_sum_exp.data(), inputs[3].tensor(), r.grad_q.tensor(), r.grad_k.tensor(),
      r.grad_v.tensor()};
  if (dna_bigbird_forward(&problem) || dna_bigbird_backward(&problem))
    r.log2_sum_exp.assign(r.log2_sum_exp.size(), NAN);  // it says that memory ran out
  return r;
}

// ---- Comparison ---------------------------------------------------------------------------------

double largest(const Doubles& values) {
  double found = 0;
  for (const double x : values) found = std::fmax(found, std::fabs(x));  // passes over NaN
  return found;
}

// The largest difference, in `unit`s; infinite if something is NaN.
double error(const Doubles& found, const Doubles& expected, double unit) {
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i]) continue;  // minus infinity too
    const double off = std::fabs(found[i] - expected[i]) / unit;
    worst = off <= worst ? worst : std::isnan(off) ? INFINITE : off;
  }
  return worst;
}

bool is_zero(const Doubles& rows, size_t row, int64_t dim) {
  const auto first = rows.begin() + static_cast<int64_t>(row) * dim;
  return std::all_of(first, first + dim, [](double x) { return x == 0; });
}

// Largest differences, by what was computed.
struct Errors {
  double forward = 0, log2_sum_exp = 0, backward = 0;
  void add(const Errors& other) {
    forward = std::max(forward, other.forward);
    log2_sum_exp = std::max(log2_sum_exp, other.log2_sum_exp);
    backward = std::max(backward, other.backward);
  }
  bool is_within(const Errors& allowed) const {
    return forward <= allowed.forward && log2_sum_exp <= allowed.log2_sum_exp &&
           backward <= allowed.backward;
  }
};
// Measured over 3000 problems: at most 3.5e-6, 1.2e-6 and 2.3e-6 in float32; 6.0e-3, 3.7e-5 and
// 1.3e-2 in bfloat16, which rounds a number by up to 2^-9 = 2.0e-3 of it.
constexpr Errors ALLOWED[2] = {{1e-5, 3e-6, 1e-5}, {1e-2, 2e-4, 2e-2}};  // float32, bfloat16

Errors errors_of(const Case& c, const Results& found, const Expected& e) {
  // Weights are as far off as scores are, whose rounding grows with them.
  const double loudness = c.is_bfloat16 ? 1 : std::max(1.0, e.largest_score / 16);
  const auto off = [&](const Doubles& a, const Doubles& b, double term) {
    const double unit = std::max(largest(b), term) * loudness;
    return error(a, b, unit > 0 ? unit : 1);
  };
  return {off(found.out, e.out, 0), error(found.log2_sum_exp, e.log2_sum_exp, e.largest_score),
          std::max({off(found.grad_q, e.grad_q, e.largest_term * largest(c.k)),
                    off(found.grad_k, e.grad_k, e.largest_term * largest(c.q)),
                    off(found.grad_v, e.grad_v, 0)})};
}

// Return what is wrong, or an empty text.
std::string fault(const Case& c, const Lists& lists, bool is_self_test, Errors& worst) {
  Run r = run(c, lists, c.threads);
  const Expected e = expected_of(c);
  const Results found{r.out.values(), Doubles(r.log2_sum_exp.begin(), r.log2_sum_exp.end()),
                      r.grad_q.values(), r.grad_k.values(), r.grad_v.values()};
  const Errors errors = errors_of(c, found, e);
  worst.add(errors);
  if (!errors.is_within(ALLOWED[c.is_bfloat16])) {
    char text[160];
    std::snprintf(text, sizeof text, "off by %.2g of out, %.2g of log2-sum-exp, %.2g of gradients",
                  errors.forward, errors.log2_sum_exp, errors.backward);
    return text;
  }
  if (is_self_test) return "";
  const int64_t D = c.sizes.head_dim;
  for (size_t row = 0; row < e.is_seen.size(); ++row) {
    if (e.log2_sum_exp[row] == -INFINITE && !is_zero(found.out, row, D))
      return "out of a query that sees nothing is not 0";
    if (!e.is_free[row] && !is_zero(found.grad_q, row, D))
      return "the gradient of a query that sees one key or none is not 0";
    if (!e.is_seen[row] && !(is_zero(found.grad_k, row, D) && is_zero(found.grad_v, row, D)))
      return "the gradient of a key that nobody sees is not 0";
  }
  for (Array* array : {&r.out, &r.grad_q, &r.grad_k, &r.grad_v})
    if (!array->kept_the_gaps()) return "written between rows";
  const Run again = run(c, lists, c.threads);
  if (!r.has_same_forward(again)) return "other bits the second time, forward";
  if (!r.has_same_backward(again)) return "other bits the second time, backward";
  const int threads = c.threads % 5 + 1;
  const Run other = run(c, lists, threads);
  if (!r.has_same_forward(other) || !(r.grad_q == other.grad_q))
    return "other bits with " + std::to_string(threads) + " threads, forward or grad_q";
  return "";
}

// Make one block of a short list another one; return whether that is possible.
bool spoil(const Case& c, Lists& lists) {
  if (c.num_blocks == 1 || c.has_mask) return false;
  for (int64_t i = c.num_blocks; i-- > 0;) {  // of the first head, shortest list first
    const auto row = lists.row_starts.begin() + lists.order[static_cast<size_t>(i)];
    if (row[0] == row[1]) continue;
    int32_t& block = lists.key_blocks[static_cast<size_t>(row[0])];
    block = block ? block - 1 : 1;
    return true;
  }
  return false;
}

// Both calls say so when memory runs out: a head's gradients take 2^52 bytes here.
bool reports_exhausted_memory() {
  DnaBigbirdAttention problem{};
  problem.batch = problem.heads = problem.num_blocks = problem.threads = 1;
  problem.tokens = problem.block_size = int64_t{1} << 45;
  problem.head_dim = 16;
  problem.is_bfloat16 = 1;
  return dna_bigbird_backward(&problem) == 1;
}

void report(const Case& c, int64_t most_work, const std::string& what) {
  const auto [B, H, T, D] = c.sizes;
  std::printf("%s: %s batch %d heads %d tokens %d dim %d block %d threads %d mask %d; to repeat: "
              "kernel_test %llu 1 %lld\n",
              what.c_str(), c.is_bfloat16 ? "bfloat16" : "float32", (int)B, (int)H, (int)T, (int)D,
              (int)c.block_size, c.threads, c.has_mask, (unsigned long long)c.seed,
              (long long)most_work);
}

int check(uint64_t first_seed, int64_t num_problems, int64_t most_work, bool is_self_test) {
  int64_t failed = 0, checked = 0;
  Errors worst[2];
  for (int64_t i = 0; i < num_problems; ++i) {
    const Case c = draw_case(first_seed + static_cast<uint64_t>(i), most_work);
    Lists lists = c.lists;
    if (is_self_test && !spoil(c, lists)) continue;
    ++checked;
    const std::string what = fault(c, lists, is_self_test, worst[c.is_bfloat16]);
    if (what.empty() == is_self_test) {
      ++failed;
      report(c, most_work, is_self_test ? "a wrong block was not found" : what);
    }
  }
  if (!reports_exhausted_memory()) ++failed, std::puts("exhausted memory is not reported");
  if (is_self_test) {
    std::printf("%lld problems with a wrong block\n", (long long)checked);
    return failed || !checked;
  }
  std::printf("%lld problems, largest error of out, log2-sum-exp and gradients: float32 %.1e %.1e "
              "%.1e, bfloat16 %.1e %.1e %.1e\n",
              (long long)checked, worst[0].forward, worst[0].log2_sum_exp, worst[0].backward,
              worst[1].forward, worst[1].log2_sum_exp, worst[1].backward);
  return failed > 0;
}

}  // namespace test

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer does not see how libgomp's threads wait for each other; it does see these.
#include <thread>
extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned) {
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(body, data);
  body(data);
  for (std::thread& other : others) other.join();
}
#endif

int main(int argc, char** argv) {
  const bool is_self_test = argc > 1 && std::string(argv[argc - 1]) == "--self-test";
  if (is_self_test) --argc;
  if (argc < 3 || argc > 4) {
    std::fputs("usage: kernel_test FIRST_SEED PROBLEMS [MOST_WORK] [--self-test]\n", stderr);
    return 2;
  }
  return test::check(std::strtoull(argv[1], nullptr, 10), std::atoll(argv[2]),
                     argc > 3 ? std::atoll(argv[3]) : 20'000'000, is_self_test);
}
