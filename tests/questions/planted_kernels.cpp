#include "tests/questions/planted_kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/experiment/presets.h"

namespace attoscope::planted {

Values emulated(const Problem& p, const Method& method, const Format& f, const Edit& edit) {
  Experiment e = default_experiment();
  e.problem = p;
  e.format = f;
  e.a = method;
  Tensors t = *compute(e).inputs;
  if (edit) edit(e.problem, t);
  e.problem.input = testing::given(t);
  return compute(e).a.values;
}

Method method(std::string_view name, int tile_size) {
  Method m;
  m.algorithm = policy(name).algorithm;
  m.precision = policy(name).precision;
  m.block_q = m.block_k = tile_size;
  return m;
}

double* row_of(std::vector<double>& x, int row) { return x.data() + static_cast<std::ptrdiff_t>(row) * kernel_d; }
void copy_row(std::vector<double>& x, int from, int to) { std::copy_n(row_of(x, from), kernel_d, row_of(x, to)); }

Edit scaled(double scale) {
  return [scale](Problem& p, Tensors&) { p.scale = scale; };
}
Edit with_mask(Mask mask) {
  return [mask](Problem& p, Tensors&) { p.mask = mask; };
}
Edit tail_of_V(std::function<int(int)> from) {
  return [from = std::move(from)](Problem&, Tensors& t) {
    const std::vector<double> before = t.v;
    for (int j = kernel_tail; j < kernel_n; ++j) {
      const int row = from(j);
      for (int c = 0; c < kernel_d; ++c) row_of(t.v, j)[c] = row < 0 ? 0 : before[static_cast<std::size_t>(row * kernel_d + c)];
    }
  };
}
Edit copied_row(int from, int to) {
  return [from, to](Problem&, Tensors& t) { copy_row(t.v, from, to); };
}

std::vector<Planted> planted_kernels() {
  return {
      {"no scale", {}, scaled(1), "a missing scale"},
      {"scale 1/d", causal, scaled(1.0 / kernel_d), "the scale applied twice"},
      {"scale 1/sqrt(63)", {}, scaled(1 / std::sqrt(63.0)), "1/sqrt(d - 1)"},
      {"scale 1/sqrt(63), causal", causal, scaled(1 / std::sqrt(63.0)), "1/sqrt(d - 1)"},
      {"scale 1/sqrt(65)", {}, scaled(1 / std::sqrt(65.0)), "1/sqrt(d + 1)"},
      {"exp2 without log2 e", {}, scaled(std::log(2.0) / 8), "exp2 without log2 e"},
      {"no mask", causal, with_mask({}), "a missing causal mask"},
      {"causal where none is wanted", {}, with_mask(causal), "where none is wanted"},
      {"window too wide", window(40), with_mask(window(41)), "one key too wide"},
      {"window too narrow", window(40), with_mask(window(39)), "one key too narrow"},
      {"last row of V duplicated",
       {},
       copied_row(kernel_n - 2, kernel_n - 1),
       "the last row of V replaced by the one before it"},
      {"the same, causal", causal, copied_row(kernel_n - 2, kernel_n - 1), "the last row of V replaced by the one before it"},
      {"last row of V twice",
       {},
       copied_row(kernel_n - 1, kernel_n - 2),
       "the last row of V in the place of the one before it"},
      {"tail of V zeroed", {}, tail_of_V([](int) { return -1; }), "rows of V zeroed in the last, partial tile"},
      {"tail of V zeroed, causal", causal, tail_of_V([](int) { return -1; }), "rows of V zeroed in the last, partial tile"},
      {"tail of V repeated",
       {},
       tail_of_V([](int) { return kernel_tail; }),
       "the first row of V repeated in the last, partial tile"},
      {"tail of V clamped",
       {},
       tail_of_V([](int) { return kernel_n - 1; }),
       "the last row of V repeated in the last, partial tile"},
      {"tail of V stale", {}, tail_of_V([](int j) { return j - kernel_tile; }), "taken from the tile before"},
      {"tail of V shifted down", {}, tail_of_V([](int j) { return j - 1; }), "shifted by one (P[j] V[j - 1]) in the last"},
      {"tail of V shifted up",
       {},
       tail_of_V([](int j) { return j + 1 < kernel_n ? j + 1 : -1; }),
       "shifted by one (P[j] V[j + 1]) in the last"},
      {"tail of V read to the end",
       {},
       tail_of_V([](int j) { return j - (kernel_tile - (kernel_n - kernel_tail)); }),
       "read up to the last row"},
  };
}

}  // namespace attoscope::planted
