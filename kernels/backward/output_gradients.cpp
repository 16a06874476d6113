#include <algorithm>

#include "kernels/backward/backward.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

/// Stream of dO's random numbers, beside those of kernels/cpu/inputs.cpp; its tensor in random_bits.
constexpr std::uint32_t output_stream = 11;
constexpr int output_tensor = 4;

std::vector<double> drawn(const Experiment& e, const StopSign& stop) {
  const std::size_t count = static_cast<std::size_t>(e.problem.n) * static_cast<std::size_t>(value_columns(e.problem));
  if (e.backward.d_o == OutputGradient::file) return *e.backward.d_o_file.values;
  std::vector<double> x = zeros<double>(count, stop);
  constexpr std::size_t piece = 1 << 12;
  const bool is_normal = e.backward.d_o == OutputGradient::normal;
  parallel_for(std::size_t{0}, (count + piece - 1) / piece, [&](std::size_t i) {
    stop.check();
    const std::size_t first = i * piece, size = std::min(piece, count - first);
    if (!is_normal) return void(std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(first), size, 1.0));
    instruction_set(stop.isa).normals(e.problem.seed, output_stream, first, static_cast<std::int64_t>(size), x.data() + first);
  });
  return x;
}

template <class T>
std::vector<double> rounded_in(const std::vector<double>& x, const Experiment& e, const StopSign& stop) {
  const RounderPlan<T> input = plan<T>(e.a.precision[Step::input], e.format);
  const std::vector<T> y = rounded(x, value_columns(e.problem), input, e.problem.seed, output_tensor, stop);
  return {y.begin(), y.end()};
}

}  // namespace

OutputGradients output_gradients(const Experiment& e, const StopSign& stop) {
  const std::vector<double> x = drawn(e, stop);
  OutputGradients d;
  d.d_o = works_in_double(e) ? rounded_in<double>(x, e, stop) : rounded_in<float>(x, e, stop);
  if (e.backward.d_lse_file.values) d.d_lse = *e.backward.d_lse_file.values;
  return d;
}

std::vector<int> computed_keys(const Problem& p) {
  const int n_k = key_count(p), count = p.rows == 0 ? n_k : std::min(p.rows, n_k);
  std::vector<int> keys;
  for (int i = 0; i < count; ++i) keys.push_back(static_cast<int>(static_cast<std::int64_t>(i) * n_k / count));
  return keys;
}

}  // namespace attoscope
