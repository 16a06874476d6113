// An exercise from the lines of its block.
#include "ui/frame/exercise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "kernels/experiment/text.h"
#include "ui/frame/exercise_cases.h"
#include "ui/frame/pseudo_code.h"

namespace attoscope {
namespace {

constexpr std::size_t most_blanks = 4, most_mistakes = 8, most_formats = 8;

[[noreturn]] void refuse(std::string_view key, std::string_view value, const std::string& expected) {
  if (value.empty()) throw std::invalid_argument(std::string(key) + " is missing, expected " + expected);
  throw std::invalid_argument(std::string(key) + " is " + in_quotes(value) + ", expected " + expected);
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Words separated by blanks and commas.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c != ' ' && c != ',')
      words.back().push_back(c);
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::vector<double> numbers_of(const LessonView& view, std::string_view key) {
  std::vector<double> numbers;
  for (const std::string& word : words_of(written(view, key))) {
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

/// The algorithm's lines with one key a tile: without signs of sums over a tile.
std::vector<CodeLine> code_of(Algorithm algorithm) {
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
  Blank blank{.target = target, .solution = code[s->line].text.substr(s->first, s->size), .truth = "the code"};
  add_code_cases(blank, s->kind, x.row);
  return blank;
}

/// Blank of an equation, such as "l = exp(m_old - m) * l_old + exp(s - m)".
Blank equation_blank(Exercise& x, std::string_view text, bool merges) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse("blank", text, "a name, = and a right expression");
  Blank blank{.target = std::string(without_blanks(text.substr(0, equals))),
              .solution = std::string(without_blanks(text.substr(equals + 1))),
              .truth = merges ? "the whole row" : "the recurrence"};
  if (blank.target != "m" && blank.target != "l" && blank.target != "o") refuse("blank", blank.target, "m, l or o before =");
  x.lines.push_back({blank.target + " = ", "", static_cast<int>(x.blanks.size())});
  merges ? add_merge_cases(blank, x.row) : add_recurrence_cases(blank, x.row);
  return blank;
}

/// Throws unless the blank's solution is right and each of its mistakes is found with its sentence.
void check(const Blank& blank) {
  if (const AnswerVerdict v = judge_blank(blank, blank.solution); !v.right)
    throw std::invalid_argument("the solution of " + in_quotes(blank.target) + " is not right: " + v.sentence);
  for (const Mistake& m : blank.mistakes)
    if (const AnswerVerdict v = judge_blank(blank, m.expression); v.right || !v.sentence.ends_with(m.sentence))
      throw std::invalid_argument("mistake " + in_quotes(m.expression) +
                                  (v.right ? " is right" : " is not told: " + v.sentence));
}

void take_mistake(Exercise& x, std::string_view text) {
  const std::size_t bar = text.find('|');
  if (bar == std::string_view::npos || x.blanks.empty() || x.blanks.back().mistakes.size() == most_mistakes)
    refuse("mistake", text, "a blank before it, then an expression, | and a sentence, at most 8 for each blank");
  x.blanks.back().mistakes.push_back(
      {std::string(without_blanks(text.substr(0, bar))), std::string(without_blanks(text.substr(bar + 1)))});
}

void take_blanks(Exercise& x, const LessonView& view) {
  x.row = row_of(view, 2, max_step_scores);
  const std::string_view of = written(view, "of");
  if (of != "code" && of != "recurrence" && of != "merge") refuse("of", of, "code, recurrence or merge");
  x.is_code = of == "code";
  const std::vector<CodeLine> code = x.is_code ? code_of(x.row.algorithm) : std::vector<CodeLine>{};
  for (const CodeLine& line : code) x.lines.push_back({line.text});
  for (const LessonParameter& p : view.parameters) {
    if (p.key == "mistake") take_mistake(x, p.value);
    if (p.key != "blank") continue;
    if (x.blanks.size() == most_blanks) refuse("blank", p.value, "at most 4 blanks");
    Blank blank = x.is_code ? code_blank(x, code, p.value) : equation_blank(x, p.value, of == "merge");
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
  for (const std::string& word : words_of(written(view, "formats"))) x.formats.push_back(parse_format(word));
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

}  // namespace attoscope
