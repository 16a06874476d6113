#include "kernels/questions/step_storage.h"

#include "kernels/cpu/inputs.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/cpu/scaled_storage.h"
#include "kernels/experiment/all_heads.h"

namespace attoscope {
namespace {

template <class T>
std::vector<double> row_of(const std::vector<T>& x, int row, int d, int columns) {
  const auto first = x.begin() + static_cast<std::ptrdiff_t>(row) * d;
  return {first, first + columns};
}

/// One tensor, read row by row.
template <class T>
class StoredTensor {
 public:
  StoredTensor(const std::vector<T>& given, int n, int d, const Scaling& s, ScaledTensor t, const Format& main,
               const AllHeads* all)
      : given_(given), d_(d) {
    if (s.is_on()) {
      stored_ = stored_numbers(given, n, d, s, t, main, static_cast<T>(largest_of_all(all, s, t, StopSign{})));
    } else {
      stored_ = {given, std::vector<T>(given.size(), T{1}), given};
    }
  }

  StoredVector row(int row, int columns) const {
    return {.given = row_of(given_, row, d_, columns),
            .elements = row_of(stored_.elements, row, d_, columns),
            .scales = row_of(stored_.scales, row, d_, columns),
            .operands = row_of(stored_.operands, row, d_, columns)};
  }
  std::vector<StoredVector> rows(int n, int columns) const {
    std::vector<StoredVector> all;
    for (int i = 0; i < n; ++i) all.push_back(row(i, columns));
    return all;
  }

 private:
  const std::vector<T>& given_;
  int d_;
  StoredNumbers<T> stored_;
};

/// Takes the factors that follow the products.
template <class T>
void take_factors(StepStorage& storage, const OperandScales<T>& x, int row, int n, int columns) {
  storage.factor_in_exponent = x.is_one;
  for (int j = 0; !x.q.empty() && j < n; ++j) {
    const auto of_q = static_cast<std::size_t>(x.is_one ? 0 : row), of_k = static_cast<std::size_t>(x.is_one ? 0 : j);
    storage.S_factor.push_back(static_cast<double>(x.q[of_q] * x.k[of_k]));
  }
  if (!x.bias.empty()) storage.S_added = row_of(x.bias, row / x.bias_rows, n, n);
  if (!x.o.empty()) storage.O_factor = row_of(x.o, 0, columns, columns);
  if (!x.o_offset.empty()) storage.O_offset = row_of(x.o_offset, 0, columns, columns);
}

template <class T>
StepStorage storage_in(const Experiment& e, int row, int columns) {
  const Problem& p = e.problem;
  const Scalings& s = e.a.scaling;
  const Operands<T> given = operands<T>(*raw_inputs(p), e.a.precision[Step::input], e.format, p.seed);
  Scalings moves = s;
  moves.Q = moves.K = moves.V = {};
  const Operands<T> moved = scaled_operands(given, moves, shape_of(p), e.format, p.seed);
  StepStorage storage;
  const auto stored = [&](const std::vector<T>& x, ScaledTensor t) {
    return StoredTensor<T>(x, p.n, p.d, s[t], t, e.format, given.all_heads.get());
  };
  storage.q = stored(moved.q, ScaledTensor::Q).row(row, p.d);
  storage.k = stored(moved.k, ScaledTensor::K).rows(p.n, p.d);
  storage.v = stored(moved.v, ScaledTensor::V).rows(p.n, columns);
  take_factors(storage, scaled_operands(given, s, shape_of(p), e.format, p.seed).scales, row, p.n, columns);
  return storage;
}

}  // namespace

StepStorage step_storage(const Experiment& e, int row, int columns) {
  if (!e.a.scaling.stores()) return {};
  return works_in_double(e) ? storage_in<double>(e, row, columns) : storage_in<float>(e, row, columns);
}

}  // namespace attoscope
