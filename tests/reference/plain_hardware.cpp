#include "tests/reference/plain_hardware.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/presets.h"
#include "kernels/tensor_core/hardware.h"
#include "tests/support/support.h"

namespace attoscope::plain {
namespace {

/// Each row of Q has six entries of -1 or 1, K is -1 or 1: scores are even integers from -6 to 6.
std::shared_ptr<const Tensors> tensors(const IntegerScores& x) {
  auto all = std::make_shared<Tensors>(Tensors::shaped({x.n, x.n, x.d, x.d}));
  testing::Dice dice(x.seed);
  const auto size = static_cast<std::size_t>(x.n) * static_cast<std::size_t>(x.d);
  all->q.assign(size, 0.0);
  for (std::size_t row = 0; row < size; row += static_cast<std::size_t>(x.d))
    for (int i = 0; i < 6; ++i)
      all->q[row + static_cast<std::size_t>(i * x.d / 6 + dice.between(0, x.d / 6 - 1))] = dice.one_in(2) ? 1 : -1;
  for (std::size_t i = 0; i < size; ++i) all->k.push_back(dice.one_in(2) ? 1 : -1);
  for (std::size_t i = 0; i < size; ++i) all->v.push_back(dice.normal());
  return all;
}

/// The numbers of a matrix of codes.
std::vector<float> numbers(const std::vector<std::uint8_t>& codes, const Format& format) {
  std::vector<float> x;
  const std::size_t bytes = format == e4m3 ? 1 : 2;
  for (std::size_t i = 0; i < codes.size(); i += bytes)
    x.push_back(static_cast<float>(number_of(format, codes[i] | (bytes == 2 ? codes[i + 1] * 256U : 0U))));
  return x;
}

/// Keys of a tile in the order of the products. 8-bit fragments of the PTX manual hold four keys a register, two of each of
/// two neighbouring groups of eight keys.
std::vector<int> key_order(int keys, bool of_8_bits) {
  std::vector<int> order;
  for (int first = 0; first < keys; first += 16)
    for (int pair = 0; pair < 4; ++pair)
      for (const int eight : {0, 8})
        for (int i = 0; i < 2; ++i) order.push_back(first + eight + 2 * pair + i);
  if (!of_8_bits) std::iota(order.begin(), order.end(), 0);
  return order;
}

/// One row, tile by tile.
class TiledRow {
 public:
  TiledRow(const HardwareLaunch& x, const ProductRule& rule) : x_(x), rule_(rule), o_(static_cast<std::size_t>(x.d), 0.0f) {}

  void take(std::vector<float> s, const std::vector<float>& v, int first_key) {
    const float m = std::max(m_, *std::ranges::max_element(s)), alpha = std::exp2((m_ - m) * x_.c);
    float sum = 0;
    for (float& e : s) {
      e = std::exp2((e - m) * x_.c + x_.shift);
      sum += e;
      e = round(x_.format, e);
    }
    m_ = m;
    l_ = l_ * alpha + sum;
    const std::vector<int> order = key_order(static_cast<int>(s.size()), x_.format == e4m3);
    std::vector<float> p, column;
    for (const int key : order) p.push_back(s[static_cast<std::size_t>(key)]);
    for (std::size_t c = 0; c < o_.size(); ++c) {
      column.clear();
      for (const int key : order)
        column.push_back(first_key + key < x_.n ? v[static_cast<std::size_t>(first_key + key) * o_.size() + c] : 0);
      o_[c] = product_sum(rule_, p, column, o_[c] * alpha);
    }
  }
  void append_to(std::vector<float>& output) const {
    for (const float o : o_) output.push_back(o / l_);
  }

 private:
  const HardwareLaunch& x_;
  const ProductRule& rule_;
  float m_ = -std::numeric_limits<float>::infinity(), l_ = 0;
  std::vector<float> o_;
};

}  // namespace

HardwareLaunch integer_scores(const IntegerScores& x) {
  const Experiment e = integer_experiment(x, Accumulator::fma);
  std::vector<int> rows(static_cast<std::size_t>(x.n));
  std::iota(rows.begin(), rows.end(), 0);
  return hardware_launch(e.problem, x.format, e.a, *e.problem.input.tensors, rows, StopSign{});
}

Experiment integer_experiment(const IntegerScores& x, Accumulator sums) {
  Experiment e = default_experiment();
  e.problem.n = x.n;
  e.problem.d = x.d;
  e.problem.scale = std::numbers::ln2;
  e.problem.mask.kind = x.causal ? Mask::Kind::causal : Mask::Kind::none;
  e.problem.input.kind = InputKind::tensors;
  e.problem.input.file = "integer scores";
  e.problem.input.tensors = tensors(x);
  e.format = x.format;
  e.a = emulation_of(
      {.algorithm = Algorithm::hardware, .block_q = x.tile.block_q, .block_k = x.tile.block_k, .p_exponent = x.p_exponent},
      sums);
  e.a.precision[Step::output] = exact;
  return e;
}

std::vector<float> hardware_output(const HardwareLaunch& x, const ProductRule& rule) {
  const std::vector<float> q = numbers(x.q, x.format), k = numbers(x.k, x.format), v = numbers(x.v, x.format);
  const auto row = [&](const std::vector<float>& of, int i) {
    return std::span(of).subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(x.d), static_cast<std::size_t>(x.d));
  };
  std::vector<float> output;
  for (std::size_t i = 0; i < x.rows.size(); ++i) {
    const int end = x.causal ? x.rows[i] + 1 : x.n;
    TiledRow state(x, rule);
    for (int first = 0; first < end; first += x.tile.block_k) {
      std::vector<float> s(static_cast<std::size_t>(x.tile.block_k), -std::numeric_limits<float>::infinity());
      for (int j = 0; j < x.tile.block_k && first + j < end; ++j)
        s[static_cast<std::size_t>(j)] = product_sum(rule, row(q, static_cast<int>(i)), row(k, first + j), 0);
      state.take(s, v, first);
    }
    state.append_to(output);
  }
  return output;
}

}  // namespace attoscope::plain
