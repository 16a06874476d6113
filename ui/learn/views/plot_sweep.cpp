// A measure along one or two parameters, drawn as the Sweep workspace draws it.
#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "kernels/train/plan/plan.h"
#include "ui/learn/views/view_parts.h"
#include "ui/sweep/panels.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// A plan with a logarithmic x axis if the numbers grow by a factor rather than by a step, and a logarithmic y axis if all
/// means are positive and far apart.
SweepPlan axes_of(const SweepTable& table) {
  const SweepExtremes e = extremes(table);
  const std::vector<double>& x = table.axes[0].numbers;
  SweepPlan plan;
  plan.log_x = x.size() > 2 && x.front() > 0 && x.back() >= 8 * x.front() && x[1] - x[0] < 0.9 * (x.back() - x[x.size() - 2]);
  plan.log_y = e.known > 0 && table.cells[e.least].mean > 0 && table.cells[e.largest].mean > 8 * table.cells[e.least].mean;
  return plan;
}

/// A sentence with the least and the greatest mean in three digits, from 0.01 to 9999 without an exponent, and their places.
std::string summary(const SweepTable& t, const SweepExtremes& e) {
  if (e.known == 0) return "No point has a finite value: every number is NaN or infinite.";
  const auto where = [&](std::size_t cell) {
    const std::string second = t.axes.size() > 1 ? ", " + t.axes[1].key + " " + t.axes[1].names[cell % t.across()] : "";
    const double mean = t.cells[cell].mean;
    const std::string number =
        std::abs(mean) >= 0.01 && std::abs(mean) < 9999.5 ? fmt::format("{:.3g}", mean) : scientific(mean);
    return number + " at " + t.axes[0].key + " " + t.axes[0].names[cell / t.across()] + second;
  };
  std::string text = "least " + where(e.least) + ", greatest " + where(e.largest);
  if (e.known < t.cells.size())
    text += "; " + counted(t.cells.size() - e.known, "point is not finite", "points are not finite");
  return text + (t.seeds > 1 ? fmt::format("; {} seeds, ± standard deviation", t.seeds) : "");
}

/// True for a measure that the Sweep workspace lacks: of a training, of tensor cores' sums, of a language model.
bool is_only_of_lessons(std::string_view measure) {
  return measure.starts_with("train.") || measure.starts_with("sum.") || measure.starts_with("model.");
}

/// A session with this sweep, or with the training of the plan `spike`.
Session session_of(const LessonScene& scene, const LessonQuestion& question, const SweepTable& table) {
  Session s;
  s.experiment = scene.experiment;
  s.sweep = axes_of(table);
  s.sweep.seeds = question.seeds;
  s.sweep.measure = question.measure;
  for (const auto& [varied, place] : {std::pair{&s.sweep.first, 0u}, {&s.sweep.second, 1u}}) {
    *varied = {};
    if (place >= question.vary.size()) continue;
    const std::string& text = question.vary[place];
    const std::size_t equals = std::min(text.find('='), text.size() - 1);
    *varied = {text.substr(0, equals), text.substr(equals + 1)};
  }
  if (question.vary.empty()) {
    s.train = named_plan("spike");
    s.train.recipe.seed = s.train.recipe.data_seed = scene.experiment.problem.seed;
  }
  return s;
}

void draw_picture(const LessonScene& scene, SweepState& state, float height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  Session none;  // lines do not use it
  state.pointed = std::exchange(state.pointing, std::nullopt);
  draw_sweep_lines({none, scene.input, state, scene.requests, false}, {at, {at.x + scene.width, at.y + height}});
  take_room(at, {scene.width, height});
}

/// Draws the answer to a question as curves, or as marks beside names.
void draw_answer(LessonScene& scene, const LessonQuestion& question, float height) {
  const LessonAnswerPtr answer = ask(scene, question);
  if (!answer || !answer->problem.empty() || answer->table.axes.empty() || answer->table.cells.empty()) {
    draw_instead({scene.width, height}, !answer ? "computing" : answer->problem.empty() ? "no answer" : answer->problem);
    return;
  }
  auto& state = own_state<SweepState>(scene);
  const SweepDrawing& d = state.drawing;
  refresh(state.drawing, {answer, &answer->table}, axes_of(answer->table));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const std::string sentence = summary(*d.table, d.extremes);
  draw_view_summary(scene, sentence);
  const std::string second = d.table->axes.size() > 1 ? ", for each " + d.table->axes[1].title : "";
  draw_plot_header(scene, measure_title(*d.table), "over " + d.table->axes[0].title + second);
  if (const SweepTable& t = *d.table; has_categories(t)) {  // a line for each name, the axis below, names of curves above
    const float line = std::max(px(28), px(9) * static_cast<float>(t.across()) + px(8));
    height = line * static_cast<float>(t.axes[0].names.size()) + px(36) + (t.axes.size() > 1 ? px(20) : 0);
  }
  const ImVec2 at = ImGui::GetCursorScreenPos();
  d.extremes.known == 0 ? draw_instead({scene.width, height}, sentence) : draw_picture(scene, state, height);
  const bool trains = question.vary.empty();
  if (!trains && is_only_of_lessons(question.measure))
    offer_own_figure(scene, at, {at.x + scene.width, at.y + height});
  else
    offer_figure(scene, trains ? Plot::train_runs : Plot::sweep, "sweep", at, {at.x + scene.width, at.y + height},
                 [&] { return session_of(scene, question, answer->table); });
  if (!(answer->question == question))
    ImGui::GetWindowDrawList()->AddRectFilled(from, {from.x + scene.width, ImGui::GetCursorScreenPos().y},
                                              faded(colours().panel, 0.35f));
}

}  // namespace

std::string draw_losses_plot(LessonScene& scene, float height) {
  draw_answer(scene, {.experiment = scene.experiment, .measure = "train.spike.losses"}, height);
  return "";
}

LessonQuestion sweep_question(const LessonScene& scene, std::string& problem) {
  LessonQuestion question{.experiment = scene.experiment, .measure = value_of(scene, "measure", "a.mean_abs")};
  question.seeds = whole_of(scene, "seeds", 1, 1, 100, problem);
  for (const char* key : {"vary", "vary2"})
    if (const std::string text = value_of(scene, key); !text.empty()) question.vary.push_back(text);
  if (question.vary.empty()) problem = refusal("vary", "", "KEY=VALUES, such as block_k=16:1024:x2 or format=bf16,fp16");
  return question;
}

std::vector<FigurePanel> sweep_panels(const LessonScene& scene, std::string& problem) {
  const LessonQuestion question = sweep_question(scene, problem);
  if (!problem.empty()) return {};
  const LessonAnswerPtr answer = answer_of(scene.input.learn.answers.get(), question);
  problem = !answer ? "its numbers are not computed" : answer->problem;
  if (!problem.empty()) return {};
  const SweepPlan plan = axes_of(answer->table);
  return {sweep_lines(answer->table, {plan.spread, plan.log_x, plan.log_y}).panel};
}

std::string draw_sweep_plot(LessonScene& scene, float height) {
  std::string problem;
  const LessonQuestion question = sweep_question(scene, problem);
  if (!problem.empty()) return problem;
  draw_answer(scene, question, height);
  return "";
}

}  // namespace attoscope::ui
