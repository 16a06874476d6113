#include "kernels/judge/call_judgement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attoscope {

bool CallJudgement::rounded() const {
  return std::ranges::all_of(table, [](const JudgedRow& r) { return r.found.rounded; });
}

std::string CallJudgement::incomparable() const {
  const auto row = std::ranges::find_if(table, [](const JudgedRow& r) { return !r.found.incomparable.empty(); });
  if (row == table.end() && rounded() &&
      std::ranges::all_of(table, [](const JudgedRow& r) { return r.found.due == r.found.elements; }))
    return "attention of its Q, K and V is NaN or infinite in every element, and so is the output: nothing can be judged by it";
  if (row == table.end()) return "";
  return "head " + std::to_string(row->head) + ": " + row->found.incomparable + ", so that nothing can be judged by it";
}

std::string_view CallJudgement::verdict() const {
  return !incomparable().empty() ? "incomparable" : rounded() ? "rounded" : "wrong";
}

std::int64_t CallJudgement::elements() const {
  return std::accumulate(table.begin(), table.end(), std::int64_t{0},
                         [](std::int64_t sum, const JudgedRow& r) { return sum + r.found.elements; });
}

std::int64_t CallJudgement::suspect_elements() const {
  return std::accumulate(table.begin(), table.end(), std::int64_t{0},
                         [](std::int64_t sum, const JudgedRow& r) { return sum + r.found.suspects; });
}

double CallJudgement::share(int row, int column) const {
  const Tolerance& t = detail.tolerance;
  const double o =
      output[static_cast<std::size_t>(row) * static_cast<std::size_t>(shape.d_v) + static_cast<std::size_t>(column)];
  if (t.is_due(row, column, o, t.golden(row, column))) return 0;
  const double share = std::abs(o - t.golden(row, column)) / t.of(row, column, o);
  return std::isfinite(share) ? share : std::numeric_limits<double>::infinity();
}

const Slip* slip_called(const CallJudgement& call, std::string_view text) {
  const auto chosen = std::ranges::find(call.suspects, text, [](const RankedSlip& r) { return std::string_view(r.slip.text); });
  if (chosen != call.suspects.end()) return &chosen->slip;
  const std::optional<Slip>& named = call.worst_row().slip;
  return named && named->output ? &*named : nullptr;
}

}  // namespace attoscope
