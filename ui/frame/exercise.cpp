// An exercise from the lines of its block.
#include "ui/frame/exercise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/experiment/text.h"
#include "kernels/questions/backward_row.h"

namespace attoscope::ui {
namespace {

constexpr std::size_t most_blanks = 4, most_mistakes = 8, most_formats = 8;

[[noreturn]] void refuse(std::string_view key, std::string_view value, const std::string& expected) {
  if (value.empty()) throw std::invalid_argument(std::string(key) + " is missing, expected " + expected);
  throw std::invalid_argument(std::string(key) + " is " + in_quotes(value) + ", expected " + expected);
}

std::vector<double> numbers_of(const LessonView& view, std::string_view key) {
  std::vector<double> numbers;
  for (const std::string& word : listed_words(written(view, key))) {
    const std::optional<double> x = to_number<double>(word);
    if (!x || !(std::fabs(*x) <= max_step_score)) refuse(key, written(view, key), "numbers of at most 1000000 in magnitude");
    numbers.push_back(*x);
  }
  return numbers;
}

/// The row of scores with the lesson's method; without `values` they are 1/N .. 1. Throws std::invalid_argument.
StepQuestion row_of(const LessonView& view, std::size_t fewest, std::size_t most) {
  StepQuestion q{.scores = numbers_of(view, "scores"),
                 .values = numbers_of(view, "values"),
                 .algorithm = view.experiment.a.algorithm,
                 .block_k = written(view, "block_k").empty() ? 1 : view.experiment.a.block_k,
                 .format = view.experiment.format,
                 .precision = view.experiment.a.precision};
  const std::size_t n = q.scores.size();
  if (n < fewest || n > most)
    refuse("scores", written(view, "scores"), std::to_string(fewest) + " to " + std::to_string(most) + " numbers");
  if (q.values.empty())
    for (std::size_t j = 0; j < n; ++j) q.values.push_back(static_cast<double>(j + 1) / static_cast<double>(n));
  if (q.values.size() != n) refuse("values", written(view, "values"), "as many numbers as there are scores");
  step_experiment(q);  // throws if the row cannot be run
  return q;
}

// --- the places of blanks, from runs in double with nothing rounded --------------------------------------------------

/// A row that no lesson shows, to reject expressions that fit a lesson's row by chance. Two scores are equal.
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

/// The row, then `other_row`, each with the prefix of its places.
std::array<std::pair<StepQuestion, std::string>, 2> both(const StepQuestion& row) {
  const StepQuestion other = other_row(row.algorithm);
  return {{{in_double(row, 0, row.scores.size()), ""}, {in_double(other, 0, other.scores.size()), "another row, "}}};
}

/// m, l and O after the keys [first, end) of a row.
RowState state_of(const StepQuestion& row, std::size_t first, std::size_t end) {
  if (first == end) return {-std::numeric_limits<double>::infinity(), 0, {0}};
  const Steps run = steps(in_double(row, first, end));
  return run.steps[run.steps.size() - 2].state;  // before the output is divided
}

/// Names that have a value after the lines run so far, in the order of their first assignment.
struct Known {
  std::vector<std::string> names;
  std::vector<double> values;

  double& operator[](const std::string& name) {
    const std::ptrdiff_t place = std::ranges::find(names, name) - names.begin();
    if (place == std::ssize(names)) {
      names.push_back(name);
      values.push_back(0);
    }
    return values[static_cast<std::size_t>(place)];
  }
};

/// Names of S, V and P in the code: for one key, or for a tile.
struct Letters {
  bool has_tiles, keeps_old_l;
  std::string S() const { return has_tiles ? "S_t" : "S_j"; }
  std::string V() const { return has_tiles ? "V_t" : "V_j"; }
  std::string P() const { return has_tiles ? "P" : "P_j"; }
};

/// Sets the inputs of a step's line, before it runs.
void learn_before(Known& known, const Letters& letters, const Steps& row, std::size_t i) {
  const RowStep& step = row.steps[i];
  if (step.keys.end > step.keys.first) {
    const auto j = static_cast<std::size_t>(step.keys.first);
    known[letters.S()] = row.S[j];
    known[letters.V()] = row.question.values[j];
  }
  if (i == 0) return;
  if (step.kind == StepKind::max && letters.has_tiles) known["m'"] = row.steps[i - 1].state.m;
  if (step.kind == StepKind::sum && letters.keeps_old_l) known["l'"] = row.steps[i - 1].state.l;
}

/// Sets the variables that a step's line assigned.
void learn_after(Known& known, const Letters& letters, const Steps& row, const RowStep& step) {
  const auto j = static_cast<std::size_t>(std::max(0, step.keys.first));
  if (step.kind == StepKind::tile_max) known["m~"] = row.S[j];
  if (step.kind == StepKind::weights || step.kind == StepKind::normalise) known[letters.P()] = row.P[j];
  // at the first key the run does not rescale; the code has the factor exp(-∞) = 0
  if (step.kind == StepKind::alpha) known["α"] = std::isinf(known["m'"]) ? 0 : step.alpha;
  if (step.kind == StepKind::alpha && letters.keeps_old_l) known["β"] = step.share;
  known["m"] = step.state.m;
  known["l"] = step.state.l;
  known["O"] = step.state.O[0];
}

/// Adds the executions of the line `kind` of the row's algorithm, one key a tile, for the row and then for `other_row`. Sets
/// the blank's names too.
void add_code_cases(Blank& blank, StepKind kind, const StepQuestion& row) {
  const Letters letters{row.algorithm != Algorithm::three_pass, row.algorithm == Algorithm::flash1};
  for (const auto& [question, where] : both(row)) {
    const Steps run = steps(question);
    Known known;
    for (std::size_t i = 0, count = 0; i < run.steps.size(); ++i) {
      learn_before(known, letters, run, i);
      const bool fills = run.steps[i].kind == kind;
      if (fills) {
        if (blank.names.empty()) blank.names = known.names;
        blank.cases.push_back({.place = fmt::format("{}step {} ({} = {:.4g})", where, ++count, letters.S(), known[letters.S()]),
                               .values = known.values});
      }
      learn_after(known, letters, run, run.steps[i]);
      if (fills) blank.cases.back().right = known[blank.target];
    }
  }
}

/// Adds cases for the row, then for `other_row`. Without `merges`, one a key: score s and value v update m_old, l_old, o_old to
/// m, l, o. With `merges`, one a split of the keys: (m1, l1, o1) and (m2, l2, o2) are merged into (m, l, o).
void add_equation_cases(Blank& blank, StepQuestion row, bool merges) {
  const std::vector<std::string> parts{"m1", "l1", "o1", "m2", "l2", "o2"}, one_key{"s", "v", "m_old", "l_old", "o_old"};
  blank.names = merges ? parts : one_key;
  if (blank.target != "m") blank.names.emplace_back("m");
  row.algorithm = Algorithm::flash2;
  for (const auto& [question, where] : both(row)) {
    const std::size_t n = question.scores.size();
    const RowState all = state_of(question, 0, n);
    for (std::size_t j = merges ? 1 : 0; j < n; ++j) {
      const RowState read = state_of(question, 0, j), whole = merges ? all : state_of(question, 0, j + 1),
                     rest = merges ? state_of(question, j, n) : RowState{};
      const double s = question.scores[j], v = question.values[j];
      blank.cases.push_back(
          {.place = where + (merges ? fmt::format("the split after key {}", j) : fmt::format("step {} (s = {:.4g})", j + 1, s)),
           .values = merges ? std::vector{read.m, read.l, read.O[0], rest.m, rest.l, rest.O[0], whole.m}
                            : std::vector{s, v, read.m, read.l, read.O[0], whole.m},
           .right = blank.target == "m"   ? whole.m
                    : blank.target == "l" ? whole.l
                                          : whole.O[0]});
    }
  }
}

/// The numbers of a query's backward pass at a key. The first `given_names` are inputs; each later one is computed from
/// earlier ones.
struct BackwardName {
  std::string_view name;
  double (*at)(const BackwardRowQuestion& question, const BackwardRow& row, std::size_t key);
};
constexpr std::size_t given_names = 11;
constexpr std::array<BackwardName, 18> backward_names{{
    {"s", [](const auto& x, const auto&, std::size_t j) { return x.scores[j]; }},
    {"v", [](const auto& x, const auto&, std::size_t j) { return x.values[j]; }},
    {"k", [](const auto&, const auto& row, std::size_t j) { return row.k[j]; }},
    {"q", [](const auto& x, const auto&, std::size_t) { return x.q; }},
    {"scale", [](const auto& x, const auto&, std::size_t) { return x.scale; }},
    {"m", [](const auto&, const auto& row, std::size_t) { return row.m; }},
    {"l", [](const auto&, const auto& row, std::size_t) { return row.l; }},
    {"L", [](const auto&, const auto& row, std::size_t) { return row.L; }},
    {"o", [](const auto&, const auto& row, std::size_t) { return row.o; }},
    {"dO", [](const auto& x, const auto&, std::size_t) { return x.d_o; }},
    {"dQ_old", [](const auto&, const auto& row, std::size_t j) { return j == 0 ? 0 : row.dQ[j - 1]; }},
    {"P", [](const auto&, const auto& row, std::size_t j) { return row.P[j]; }},
    {"dV", [](const auto&, const auto& row, std::size_t j) { return row.dV[j]; }},
    {"dP", [](const auto&, const auto& row, std::size_t j) { return row.dP[j]; }},
    {"delta", [](const auto&, const auto& row, std::size_t) { return row.delta; }},
    {"dS", [](const auto&, const auto& row, std::size_t j) { return row.dS[j]; }},
    {"dQ", [](const auto&, const auto& row, std::size_t j) { return row.dQ[j]; }},
    {"dK", [](const auto&, const auto& row, std::size_t j) { return row.dK[j]; }},
}};

/// The number that a blank of the backward pass leaves out. Throws std::invalid_argument.
const BackwardName& backward_target(std::string_view target) {
  const auto* const found =
      std::ranges::find(backward_names.begin() + given_names, backward_names.end(), target, &BackwardName::name);
  if (found == backward_names.end()) refuse("blank", target, "P, dV, dP, delta, dS, dQ or dK before =");
  return *found;
}

/// Adds the keys of the row, then of `other_row`; the two have different q, scale and dO.
void add_backward_cases(Blank& blank, const StepQuestion& row) {
  const BackwardName& target = backward_target(blank.target);
  for (const BackwardName* n = backward_names.data(); n != &target; ++n) blank.names.emplace_back(n->name);
  for (const auto& [question, where] : both(row)) {
    const bool is_first = where.empty();
    const BackwardRowQuestion x{.scores = question.scores,
                                .values = question.values,
                                .q = is_first ? 4.0 : -2.0,
                                .scale = is_first ? 0.5 : 0.25,
                                .d_o = is_first ? 1.5 : -0.75};
    const BackwardRow run = backward_row(x);
    for (std::size_t j = 0; j < run.k.size(); ++j) {
      blank.cases.push_back({.place = fmt::format("{}key {} (s = {:.4g})", where, j + 1, x.scores[j]),
                             .values = {},
                             .right = target.at(x, run, j)});
      for (const BackwardName* n = backward_names.data(); n != &target; ++n)
        blank.cases.back().values.push_back(n->at(x, run, j));
    }
  }
}

// --- blanks -----------------------------------------------------------------------------------------------------------

/// A line of code that assigns a name.
struct Statement {
  std::size_t line = 0, first = 0, size = 0;  ///< line of the code; the right-hand side in its text
  StepKind kind{};
};
std::optional<Statement> statement_of(const std::vector<CodeLine>& code, const std::string& target) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::string& text = code[i].text;
    const std::size_t at = text.find(" " + target + " = ");
    if (!code[i].kind || *code[i].kind == StepKind::start || at == std::string::npos) continue;
    const std::size_t first = at + target.size() + 4;
    return Statement{i, first, std::min(text.find(';', first), text.size()) - first, *code[i].kind};
  }
  return std::nullopt;
}

/// The algorithm's lines for one key a tile: without the sums over a tile.
std::vector<CodeLine> one_key_code(Algorithm algorithm) {
  constexpr std::string_view sum = "Σ ";
  std::vector<CodeLine> code = pseudo_code(algorithm);
  for (CodeLine& line : code)
    if (const std::size_t at = line.text.find(sum); at != std::string::npos) line.text.erase(at, sum.size());
  return code;
}

Blank code_blank(Exercise& x, const std::vector<CodeLine>& code, const std::string& target) {
  const std::optional<Statement> s = statement_of(code, target);
  if (!s) refuse("blank", target, "a name that the code of " + std::string(name(x.row.algorithm)) + " gives a value");
  ExerciseLine& line = x.lines[s->line];
  if (line.blank >= 0) refuse("blank", target, "one blank in a line");
  line = {code[s->line].text.substr(0, s->first), code[s->line].text.substr(s->first + s->size),
          static_cast<int>(x.blanks.size())};
  Blank blank{.target = target, .solution = code[s->line].text.substr(s->first, s->size), .of_right = "the code"};
  add_code_cases(blank, s->kind, x.row);
  return blank;
}

/// Blank of an equation, such as "l = exp(m_old - m) * l_old + exp(s - m)", `of` a recurrence, a merge or a backward pass.
Blank equation_blank(Exercise& x, std::string_view text, std::string_view of) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse("blank", text, "a name, = and a right expression");
  Blank blank{.target = std::string(trimmed(text.substr(0, equals))),
              .solution = std::string(trimmed(text.substr(equals + 1))),
              .of_right = of == "merge"      ? "the whole row"
                          : of == "backward" ? "the backward pass"
                                             : "the recurrence"};
  x.lines.push_back({blank.target + " = ", "", static_cast<int>(x.blanks.size())});
  if (of == "backward") {
    add_backward_cases(blank, x.row);
    return blank;
  }
  if (blank.target != "m" && blank.target != "l" && blank.target != "o") refuse("blank", blank.target, "m, l or o before =");
  add_equation_cases(blank, x.row, of == "merge");
  return blank;
}

/// Throws unless the blank's solution is right, and each mistake is wrong and shows its sentence.
void check(const Blank& blank) {
  if (const AnswerVerdict v = judge_blank(blank, blank.solution); !v.right)
    throw std::invalid_argument("the solution of " + in_quotes(blank.target) + " is not right: " + v.sentence);
  for (const Mistake& m : blank.mistakes)
    if (const AnswerVerdict v = judge_blank(blank, m.expression); v.right || !v.sentence.ends_with(m.sentence))
      throw std::invalid_argument("mistake " + in_quotes(m.expression) +
                                  (v.right ? " is right" : " does not show its sentence: " + v.sentence));
}

void take_mistake(Exercise& x, std::string_view text) {
  const std::size_t bar = text.find('|');
  if (bar == std::string_view::npos || x.blanks.empty() || x.blanks.back().mistakes.size() == most_mistakes)
    refuse("mistake", text, "a blank before it, then an expression, | and a sentence, at most 8 for each blank");
  x.blanks.back().mistakes.push_back({std::string(trimmed(text.substr(0, bar))), std::string(trimmed(text.substr(bar + 1)))});
}

void take_blanks(Exercise& x, const LessonView& view) {
  x.row = row_of(view, 2, max_step_scores);
  const std::string_view of = written(view, "of");
  if (of != "code" && of != "recurrence" && of != "merge" && of != "backward")
    refuse("of", of, "code, recurrence, merge or backward");
  x.is_code = of == "code";
  const std::vector<CodeLine> code = x.is_code ? one_key_code(x.row.algorithm) : std::vector<CodeLine>{};
  for (const CodeLine& line : code) x.lines.push_back({line.text});
  for (const LessonParameter& p : view.parameters) {
    if (p.key == "mistake") take_mistake(x, p.value);
    if (p.key != "blank") continue;
    if (x.blanks.size() == most_blanks) refuse("blank", p.value, "at most 4 blanks");
    Blank blank = x.is_code ? code_blank(x, code, p.value) : equation_blank(x, p.value, of);
    x.blanks.push_back(std::move(blank));
  }
  if (x.blanks.empty()) refuse("blank", "", "the name whose right-hand side is left out");
  for (const Blank& blank : x.blanks) check(blank);
}

// --- the others -------------------------------------------------------------------------------------------------------

void take_order(Exercise& x, const LessonView& view) {
  x.row = row_of(view, 3, most_ordered_keys);
  std::string_view share = written(view, "tolerance");
  if (share.empty()) share = "5%";
  const std::optional<double> percent =
      share.ends_with('%') ? to_number<double>(share.substr(0, share.size() - 1)) : std::nullopt;
  if (!percent || !(*percent >= 0 && *percent <= 100)) refuse("tolerance", share, "a share such as 5%");
  x.tolerance = *percent / 100;
}

void take_formats(Exercise& x, const LessonView& view) {
  x.row = row_of(view, 2, max_step_scores);
  for (const std::string& word : listed_words(written(view, "formats"))) x.formats.push_back(parse_format(word));
  if (x.formats.size() < 2 || x.formats.size() > most_formats) refuse("formats", written(view, "formats"), "2 to 8 formats");
  if (least_formats(x).empty()) refuse("formats", written(view, "formats"), "a format that loses no number");
}

}  // namespace

Exercise exercise_of(const LessonView& view) {
  Exercise x;
  x.question = written(view, "question");
  x.explanation = written(view, "explanation");
  if (x.question.empty()) refuse("question", "", "a sentence");
  const std::string_view kind = written(view, "kind");
  if (kind == "blanks") {
    take_blanks(x, view);
  } else if (kind == "order") {
    x.kind = ExerciseKind::order;
    take_order(x, view);
  } else if (kind == "format") {
    x.kind = ExerciseKind::format;
    take_formats(x, view);
  } else {
    refuse("kind", kind, "blanks, order or format");
  }
  return x;
}

}  // namespace attoscope::ui
