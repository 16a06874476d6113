// The formula of a step, with its numbers put in.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/learn/stepper/stepper.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// Terms of a list that are written out.
constexpr std::size_t written_terms = 4;

std::string number(double x) {
  if (std::isinf(x)) return x < 0 ? "-∞" : "∞";
  if (std::isnan(x)) return "NaN";
  const double magnitude = std::abs(x);
  return magnitude != 0 && (magnitude < 1e-4 || magnitude >= 999999.5) ? scientific(x, 5) : fmt::format("{:.6g}", x);
}
/// In brackets if it is negative: it follows a sign.
std::string term(double x) { return x < 0 ? fmt::format("({})", number(x)) : number(x); }

/// "1, 2, 3, 4, …": the first of these numbers, at most so many.
std::string listing(const std::vector<double>& x, const char* between, std::size_t most = written_terms) {
  std::string text;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i == most) return text + between + "…";
    text += (i == 0 ? "" : between) + number(x[i]);
  }
  return text;
}

std::string vector(const std::vector<double>& x) { return "(" + listing(x, ", ", x.size()) + ")"; }

/// "{1, 2, 3, 4, …}", or the number itself if there is one; with `may_join` also if all are the same.
std::string some(const std::vector<double>& x, bool may_join = false, std::size_t most = written_terms) {
  const bool same = std::ranges::all_of(x, [&](double y) { return y == x.front(); });
  return x.size() == 1 || (may_join && same) ? number(x.front()) : "{" + listing(x, ", ", most) + "}";
}

/// A step among its neighbours.
class StepContext {
 public:
  StepContext(const Steps& row, int index)
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
        return {(stores_P() ? "e_j = " : "P_j = ") + weight(flash1() ? "m~" : "m"), exponents(),
                "= " + (stores_P() ? listing(made_of_keys(Step::e), ",  ") : listed(row_.P, ",  "))};
      case StepKind::scores:
        return scores();
      case StepKind::store:
        return store();
      case StepKind::sum:
        return sum();
      case StepKind::normalise:
        return {"P_j = " + weight("m") + " / l", exponents() + " / " + number(before_.l), "= " + listed(row_.P, ",  ")};
      case StepKind::output:
        return output();
      case StepKind::finish:
        break;
    }
    return finish();
  }

 private:
  bool flash1() const { return row_.question.algorithm == Algorithm::flash1; }
  bool divides_at_the_end() const { return attoscope::divides_at_the_end(row_.question.algorithm); }
  bool exp2() const { return row_.question.exponential == ExponentialKind::exp2; }
  bool stores_P() const { return row_.question.scaling.P.is_on(); }
  /// The shift of e's exponent; `lift` is the factor before exp.
  std::string shift() const { return row_.exponent_shift == 0 ? "" : " + " + number(row_.exponent_shift); }
  std::string lift() const { return exp2() || row_.storage.lift == 1 ? "" : number(row_.storage.lift) + "·"; }
  bool whole_tiles() const { return has_tiles(row_.question.algorithm); }

  /// The last result of a rounding in this step.
  double made(Step step) const {
    for (std::size_t i = step_.numbers.size(); i-- > 0;)
      if (step_.numbers[i].step == step) return step_.numbers[i].after;
    return std::numeric_limits<double>::quiet_NaN();
  }
  /// The latest step of a kind up to this one; the first step if there is none.
  std::size_t latest(StepKind kind) const {
    std::size_t i = index_;
    while (i > 0 && row_.steps[i].kind != kind) --i;
    return i;
  }
  /// m, l and O before the latest step of a kind.
  const RowState& before(StepKind kind) const { return row_.steps[std::max<std::size_t>(1, latest(kind)) - 1].state; }
  /// The m that exponents are measured from: for flash1 the tile's own m.
  double measured_from() const {
    return flash1() ? row_.steps[latest(StepKind::tile_max)].numbers.back().after : step_.state.m;
  }

  /// The numbers of the step's keys.
  std::string listed(const std::vector<double>& x, const char* between) const { return listing(of_keys(x), between); }
  /// exp(S_j - m) as this row's method takes it.
  std::string weight(const std::string& m) const {
    return exp2() ? "2^(c·S_j - c·" + m + shift() + "),  c = " + number(row_.exponent_factor) : lift() + "exp(S_j - " + m + ")";
  }
  std::string exponents() const {
    const std::string m = term(measured_from());
    if (exp2()) {
      const std::vector<double> S = of_keys(row_.S);
      return "= 2^(c·" + (S.size() == 1 ? term(S.front()) : some(S)) + " - c·" + m + shift() + ")";
    }
    if (step_.keys.end - step_.keys.first == 1)
      return "= " + lift() + "exp(" + number(row_.S[static_cast<std::size_t>(step_.keys.first)]) + " - " + m + ")";
    return "= " + lift() + "exp({" + listed(row_.S, ", ") + "} - " + m + ")";
  }

  /// The numbers of x at the step's keys.
  std::vector<double> of_keys(const std::vector<double>& x) const {
    return {x.begin() + step_.keys.first, x.begin() + step_.keys.end};
  }
  /// The results of a rounding at this step, or its inputs (`before`), one for each key.
  std::vector<double> made_of_keys(Step step, bool before = false) const {
    std::vector<double> all;
    for (const RoundedNumber& m : step_.numbers)
      if (m.step == step && m.key >= 0) all.push_back(before ? m.before : m.after);
    return all;
  }

  // --- lines that scales add ------------------------------------------------------------------------------------------

  std::vector<std::string> scores() const {
    const StepStorage& stored = row_.storage;
    std::vector<double> products;
    for (int j = step_.keys.first; j < step_.keys.end; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < stored.q.operands.size(); ++c)
        sum += stored.q.operands[c] * stored.k[static_cast<std::size_t>(j)].operands[c];
      products.push_back(sum);
    }
    const double scale = exp2() ? 1 : row_.question.rows.d > 0 ? row_.question.rows.scale : 1;
    const bool factored = !stored.S_factor.empty() && !(exp2() && stored.factor_in_exponent);
    const std::size_t most = stored.S_added.empty() ? written_terms : 1;  // two lists must fit
    std::string letters = factored ? "S_j = s_q·s_k·(q·k_j)" : "S_j = q·k_j", numbers = "= " + some(products, false, most);
    if (factored) {
      const std::string factors = some(of_keys(stored.S_factor), true, 1);
      const bool is_list = factors.front() == '{';
      numbers = "= " + factors + "·" + some(products, false, is_list && scale != 1 ? 1 : is_list || scale != 1 ? 2 : most);
    }
    if (!stored.S_added.empty()) {
      letters += " + mean(Q)·k_j";
      numbers += " + " + some(of_keys(stored.S_added), false, most);
    }
    if (scale != 1) {
      letters = letters.substr(0, 6) + "scale·" + (stored.S_added.empty() ? letters.substr(6) : "(" + letters.substr(6) + ")");
      numbers = "= " + number(scale) + "·" + (stored.S_added.empty() ? numbers.substr(2) : "(" + numbers.substr(2) + ")");
    }
    if (exp2() && stored.factor_in_exponent) letters += ",  c = log2(e)·s_q·s_k";
    return {letters, numbers, "= " + listed(row_.S, ",  ")};
  }

  std::vector<std::string> store() const {
    const Scaling& P = row_.question.scaling.P;
    const std::string element = name(P.element), result = "= " + listed(row_.P, ",  "),
                      e = row_.storage.P_factor == 1 ? "e_j" : number(row_.storage.P_factor) + "·e_j";
    if (P.granularity == Granularity::block)
      return {"P_j = s_p·" + element + "(" + e + " / s_p)",
              "= " + some(of_keys(row_.storage.P_scales), true, 2) + "·" + some(of_keys(row_.storage.P_elements)), result};
    return {"P_j = " + element + "(" + e + ")", "= " + element + "(" + listing(made_of_keys(Step::P, true), ",  ") + ")",
            result};
  }

  std::vector<std::string> finish() const {
    const StepStorage& stored = row_.storage;
    const std::string result = "= " + vector(step_.state.O);
    const bool scaled = !stored.O_factor.empty() || !stored.O_offset.empty() || stored.P_factor != 1;
    if (!divides_at_the_end() && !scaled) return {"O, rounded a last time", "from " + vector(before_.O), result};
    std::string letters = "O", numbers = "= " + vector(before_.O);
    const auto add = [&](const std::string& letter, const std::string& with_numbers) {
      letters += letter;
      numbers += with_numbers;
    };
    if (divides_at_the_end()) add(" / l", " / " + number(before_.l));
    const std::string factor = number(stored.P_factor);
    if (!stored.O_factor.empty()) {
      std::vector<double> factors = stored.O_factor;
      for (double& x : factors) x /= stored.P_factor;
      const bool same = std::ranges::all_of(factors, [&](double x) { return x == factors.front(); });
      add(stored.P_factor == 1 ? " · s_v" : " · (s_v / " + factor + ")",
          " · " + (same ? number(factors.front()) : vector(factors)));
    } else if (stored.P_factor != 1) {
      add(" / " + factor, " / " + factor);
    }
    if (!stored.O_offset.empty()) add(" + mean(V)", " + " + vector(stored.O_offset));
    return {letters, numbers, result};
  }

  std::vector<std::string> max() const {
    if (flash1())
      return {"m = max(m', m~)", "= max(" + number(before_.m) + ", " + number(measured_from()) + ")",
              "= " + number(step_.state.m)};
    const bool stays = row_.question.algorithm == Algorithm::flash4;
    const std::string formula = stays           ? "m = max(m', S_t) if above m' + τ"
                                : whole_tiles() ? "m = max(m', S_t)"
                                                : "m = max(m, S_j)";
    const double largest = std::max(before_.m, made(Step::m));
    const bool stayed = stays && step_.state.m < largest;
    return {formula, "= max(" + number(before_.m) + ", " + listed(row_.S, ", ") + ")",
            "= " + number(step_.state.m) + (stayed ? ",  which stays below " + number(largest) : "")};
  }

  std::vector<std::string> alpha() const {
    const double old = before(StepKind::max).m;
    const std::string power = exp2() ? "2^(c·(" : "exp(", end = exp2() ? "))" : ")";
    const std::string beta =
        flash1() ? ",  β = " + power + number(measured_from()) + " - " + term(step_.state.m) + end + " = " + number(step_.share)
                 : "";
    if (std::isinf(old)) return {"α: nothing to rescale yet", "the first tile", flash1() ? beta.substr(3) : "l = 0 and O = 0"};
    return {"α = " + power + "m' - m" + end + (flash1() ? ",  β = " + power + "m~ - m" + end : ""),
            "= " + power + number(old) + " - " + term(step_.state.m) + end, "= " + number(step_.alpha) + beta};
  }

  std::vector<std::string> sum() const {
    const std::string result = "= " + number(step_.state.l);
    if (!whole_tiles()) {
      return {"l = l + " + weight("m"), "= " + number(before_.l) + " + " + exponents().substr(2), result};
    }
    const std::string shrunk = number(step_.alpha) + "·" + number(before_.l) + " + ";
    const std::string summed = stores_P() ? "Σ e" : "Σ P";
    if (flash1())
      return {"l = α·l' + β·" + summed, "= " + shrunk + number(step_.share) + "·" + number(made(Step::tile_sum)), result};
    const std::string exponential = exp2() ? "Σ 2^(c·S_t - c·m)" : "Σ exp(S_t - m)";
    return {"l = α·l + " + (divides_at_the_end() ? summed : exponential), "= " + shrunk + number(made(Step::tile_sum)), result};
  }

  /// P·V of the step's keys.
  std::vector<double> weighted() const {
    const auto d = static_cast<std::size_t>(row_.question.d);
    std::vector<double> sum(d, 0.0);
    for (auto j = static_cast<std::size_t>(step_.keys.first); j < static_cast<std::size_t>(step_.keys.end); ++j)
      for (std::size_t c = 0; c < d; ++c)
        sum[c] += row_.P[j] * (row_.storage.v.empty() ? row_.question.values[j * d + c] : row_.storage.v[j].operands[c]);
    return sum;
  }

  std::vector<std::string> output() const {
    const std::string result = "= " + vector(step_.state.O), earlier = vector(before_.O), added = vector(weighted());
    if (flash1()) {
      const std::string scaled = number(step_.alpha * before(StepKind::sum).l) + "·" + earlier;
      return {"O = (α·l'·O + β·P·V) / l",
              "= (" + scaled + " + " + number(step_.share) + "·" + added + ") / " + number(step_.state.l), result};
    }
    if (divides_at_the_end()) return {"O = α·O + P·V", "= " + number(step_.alpha) + "·" + earlier + " + " + added, result};
    return {whole_tiles() ? "O = O + P·V" : "O = O + P_j·V_j", "= " + earlier + " + " + added, result};
  }

  const Steps& row_;
  std::size_t index_;
  const RowStep& step_;
  const RowState& before_;
};

}  // namespace

std::vector<std::string> step_formula(const Steps& row, int index) { return StepContext(row, index).lines(); }

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

}  // namespace attoscope::ui
