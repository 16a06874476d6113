#include "ui/frame/exercise_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace attoscope {
namespace {

/// A second row, not in any lesson, which rejects expressions that fit a lesson's row by chance. Two of its scores are equal.
StepQuestion other_row(Algorithm algorithm) {
  return {.scores = {0.7, -1.2, 2.5, 2.5, -0.3, 3.1, 1.9, 4.4},
          .values = {0.3, -1.1, 0.8, 2.2, -0.4, 1.7, 0.6, -0.9},
          .algorithm = algorithm};
}

StepQuestion in_double(StepQuestion q, std::size_t first, std::size_t end) {
  const auto cut = [&](std::vector<double>& x) {
    x = std::vector<double>(x.begin() + static_cast<std::ptrdiff_t>(first), x.begin() + static_cast<std::ptrdiff_t>(end));
  };
  cut(q.scores);
  cut(q.values);
  q.block_k = 1;
  q.format = fp64;
  q.precision = {};
  return q;
}

/// Both rows in double, each with the prefix of its places.
std::array<std::pair<StepQuestion, std::string>, 2> both(const StepQuestion& row) {
  const StepQuestion other = other_row(row.algorithm);
  return {{{in_double(row, 0, row.scores.size()), ""}, {in_double(other, 0, other.scores.size()), "another row, "}}};
}

double part_of(const RowState& state, const std::string& target) {
  return target == "m" ? state.m : target == "l" ? state.l : state.O[0];
}

/// Values of an algorithm's names, in the order of their first assignment.
class Known {
 public:
  void set(std::string_view name, double value) {
    const auto found = std::ranges::find(all_, name, &std::pair<std::string, double>::first);
    if (found == all_.end())
      all_.emplace_back(name, value);
    else
      found->second = value;
  }
  double get(const std::string& name) const {
    return std::ranges::find(all_, name, &std::pair<std::string, double>::first)->second;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : all_) names.push_back(name);
    return names;
  }

 private:
  std::vector<std::pair<std::string, double>> all_;
};

/// Names of the code's variables, for keys or for tiles.
struct Letters {
  bool has_tiles, keeps_old_l;
  std::string S() const { return has_tiles ? "S_t" : "S_j"; }
  std::string V() const { return has_tiles ? "V_t" : "V_j"; }
  std::string P() const { return has_tiles ? "P" : "P_j"; }
};

/// Sets the names that a step's line reads, before the step runs.
void learn_before(Known& known, const Letters& letters, const Steps& row, std::size_t i) {
  const RowStep& step = row.steps[i];
  if (step.keys.end > step.keys.first) {
    const auto j = static_cast<std::size_t>(step.keys.first);
    known.set(letters.S(), row.S[j]);
    known.set(letters.V(), row.question.values[j]);
  }
  if (i == 0) return;
  if (step.kind == StepKind::max && letters.has_tiles) known.set("m'", row.steps[i - 1].state.m);
  if (step.kind == StepKind::sum && letters.keeps_old_l) known.set("l'", row.steps[i - 1].state.l);
}

/// Sets the names that a step assigned.
void learn_after(Known& known, const Letters& letters, const Steps& row, const RowStep& step) {
  const auto j = static_cast<std::size_t>(std::max(0, step.keys.first));
  if (step.kind == StepKind::tile_max) known.set("m~", row.S[j]);
  if (step.kind == StepKind::weights || step.kind == StepKind::normalise) known.set(letters.P(), row.P[j]);
  // at the first key nothing is rescaled: exp(-∞) = 0 in the code
  if (step.kind == StepKind::alpha) known.set("α", std::isinf(known.get("m'")) ? 0 : step.alpha);
  if (step.kind == StepKind::alpha && letters.keeps_old_l) known.set("β", step.share);
  known.set("m", step.state.m);
  known.set("l", step.state.l);
  known.set("O", step.state.O[0]);
}

std::vector<double> values_of(const Known& known, const std::vector<std::string>& names) {
  std::vector<double> values;
  for (const std::string& name : names) values.push_back(known.get(name));
  return values;
}

RowState state_of(const StepQuestion& q) {
  const Steps row = steps(q);
  return row.steps[row.steps.size() - 2].state;  // before the division by l
}

}  // namespace

void add_code_cases(Blank& blank, StepKind kind, const StepQuestion& row) {
  const Letters letters{row.algorithm != Algorithm::three_pass, row.algorithm == Algorithm::flash1};
  for (const auto& [question, where] : both(row)) {
    const Steps run = steps(question);
    Known known;
    for (std::size_t i = 0, count = 0; i < run.steps.size(); ++i) {
      learn_before(known, letters, run, i);
      if (run.steps[i].kind == kind) {
        if (blank.names.empty()) blank.names = known.names();
        blank.cases.push_back(
            {.place = fmt::format("{}step {} ({} = {:.4g})", where, ++count, letters.S(), known.get(letters.S())),
             .values = values_of(known, blank.names)});
      }
      learn_after(known, letters, run, run.steps[i]);
      if (run.steps[i].kind == kind) blank.cases.back().right = known.get(blank.target);
    }
  }
}

void add_recurrence_cases(Blank& blank, const StepQuestion& row) {
  blank.names = {"s", "v", "m_old", "l_old", "o_old"};
  if (blank.target != "m") blank.names.emplace_back("m");
  StepQuestion q = row;
  q.algorithm = Algorithm::flash2;
  for (const auto& [question, where] : both(q)) {
    const Steps run = steps(question);
    RowState old = run.steps[0].state;
    for (std::size_t i = 0, j = 0; i < run.steps.size(); ++i) {
      if (run.steps[i].kind != StepKind::output) continue;
      const RowState& now = run.steps[i].state;
      const double s = question.scores[j], v = question.values[j];
      blank.cases.push_back({.place = fmt::format("{}step {} (s = {:.4g})", where, ++j, s),
                             .values = {s, v, old.m, old.l, old.O[0], now.m},
                             .right = part_of(now, blank.target)});
      old = now;
    }
  }
}

void add_merge_cases(Blank& blank, const StepQuestion& row) {
  blank.names = {"m1", "l1", "o1", "m2", "l2", "o2"};
  if (blank.target != "m") blank.names.emplace_back("m");
  StepQuestion q = row;
  q.algorithm = Algorithm::flash2;
  for (const auto& [question, where] : both(q)) {
    const std::size_t n = question.scores.size();
    const RowState whole = state_of(question);
    for (std::size_t split = 1; split < n; ++split) {
      const RowState one = state_of(in_double(question, 0, split)), two = state_of(in_double(question, split, n));
      blank.cases.push_back({.place = fmt::format("{}the split after key {}", where, split),
                             .values = {one.m, one.l, one.O[0], two.m, two.l, two.O[0], whole.m},
                             .right = part_of(whole, blank.target)});
    }
  }
}

}  // namespace attoscope
