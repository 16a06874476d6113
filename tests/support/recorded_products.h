/// Dot products recorded on GPUs: tests/data/tensor_cores.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace attoscope::testing {

/// The dot products recorded on one GPU for one format of factors and one type of sums.
struct RecordedProducts {
  std::string gpu, format, result;  ///< "h100", "bf16", "f32"
  int rows = 0, k = 0;
  std::vector<float> a, b;  ///< rows x k
  std::vector<float> c, d;  ///< one per row

  std::string name() const { return gpu + " " + format + " " + result; }
  std::span<const float> a_row(int row) const { return row_of(a, row); }
  std::span<const float> b_row(int row) const { return row_of(b, row); }

 private:
  std::span<const float> row_of(const std::vector<float>& x, int row) const {
    return std::span(x).subspan(static_cast<std::size_t>(row) * static_cast<std::size_t>(k), static_cast<std::size_t>(k));
  }
};

/// All recorded sets.
const std::vector<RecordedProducts>& recorded_products();

/// True if x and y have the same bits, or are both zero.
bool same_but_for_sign_of_zero(float x, float y);

}  // namespace attoscope::testing
