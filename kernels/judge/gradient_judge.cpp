#include "kernels/judge/gradient_judge.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "kernels/judge/gradient_group.h"
#include "kernels/parallel/parallel.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

std::ptrdiff_t count_wrong(const std::vector<TensorJudgement>& tensors) {
  return std::ranges::count_if(tensors, [](const TensorJudgement& t) { return !t.found.rounded; });
}

bool is_finite(const GroupGradients& x) {
  const auto is_dq_finite = [](const ExactGradients& h) { return all_finite(h.dq.values); };
  return all_finite(x.dk.values) && all_finite(x.dv.values) && std::ranges::all_of(x.heads, is_dq_finite);
}

/// delta computed from the given O.
std::vector<double> delta_of(const JudgedGradients& given, const GradientOperands& x, std::size_t head) {
  const auto columns = at(x.shape().d_v);
  std::vector<double> delta(at(x.shape().n));
  for (std::size_t i = 0; i < delta.size(); ++i) {
    for (std::size_t c = 0; c < columns; ++c) delta[i] += (*x.d_o)[i * columns + c] * (*given.o[head])[i * columns + c];
    if (!x.d_lse.empty()) delta[i] -= x.d_lse[i];
  }
  return delta;
}

/// Accepts gradients that follow from a given wrong O or wrong L.
void try_given(const GradientGroup& group, GroupJudgement& judged) {
  const JudgedGradients& given = group.given();
  const bool has_lse = !given.lse.empty() && !given.lse[0].empty(), has_o = !given.o_is_rounded && !given.o.empty();
  for (const auto& [o, lse] : {std::pair{true, false}, {false, true}, {true, true}}) {
    if ((o && !has_o) || (lse && !has_lse)) continue;
    GroupGradients expected;
    group.changed(
        [&, o = o, lse = lse](GradientVariant& v, int head) {
          const auto h = at(head);
          if (o) v.delta = delta_of(given, group.operands(head), h);
          if (lse) std::ranges::transform(given.lse[h], v.lowest, v.lse.begin(), std::minus{});
        },
        expected, false);
    std::vector<TensorJudgement> tensors = group.judged_all(expected);
    if (count_wrong(tensors) > 0) continue;
    judged.tensors = std::move(tensors);
    judged.fits_given_o = o;
    judged.fits_given_lse = lse;
    return;
  }
}

/// Bound of the difference of two rests whose gradients differ only in the order of their sums.
constexpr double same_rest = 1e-9;
/// Sum of the logarithms of the errors; among roundings that fit, the smallest sum wins.
double rest(const std::vector<TensorJudgement>& tensors) {
  double sum = 0;
  for (const TensorJudgement& t : tensors) sum += std::log(t.found.rms + 1e-300);
  return sum;
}

GroupJudgement judged_group(const JudgedGradients& given, const Options& options) {
  const StopToken stop(options);
  GroupJudgement judged;
  std::ptrdiff_t fewest = 0;
  double least = 0;
  each_form(given, stop, [&](const GradientGroup& group, const std::string& as, const std::vector<RivalError>& rivals) {
    const bool is_usual = as.empty();
    if (!is_finite(group.golden())) {
      if (is_usual) judged.incomparable = "the gradient of its Q, K, V and dO is NaN or infinite even in fp64";
      return is_usual;
    }
    std::vector<TensorJudgement> tensors = group.judged_all(group.golden());
    const std::ptrdiff_t wrong = count_wrong(tensors);
    const double left = rest(tensors);
    if (!is_usual && (wrong > fewest || (wrong == fewest && (wrong > 0 || left >= least - same_rest)))) return false;
    judged.tensors = std::move(tensors);
    judged.as = as;
    judged.family = rivals;
    if (is_usual && wrong > 0) try_given(group, judged);
    fewest = wrong;
    least = left;
    return is_usual && judged.rounded();
  });
  return judged;
}

}  // namespace

bool GroupJudgement::rounded() const { return incomparable.empty() && count_wrong(tensors) == 0; }

GroupJudgement judge_gradients(const JudgedGradients& given, const Options& options) {
  return on_threads(options.threads, [&] { return judged_group(given, options); });
}

std::vector<SinkGradient> sink_gradients(const JudgedGradients& given, const Options& options) {
  const StopToken stop(options);
  const GradientGroup group(given, {.as = "", .rounding = {given.format, given.stored_o}}, stop);
  std::vector<SinkGradient> all;
  for (int h = 0; h < group.heads(); ++h) all.push_back(sink_gradient(group.problem(h), group.rows(h)));
  return all;
}

std::string narrowed_cause(const GroupJudgement& judged) {
  int seen = 0;
  bool wrong[3]{};
  for (const TensorJudgement& t : judged.tensors)
    if (t.tensor != GradientTensor::dsink) {
      ++seen;
      wrong[static_cast<std::size_t>(t.tensor)] = !t.found.rounded;
    }
  const auto [dq, dk, dv] = wrong;
  if (seen < 3 || !(dq || dk || dv)) return "";
  if (dq && dk && dv)
    return "All three are wrong: look at P, that is at L, the scores or the mask, or at dO, which all of them share.";
  if (dq && dk) return "dQ and dK are wrong and dV is not: P and L are right, look at delta, dP or dS.";
  if (dk && dv)
    return "dK and dV are wrong and dQ is not: P and dS are right, look at the sums over queries, or over a group's heads.";
  if (dq && dv) return "dQ and dV are wrong and dK is not: P and dS are right, look at each of both products.";
  if (dv) return "dV alone is wrong: P and dS are right, look at P's cast and at the sum of P^T dO.";
  return dq ? "dQ alone is wrong: dS is right, look at the sum over key tiles and at dQ's scale."
            : "dK alone is wrong: dS is right, look at the sum over queries and at dK's scale.";
}

}  // namespace attoscope
