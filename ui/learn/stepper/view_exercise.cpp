// The live view `exercise`: the reader fills blanks, orders keys or chooses a format, and it is run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/frame/exercise.h"
#include "ui/learn/views/view_parts.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

struct ExerciseViewState {
  std::optional<Exercise> exercise;
  std::vector<std::string> typed, shown;  ///< in each blank; shown: the answers that `typed` was filled with
  std::vector<std::string> judged;        ///< the answers that `verdicts` are about
  std::vector<AnswerVerdict> verdicts;    ///< one for each answer; without a sentence where none was given
  OrderedRow row;                         ///< run of the order that is judged
  int chosen = -1;                        ///< the key that the buttons move; -1: none
};

namespace {

std::vector<std::string> answers_of(const LessonScene& scene, std::size_t count) {
  std::vector<std::string> answers;
  for (std::size_t i = 0; i < count; ++i) answers.push_back(value_of(scene, answer_key(i)));
  return answers;
}

void draw_verdict(const LessonScene& scene, const AnswerVerdict& verdict, float width) {
  if (!verdict.sentence.empty()) draw_sentence(verdict.right ? scene.colours.good : scene.colours.bad, verdict.sentence, width);
}

/// Names and signs that the reader may write.
void draw_names(const LessonScene& scene, const std::vector<Blank>& blanks, float width) {
  std::string text;
  for (const Blank& blank : blanks) {
    text += text.empty() ? "" : "; ";
    text += blanks.size() > 1 ? blank.target + " of " : "Of ";
    for (std::size_t i = 0; i < blank.names.size(); ++i)
      text += (i == 0 ? "" : ", ") + blank.names[i] + (blank.names[i] == "α" ? " (or alpha)" : "");
  }
  ImGui::PushStyleColor(ImGuiCol_Text, scene.colours.faint);
  wrapped(Face::label, text + "; with + - * / max exp and parentheses.", width);
  ImGui::PopStyleColor();
  ImGui::Dummy({0, px(2)});
}

// --- blanks -----------------------------------------------------------------------------------------------------------

/// A line of the code or an equation, with its field. True if Enter was pressed there.
bool draw_line(LessonScene& scene, ExerciseViewState& state, const ExerciseLine& line, float width) {
  constexpr float least_field = 96, widest_field = 440, height = control_height + 2;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float text_y = at.y + (px(control_height) - line_height(Face::mono)) / 2;
  draw_text({at.x, text_y}, Face::mono, scene.colours.text, line.before);
  bool entered = false;
  if (line.blank >= 0) {
    const auto i = static_cast<std::size_t>(line.blank);
    const float x = text_width(Face::mono, line.before), after = text_width(Face::mono, line.after),
                field = std::clamp(width - x - after - px(4), px(least_field), px(widest_field));
    ImGui::SetCursorScreenPos({at.x + x, at.y});
    const WithField face(Face::mono);
    ImGui::PushStyleColor(ImGuiCol_FrameBg, scene.colours.panel);
    ImGui::SetNextItemWidth(field);
    entered = ImGui::InputText(fmt::format("##blank {}", i + 1).c_str(), &state.typed[i], ImGuiInputTextFlags_EnterReturnsTrue);
    ImGui::PopStyleColor();
    explain("The right-hand side of " + state.exercise->blanks[i].target + "; Enter runs it at every step of the row.");
    draw_text({at.x + x + field + px(4), text_y}, Face::mono, scene.colours.text, line.after);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, px(height)});
  return entered;
}

void draw_blanks(LessonScene& scene, ExerciseViewState& state, float width) {
  const Exercise& x = *state.exercise;
  const std::vector<std::string> answers = answers_of(scene, x.blanks.size());
  if (state.shown != answers) state.typed = state.shown = answers;
  state.typed.resize(x.blanks.size());
  bool runs = false;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  for (const ExerciseLine& line : x.lines) runs = draw_line(scene, state, line, width) || runs;
  ImGui::Dummy({0, px(6)});
  ImGui::PopStyleVar();
  runs = push_button("Run###run", on_card(scene.colours)) || runs;
  explain(
      "Runs what stands in the fields at every step of the row, and tells the first step where it parts from the right one.");
  for (std::size_t i = 0; runs && i < x.blanks.size(); ++i) change(scene, answer_key(i), state.typed[i]);
  if (state.judged != answers) {
    state.verdicts.assign(answers.size(), {});
    for (std::size_t i = 0; i < answers.size(); ++i)
      if (!answers[i].empty()) state.verdicts[i] = judge_blank(x.blanks[i], answers[i]);
    state.judged = answers;
  }
  draw_names(scene, x.blanks, width);
}

// --- an order ---------------------------------------------------------------------------------------------------------

void move_key(LessonScene& scene, std::vector<int> order, std::size_t from, std::ptrdiff_t by) {
  const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(from) + by;
  if (to < 0 || to >= static_cast<std::ptrdiff_t>(order.size())) return;
  std::swap(order[from], order[static_cast<std::size_t>(to)]);
  change(scene, answer_key(0), order_text(order));
}

/// A key as a button, its value below: a click chooses it, a drag moves it.
void draw_key(LessonScene& scene, ExerciseViewState& state, const std::vector<int>& order, std::size_t place, float size) {
  const int key = order[place];
  const StepQuestion& row = state.exercise->row;
  const double score = row.scores[static_cast<std::size_t>(key)], value = row.values[static_cast<std::size_t>(key)];
  ImGui::BeginGroup();
  if (push_button(fmt::format("{:.4g}###key {}", score, key + 1).c_str(), on_card(scene.colours), key == state.chosen,
                  {size, px(28)}))
    state.chosen = key;
  const float dragged = ImGui::GetMouseDragDelta(0, 0).x;
  if (ImGui::IsItemActive() && std::abs(dragged) > size * 0.6f) {
    state.chosen = key;
    move_key(scene, order, place, dragged < 0 ? -1 : 1);
    ImGui::ResetMouseDragDelta();
  }
  explain(fmt::format("A key of score {:.4g} and value {:.4g}. A click chooses it, a drag moves it.", score, value));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({size, line_height(Face::mono_small)});
  draw_text({at.x + size / 2, at.y - px(4)}, Face::mono_small, scene.colours.secondary, fmt::format("v {:.3g}", value), 0.5f);
  ImGui::EndGroup();
}

/// The keys, the first that is read at the left.
void draw_keys(LessonScene& scene, ExerciseViewState& state, const std::vector<int>& order, float width) {
  const float gap = px(4), count = static_cast<float>(order.size()),
              size = std::floor(std::min(px(64), (width - gap * (count - 1)) / count));
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0) ImGui::SameLine(0, gap);
    draw_key(scene, state, order, i, size);
  }
}

void draw_moves(LessonScene& scene, const ExerciseViewState& state, const std::vector<int>& order) {
  const auto place = static_cast<std::size_t>(std::ranges::find(order, state.chosen) - order.begin());
  for (const auto& [text, what, by] : {std::tuple{"‹ earlier###earlier", "The chosen key is read one place earlier.", -1},
                                       std::tuple{"later ›###later", "The chosen key is read one place later.", 1}}) {
    if (by > 0) ImGui::SameLine(0, px(8));
    if (push_button(text, on_card(scene.colours)) && place < order.size()) move_key(scene, order, place, by);
    explain(what);
  }
}

void draw_order(LessonScene& scene, ExerciseViewState& state, float width) {
  const Exercise& x = *state.exercise;
  const std::size_t keys = x.row.scores.size();
  const std::vector<std::string> answers = answers_of(scene, 1);
  std::vector<int> order = order_of(answers[0], keys);
  const bool answered = !order.empty();
  if (!answered) {
    order.resize(keys);
    std::iota(order.begin(), order.end(), 0);
  }
  draw_keys(scene, state, order, width);
  draw_moves(scene, state, order);
  if (state.row.order != order) state.row = row_in_order(step_experiment(x.row), order);
  const LessonAnswerPtr worst = ask(scene, order_question(x));
  if (!worst) return label(Face::label, scene.colours.faint, "running every order");
  state.verdicts.clear();
  if (!worst->points.empty()) state.verdicts = {judge_order(x, state.row, worst->points[0].mean)};
  if (!answered && !state.verdicts.empty() && !state.verdicts[0].right) {
    draw_sentence(scene.colours.secondary, state.verdicts[0].sentence, width);  // nothing was answered yet
    state.verdicts.clear();
  }
}

// --- a format ---------------------------------------------------------------------------------------------------------

/// The scores and values that are run, in a line.
void draw_row(const LessonScene& scene, const Exercise& x, float width) {
  std::string scores;
  for (const double s : x.row.scores) scores += fmt::format("{}{:.6g}", scores.empty() ? "" : ", ", s);
  ImGui::PushStyleColor(ImGuiCol_Text, scene.colours.secondary);
  wrapped(Face::mono, "scores " + scores, width);
  ImGui::PopStyleColor();
}

void draw_formats(LessonScene& scene, ExerciseViewState& state, float width) {
  const Exercise& x = *state.exercise;
  const std::vector<std::string> answers = answers_of(scene, 1);
  draw_row(scene, x, width);
  const float left = ImGui::GetCursorScreenPos().x;
  for (std::size_t i = 0; i < x.formats.size(); ++i) {
    const std::string format = name(x.formats[i]);
    const float size = std::max(px(56), text_width(Face::label, format) + px(20));
    if (i > 0) ImGui::SameLine(0, px(8));
    if (ImGui::GetCursorScreenPos().x + size > left + width) ImGui::NewLine();
    if (push_button((format + "###choice " + format).c_str(), on_card(scene.colours), format == answers[0], {size, px(28)}))
      change(scene, answer_key(0), format);
    explain("Your answer: " + format + ". The row is run in it, and in every other choice.");
  }
  if (state.judged == answers) return;
  state.verdicts.clear();
  if (!answers[0].empty()) state.verdicts = {judge_format(x, answers[0])};
  state.judged = answers;
}

void draw_on_card(LessonScene& scene, ExerciseViewState& state, float width) {
  const Exercise& x = *state.exercise;
  draw_sentence(scene.colours.text, x.question, width);
  if (x.kind == ExerciseKind::blanks)
    draw_blanks(scene, state, width);
  else
    x.kind == ExerciseKind::order ? draw_order(scene, state, width) : draw_formats(scene, state, width);
  for (std::size_t i = 0; i < state.verdicts.size(); ++i) {
    AnswerVerdict verdict = state.verdicts[i];
    if (x.blanks.size() > 1 && !verdict.sentence.empty()) verdict.sentence = x.blanks[i].target + ": " + verdict.sentence;
    draw_verdict(scene, verdict, width);
  }
  const bool solved = !state.verdicts.empty() && std::ranges::all_of(state.verdicts, &AnswerVerdict::right);
  if (solved && !x.explanation.empty()) draw_sentence(scene.colours.secondary, x.explanation, width);
}

}  // namespace

std::string draw_exercise_view(LessonScene& scene) {
  if (!scene.state.exercise) scene.state.exercise = std::make_shared<ExerciseViewState>();
  ExerciseViewState& state = *scene.state.exercise;
  try {
    if (!state.exercise) state.exercise = exercise_of(scene.view);
  } catch (const std::exception& error) {
    return error.what();
  }
  draw_card(scene, [&](float width) { draw_on_card(scene, state, width); });
  return "";
}

}  // namespace attoscope
