// Sums of projections by tensor cores against the rule written plainly, on every instruction set.
#include "kernels/model/model_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cpu/aligned_buffer.h"
#include "kernels/lanes/job.h"
#include "tests/reference/plain_tensor_core.h"

namespace attoscope {
namespace {

std::vector<float> numbers(std::size_t count, const Format& format, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-6, 6);
  std::vector<float> x(count);
  for (float& v : x) v = round(format, std::ldexp(normal(random), exponent(random)));
  return x;
}

/// A product of 13 rows of A and 45 of B, over 70 inputs: whole blocks and a part of one, whole panels and a part of one.
void expect_the_rule(Accumulator sums, const Format& format, std::string_view isa) {
  const int m = 13, n = 45, k = 70;
  std::mt19937 random(7);
  const std::vector<float> a = numbers(std::size_t{13} * 70, format, random), b = numbers(std::size_t{45} * 70, format, random);
  std::vector<float> c(std::size_t{13} * 45);
  MatrixProduct<float> p;
  p.a = a.data(), p.a_row = k, p.a_col = 1, p.b = b.data(), p.b_row = 1, p.b_col = k;
  p.c = c.data(), p.c_row = n, p.m = m, p.n = n, p.k = k;
  const TensorCoreRule rule = tensor_core_rule(gpu_of(sums), format, sums_of(sums));
  const ModelLanes<float> lanes = model_lanes<float>(isa);
  AlignedBuffer scratch;
  for (int first = 0; first < n; first += lanes.panel_columns)
    lanes.block_product(p, block_sum(sums, rule, format, format), {2, m, first, std::min(n, first + lanes.panel_columns)},
                        scratch.at_least(lanes.block_scratch(m, k)));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      const std::span row(a.data() + std::ptrdiff_t{i} * k, std::size_t{70}),
          column(b.data() + std::ptrdiff_t{j} * k, std::size_t{70});
      const float expected = i < 2 ? 0.0F : plain::tensor_core_dot(rule, row, column, 0);
      ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], expected) << name(sums) << " " << isa << " " << i << " " << j;
    }
}

TEST(ModelLanes, TensorCoresAddByTheRule) {
  for (const std::string_view isa : {"sse2", "avx2", "avx512"}) {
    if (!has_instruction_set(isa)) continue;
    for (const auto& [sums, format] : {std::pair{Accumulator::h100, bf16}, std::pair{Accumulator::a2, bf16},
                                       std::pair{Accumulator::v100, fp16}, std::pair{Accumulator::b200_f16, fp16}})
      expect_the_rule(sums, format, isa);
  }
}

}  // namespace
}  // namespace attoscope
