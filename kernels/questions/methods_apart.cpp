#include "kernels/questions/methods_apart.h"

#include <utility>

#include "kernels/experiment/result.h"
#include "kernels/questions/row_parting.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

template <class T>
void set_parting(MethodsApart& found, const Experiment& e, const StopSign& stop) {
  const MethodRows<T> rows_a(e, false, stop), rows_b(e, true, stop);
  const RowRun<T> a = row_run(rows_a.job(), found.row, stop), b = row_run(rows_b.job(), found.row, stop);
  if (!same_tiles(a, b)) {
    found.why_no_tile = "a and b have other tiles of keys, which cannot be compared.";
    return;
  }
  found.parting = row_parting(a, b).parting;
  if (!found.parting)
    found.why_no_tile = "a and b have the same bits after every tile; only the operations on O at the end differ.";
}

}  // namespace

std::int64_t differing_in_row(const Result& answer, std::size_t i) {
  const auto columns = static_cast<std::size_t>(answer.a.cols);
  std::int64_t differing = 0;
  for (std::size_t at = i * columns; at < (i + 1) * columns; ++at)
    differing += !same_bits_of(answer.a.values[at], answer.b.values[at]);
  return differing;
}

MethodsApart counted_apart(const Result& answer) {
  MethodsApart found{.max_ulp = answer.a_minus_b.max_ulp};
  found.numbers = static_cast<std::int64_t>(answer.a.values.size());
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const std::int64_t in_row = differing_in_row(answer, i);
    if (in_row > 0 && found.row < 0) {
      found.row = answer.rows[i];
      found.column = 0;
      while (same_bits_of(answer.a(static_cast<int>(i), found.column), answer.b(static_cast<int>(i), found.column)))
        ++found.column;
    }
    found.differing += in_row;
    found.differing_rows += in_row > 0;
  }
  return found;
}

MethodsApart methods_apart(const Result& answer, const Options& options) {
  const Experiment& e = answer.experiment;
  MethodsApart found = counted_apart(answer);
  if (found.differing == 0) return found;
  for (const auto& [method, name] : {std::pair{&e.a, "a"}, std::pair{&e.b, "b"}})
    if (!is_emulated(method->algorithm)) {
      found.why_no_tile = std::string(name) + " is not emulated, so that its tiles are not known.";
      return found;
    }
  const StopToken stop(options);
  works_in_double(e) ? set_parting<double>(found, e, stop) : set_parting<float>(found, e, stop);
  return found;
}

}  // namespace attoscope
