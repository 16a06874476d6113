// What a step computes, with its numbers put in.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ui/learn/stepper/stepper.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// Terms of a list that are written out.
constexpr int written_terms = 4;

std::string number(double x) {
  if (std::isinf(x)) return x < 0 ? "-∞" : "∞";
  if (std::isnan(x)) return "NaN";
  const double magnitude = std::abs(x);
  return magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e6) ? scientific(x, 5) : fmt::format("{:.6g}", x);
}
/// With brackets where it is negative and follows a sign.
std::string term(double x) { return x < 0 ? fmt::format("({})", number(x)) : number(x); }

std::string vector(const std::vector<double>& x) {
  std::string text;
  for (const double c : x) text += (text.empty() ? "(" : ", ") + number(c);
  return text + ")";
}

/// A step among its neighbours.
class Worked {
 public:
  Worked(const Steps& row, int index)
      : row_(row),
        index_(static_cast<std::size_t>(index)),
        step_(row.steps[index_]),
        before_(row.steps[index_ > 0 ? index_ - 1 : 0].state) {}

  std::vector<std::string> lines() const {
    switch (step_.kind) {
      case StepKind::start:
        return {"m = -∞,  l = 0,  O = 0", "before any score"};
      case StepKind::tile_max:
        return {"m~ = max(S_t)", "= max(" + listed(row_.S, ", ") + ")", "= " + number(made(Step::m))};
      case StepKind::max:
        return max();
      case StepKind::alpha:
        return alpha();
      case StepKind::weights:
        return {"P_j = exp(S_j - " + std::string(flash1() ? "m~" : "m") + ")", exponents(), "= " + listed(row_.P, ",  ")};
      case StepKind::sum:
        return sum();
      case StepKind::normalise:
        return {"P_j = exp(S_j - m) / l", exponents() + " / " + number(before_.l), "= " + listed(row_.P, ",  ")};
      case StepKind::output:
        return output();
      case StepKind::finish:
        break;
    }
    if (row_.question.algorithm == Algorithm::flash2)
      return {"O / l", "= " + vector(before_.O) + " / " + number(before_.l), "= " + vector(step_.state.O)};
    return {"O, rounded a last time", "from " + vector(before_.O), "= " + vector(step_.state.O)};
  }

 private:
  bool flash1() const { return row_.question.algorithm == Algorithm::flash1; }
  bool whole_tiles() const { return row_.question.algorithm != Algorithm::three_pass; }

  /// The last number that this step made for a named rounding.
  double made(Step step) const {
    for (std::size_t i = step_.numbers.size(); i-- > 0;)
      if (step_.numbers[i].step == step) return step_.numbers[i].after;
    return std::numeric_limits<double>::quiet_NaN();
  }
  /// m before the tile or score that this step belongs to.
  double old_max() const {
    std::size_t i = index_;
    while (i > 0 && row_.steps[i].kind != StepKind::max) --i;
    return row_.steps[i > 0 ? i - 1 : 0].state.m;
  }
  /// The m that exponents are measured from: of flash1's tiles their own.
  double measured_from() const {
    if (!flash1()) return step_.state.m;
    std::size_t i = index_;
    while (i > 0 && row_.steps[i].kind != StepKind::tile_max) --i;
    return row_.steps[i].numbers.back().after;
  }
  /// l before the tile was added to it.
  double old_l() const {
    std::size_t i = index_;
    while (i > 0 && row_.steps[i].kind != StepKind::sum) --i;
    return row_.steps[i > 0 ? i - 1 : 0].state.l;
  }

  std::string listed(const std::vector<double>& x, const char* between) const {
    std::string text;
    for (int j = step_.keys.first; j < step_.keys.end; ++j) {
      if (j - step_.keys.first == written_terms) return text + between + "…";
      text += (text.empty() ? "" : between) + number(x[static_cast<std::size_t>(j)]);
    }
    return text;
  }
  std::string exponents() const {
    const std::string m = term(measured_from());
    if (step_.keys.end - step_.keys.first == 1)
      return "= exp(" + number(row_.S[static_cast<std::size_t>(step_.keys.first)]) + " - " + m + ")";
    return "= exp({" + listed(row_.S, ", ") + "} - " + m + ")";
  }

  std::vector<std::string> max() const {
    if (flash1())
      return {"m = max(m', m~)", "= max(" + number(before_.m) + ", " + number(measured_from()) + ")",
              "= " + number(step_.state.m)};
    const std::string formula = whole_tiles() ? "m = max(m', S_t)" : "m = max(m, S_j)";
    return {formula, "= max(" + number(before_.m) + ", " + listed(row_.S, ", ") + ")", "= " + number(step_.state.m)};
  }

  std::vector<std::string> alpha() const {
    const double old = old_max();
    const std::string beta =
        flash1() ? ",  β = exp(" + number(measured_from()) + " - " + term(step_.state.m) + ") = " + number(step_.share) : "";
    if (std::isinf(old)) return {"α: nothing to rescale yet", "the first tile", flash1() ? beta.substr(3) : "l = 0 and O = 0"};
    return {"α = exp(m' - m)" + std::string(flash1() ? ",  β = exp(m~ - m)" : ""),
            "= exp(" + number(old) + " - " + term(step_.state.m) + ")", "= " + number(step_.alpha) + beta};
  }

  std::vector<std::string> sum() const {
    const std::string result = "= " + number(step_.state.l);
    if (!whole_tiles()) {
      return {"l = l + exp(S_j - m)",
              "= " + number(before_.l) + " + exp(" + number(row_.S[static_cast<std::size_t>(step_.keys.first)]) + " - " +
                  term(step_.state.m) + ")",
              result};
    }
    const std::string shrunk = number(step_.alpha) + "·" + number(before_.l) + " + ";
    if (flash1()) return {"l = α·l' + β·Σ P", "= " + shrunk + number(step_.share) + "·" + number(made(Step::tile_sum)), result};
    const bool weights = row_.question.algorithm == Algorithm::flash2;
    return {weights ? "l = α·l + Σ P" : "l = α·l + Σ exp(S_t - m)", "= " + shrunk + number(made(Step::tile_sum)), result};
  }

  /// P·V of the step's keys.
  std::vector<double> weighted() const {
    const auto d = static_cast<std::size_t>(row_.question.d);
    std::vector<double> sum(d, 0.0);
    for (auto j = static_cast<std::size_t>(step_.keys.first); j < static_cast<std::size_t>(step_.keys.end); ++j)
      for (std::size_t c = 0; c < d; ++c) sum[c] += row_.P[j] * row_.question.values[j * d + c];
    return sum;
  }

  std::vector<std::string> output() const {
    const std::string result = "= " + vector(step_.state.O), added = vector(weighted());
    switch (row_.question.algorithm) {
      case Algorithm::flash1:
        return {"O = (α·l'·O + β·P·V) / l",
                "= (" + number(step_.alpha * old_l()) + "·" + vector(before_.O) + " + " + number(step_.share) + "·" + added +
                    ") / " + number(step_.state.l),
                result};
      case Algorithm::flash2:
        return {"O = α·O + P·V", "= " + number(step_.alpha) + "·" + vector(before_.O) + " + " + added, result};
      case Algorithm::three_pass:
        return {"O = O + P_j·V_j", "= " + vector(before_.O) + " + " + added, result};
      default:
        return {"O = O + P·V", "= " + vector(before_.O) + " + " + added, result};
    }
  }

  const Steps& row_;
  std::size_t index_;
  const RowStep& step_;
  const RowState& before_;
};

}  // namespace

std::vector<std::string> step_formula(const Steps& row, int index) { return Worked(row, index).lines(); }

std::string step_place(const Steps& row, int index) {
  const RowStep& s = row.steps[static_cast<std::size_t>(index)];
  if (s.kind == StepKind::start) return "before any score";
  if (s.kind == StepKind::finish) return "after the last score";
  const std::string pass = row.passes > 1 ? "pass " + std::to_string(s.pass + 1) + ", " : "";
  const bool alone = s.keys.end - s.keys.first == 1;
  return pass + (alone ? "score " + std::to_string(s.keys.end)
                       : "scores " + std::to_string(s.keys.first + 1) + " to " + std::to_string(s.keys.end));
}

std::string state_number(double x) {
  if (std::isinf(x)) return x < 0 ? "-∞" : "∞";
  const double magnitude = std::abs(x);
  if (std::isnan(x) || (magnitude != 0 && (magnitude < 1e-3 || magnitude >= 1e4))) return scientific(x, 6);
  return fmt::format("{:.6f}", x);
}

}  // namespace attoscope
