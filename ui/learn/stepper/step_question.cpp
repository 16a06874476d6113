// The questions of a stepper, from the lesson's parameters and the reader's changes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/inputs.h"
#include "kernels/experiment/accumulators.h"
#include "ui/learn/stepper/stepper.h"
#include "ui/learn/views/view_parts.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr std::string_view scores_expected = "1 to 64 numbers, random:COUNT:SEED, ascending:COUNT, descending:COUNT or pinned";
/// The difference of the highest and the lowest of ordered scores.
constexpr double ordered_range = 6;

/// x with two digits after the point: short to read and to type.
double readable(double x) { return std::round(x * 100) / 100; }

std::vector<double> random_scores(int count, std::uint64_t seed) {
  Problem p;
  p.seed = seed;
  p.n = count;
  p.d = 1;
  std::vector<double> scores = raw_inputs(p)->q;
  for (double& s : scores) s = readable(2 * s);
  return scores;
}

std::vector<double> ordered_scores(int count, bool ascending) {
  std::vector<double> scores;
  for (int j = 0; j < count; ++j) scores.push_back(readable(ordered_range * j / std::max(1, count - 1)));
  if (!ascending) std::ranges::reverse(scores);
  return scores;
}

std::vector<double> listed_scores(const std::string& text) {
  std::vector<double> scores;
  for (const std::string& word : listed_words(text)) {
    const std::optional<double> x = real_of(word);
    if (!x || !(std::fabs(*x) <= max_step_score)) return {};
    scores.push_back(*x);
  }
  return scores.size() <= max_step_scores ? scores : std::vector<double>{};
}

/// The scores of the scene, computed again if its text or the traced row changed.
const std::vector<double>& wanted_scores(const LessonScene& scene, RecurrenceViewState& state, std::string& problem) {
  const std::string text = scores_text(scene);
  if (text != state.scores_text || scene.input.answer.result != state.scores_result || state.scores.empty()) {
    state.scores = scores_of(text, scene.input.answer.result.get(), problem);
    state.scores_text = text;
    state.scores_result = scene.input.answer.result;
  }
  return state.scores;
}

/// The second column of V: the lesson's list if it has one number for each score, else from 1/N up to 1.
std::vector<double> wanted_values(const LessonScene& scene, std::size_t count, std::string& problem) {
  const std::string text = value_of(scene, "values");
  std::vector<double> values = listed_scores(text);
  if (!text.empty() && values.empty()) problem = refusal("values", text, "1 to 64 numbers");
  if (values.size() == count) return values;
  values.clear();
  for (std::size_t j = 0; j < count; ++j) values.push_back(static_cast<double>(j + 1) / static_cast<double>(count));
  return values;
}

/// The method whose scales are stepped: the view's own; else, if the scores are of the traced row, that row's method. Null: no
/// scales.
const Method* scaled_method(const LessonScene& scene) {
  if (scene.experiment.a.scaling.any()) return &scene.experiment.a;
  const auto& result = scene.input.answer.result;
  const bool of_row = scores_text(scene) == "pinned" && result && result->experiment.a.scaling.any();
  return of_row && is_emulated(result->experiment.a.algorithm) ? &result->experiment.a : nullptr;
}

/// The rows of Q and K of the scores, if they are known.
StepRows wanted_rows(const LessonScene& scene) {
  if (scores_text(scene) != "pinned") return {};
  const Result& result = *scene.input.answer.result;
  const Problem& p = result.experiment.problem;
  return p.softcap == 0 && p.alibi == 0 ? step_rows(result, result.trace.row, max_step_scores) : StepRows{};
}

}  // namespace

std::string scores_text(const LessonScene& scene) {
  return value_of(scene, "scores", fmt::format("random:{}:1", usual_scores));
}

std::vector<double> scores_of(const std::string& text, const Result* result, std::string& problem) {
  if (text == "pinned") {
    if (!result || !result->inputs) problem = "No row is traced yet, so there are no scores to show.";
    return problem.empty() ? scores_of_row(*result, result->trace.row, max_step_scores) : std::vector<double>{};
  }
  const std::vector<std::string_view> parts = split(text, ":");
  std::vector<double> scores;
  if (parts.size() == 1) {
    scores = listed_scores(text);
  } else if (const int count = to_number<int>(parts[1]).value_or(0); count >= 1 && count <= max_step_scores) {
    const int seed = parts.size() == 3 ? to_number<int>(parts[2]).value_or(-1) : -1;
    if (parts[0] == "random" && seed >= 0 && seed <= max_step_seed)
      scores = random_scores(count, static_cast<std::uint64_t>(seed));
    const bool ordered = parts[0] == "ascending" || parts[0] == "descending";
    if (ordered && parts.size() == 2) scores = ordered_scores(count, parts[0] == "ascending");
  }
  if (scores.empty()) problem = refusal("scores", text, scores_expected);
  return scores;
}

std::string typed(const std::vector<double>& scores) {
  std::string text;
  for (const double s : scores) (text += text.empty() ? "" : " ") += in_full(s);
  return text;
}

std::string why_no_scales(const StepQuestion& q, Algorithm algorithm) {
  const Method m{.algorithm = algorithm, .scaling = q.scaling, .precision = q.precision};
  return why_not_scaled(m, Problem{.d = std::max(q.d, q.rows.d)});
}

std::vector<StepQuestion> step_questions(const LessonScene& scene, RecurrenceViewState& state, std::string& problem) {
  const std::vector<double>& scores = wanted_scores(scene, state, problem);
  const std::vector<std::string> words = list_of(scene, "algorithms", "flash2");
  if (problem.empty() && words.empty())
    problem = refusal("algorithms", value_of(scene, "algorithms"), "one to five of " + stepped_text());
  if (problem.empty()) problem = unknown_word("algorithms", words, stepped_names);
  if (!problem.empty()) return {};
  StepQuestion q;
  q.scores = scores;
  q.d = 2;
  q.format = scene.experiment.format;
  q.block_k = scene.experiment.a.block_k;
  q.precision = scene.experiment.a.precision;
  q.pv = scene.experiment.a.accumulator.pv;
  problem = why_no_accumulator(scene.experiment, scene.experiment.a, AttentionProduct::pv, q.pv);
  if (const Method* scaled = scaled_method(scene)) {
    q = with_scales_of(std::move(q), *scaled);
    q.rows = wanted_rows(scene);
  }
  state.has_lazy_max = q.scaling.any() && scaled_method(scene)->algorithm == Algorithm::flash4;
  if (value_of(scene, "block_k").empty()) q.block_k = usual_step_tile;
  const std::vector<double> values = wanted_values(scene, scores.size(), problem);
  if (!problem.empty()) return {};
  for (const double v : values) {
    q.values.push_back(1);
    q.values.push_back(v);
  }
  std::vector<StepQuestion> questions;
  for (const Algorithm algorithm : stepped_algorithms) {
    q.algorithm = algorithm;
    if (std::ranges::find(words, name(algorithm)) == words.end()) continue;
    // scales of the traced row leave out algorithms that cannot have them; a lesson's own scales are refused with a sentence
    if (scene.experiment.a.scaling.any() || why_no_scales(q, q.algorithm).empty()) questions.push_back(q);
  }
  q.algorithm = Algorithm::flash2;
  if (questions.empty()) questions.push_back(q);
  return questions;
}

StepClock step_clock(const std::vector<Steps>& rows) {
  StepClock clock;
  if (rows.empty()) return clock;
  std::vector<std::size_t> next(rows.size(), 0);  // first step of each row that is not on the clock
  const auto left = [&](std::size_t a) { return next[a] < rows[a].steps.size(); };
  std::vector<int> at(rows.size(), 0);
  for (;;) {
    int reads = -1;  // reads of the next group of steps
    for (std::size_t a = 0; a < rows.size(); ++a)
      if (left(a) && (reads < 0 || rows[a].steps[next[a]].reads < reads)) reads = rows[a].steps[next[a]].reads;
    if (reads < 0) return clock;
    for (bool any = true; any;) {
      any = false;
      for (std::size_t a = 0; a < rows.size(); ++a) {
        if (!left(a) || rows[a].steps[next[a]].reads != reads) continue;
        at[a] = static_cast<int>(next[a]++);
        any = true;
      }
      if (any) clock.push_back(at);
    }
  }
}

}  // namespace attoscope::ui
