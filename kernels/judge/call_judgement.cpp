#include "kernels/judge/call_judgement.h"

#include <algorithm>
#include <cmath>

#include "kernels/slips/softmax_variant.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

constexpr int sampled_rows = 64;
constexpr double small_change = 0x1p-10;

/// Error of a mistaken kernel's row over the smallest visible error, with a margin of 1.5: above 1 it is visible.
double row_ratio(const Tolerance& t, int row, const std::vector<double>& out) {
  double largest = 0, square = 0;
  for (int c = 0; c < t.golden.cols; ++c) {
    const double golden = t.golden(row, c), error = std::abs(out[at(c)] - golden);
    if (!std::isfinite(golden)) continue;
    const double z = error / t.expected(row, c);
    largest = std::max(largest, error / t.of(row, c, golden));
    square += z * z;
  }
  const double whole = std::sqrt(square / t.golden.cols) / std::max(t.row[at(row)], 1e-300);
  return std::max(largest, whole) / 1.5;
}

constexpr double deviations = 4;

/// Sum over rows of numbers; tells random signs from a systematic one.
struct SignedSum {
  double sum = 0, square = 0;
  void add(double x) { sum += x, square += x * x; }
  bool has_sign() const { return std::abs(sum) > deviations * std::sqrt(square); }
};

}  // namespace

bool CallJudgement::rounded() const {
  return wrong_without_keys.empty() && std::ranges::all_of(table, [](const JudgedRow& r) { return r.found.rounded; });
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

std::int64_t CallJudgement::sum_of(std::int64_t HeadJudgement::* part) const {
  std::int64_t sum = 0;
  for (const JudgedRow& r : table) sum += r.found.*part;
  return sum;
}

const Slip* slip_called(const CallJudgement& call, std::string_view text) {
  const auto chosen = std::ranges::find(call.suspects, text, [](const RankedSlip& r) { return std::string_view(r.slip.text); });
  if (chosen != call.suspects.end()) return &chosen->slip;
  const std::optional<Slip>& named = call.worst_row().slip;
  return named && named->output ? &*named : nullptr;
}

std::shared_ptr<const Matrix> shares_of(const CallJudgement& call) {
  return call.incomparable().empty() ? call.detail.shares : nullptr;
}

std::shared_ptr<const Result> with_shares(const Result& result, const Matrix& shares) {
  const auto judged = std::make_shared<Result>(result);
  const auto held = std::make_shared<Matrix>(Matrix{result.golden->rows, shares.cols, {}});
  for (const int row : result.rows) {
    const auto from = shares.values.begin() + static_cast<std::ptrdiff_t>(row) * shares.cols;
    held->values.insert(held->values.end(), from, from + shares.cols);
  }
  judged->shares = held;
  return judged;
}

SeenMistakes seen_mistakes(const JudgedOutput& output, const Judged& judged, const Options& options) {
  const StopToken stop(options);
  const Problem& p = output.problem;
  const Tolerance& t = judged.tolerance;
  const VariantHead head = variant_head(used_inputs({p, output.values, t.claim}));
  const SoftmaxVariant right = right_softmax(p);
  SoftmaxVariant scaled = right, shorter = right;
  scaled.scale *= 1 + small_change;
  shorter.keys = [right](int row) {
    const Keys keys = right.keys(row);
    return Keys{keys.first, keys.end - 1};
  };
  std::vector<double> out(at(t.golden.cols));
  double by_scale = 0, by_key = 0;
  const int step = (p.n + sampled_rows - 1) / sampled_rows;
  for (int row = p.n - 1; row >= 0; row -= step) {
    stop.check();
    const Keys keys = right.keys(row);
    if (keys.empty()) continue;
    attend(head, scaled, row, out.data());
    by_scale = std::max(by_scale, row_ratio(t, row, out));
    if (keys.end - keys.first < 2) continue;
    attend(head, shorter, row, out.data());
    by_key = std::max(by_key, row_ratio(t, row, out));
  }
  return {.scale = small_change / by_scale, .key = by_key > 1, .masked = p.mask.kind != Mask::Kind::none};
}

bool error_has_sign(const JudgedOutput& output, const Judged& judged, const Options& options) {
  const StopToken stop(options);
  const Matrix& golden = judged.tolerance.golden;
  const SoftmaxVariant variant = right_softmax(output.problem);
  const VariantHead head = variant_head(used_inputs(output));
  const std::size_t columns = at(golden.cols);
  SignedSum of_golden, of_place;
  std::vector<SignedSum> of_key(at(head.shape.n_k));
  std::vector<double> error(columns);
  for (int row = 0; row < golden.rows; ++row) {
    stop.check();
    const double *const right = &golden.values[at(row) * columns], *const o = &(*output.values)[at(row) * columns];
    double square = 0, product = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      error[c] = std::isfinite(right[c]) ? o[c] - right[c] : 0;
      if (std::isfinite(right[c])) {
        square += error[c] * error[c];
        product += error[c] * right[c];
      }
    }
    if (!std::isfinite(square)) return true;
    if (square == 0) continue;
    of_golden.add(product);
    of_place.add(product * (2.0 * row / golden.rows - 1));
    const std::vector<double> P = weights(head, variant, row);
    for (std::size_t j = 0; j < P.size(); ++j) {  // error times P (V - O), the change of the output per relative change of P
      if (P[j] == 0) continue;
      double along = 0;
      for (std::size_t c = 0; c < columns; ++c) along += error[c] * head.v[j * columns + c];
      if (std::isfinite(along)) of_key[j].add(P[j] * (along - product));
    }
  }
  return of_golden.has_sign() || of_place.has_sign() || std::ranges::any_of(of_key, &SignedSum::has_sign);
}

}  // namespace attoscope
