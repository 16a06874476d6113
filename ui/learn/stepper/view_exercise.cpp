// The live view `exercise`: the reader fills blanks, orders keys or chooses a format, and the program runs the answer.
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

namespace attoscope::ui {

struct ExerciseViewState {
  std::optional<Exercise> exercise;
  std::vector<std::string> typed, shown;  ///< in each blank; shown: the answers that `typed` was filled with
  std::vector<std::string> judged;        ///< the answers that `verdicts` are about
  std::vector<AnswerVerdict> verdicts;    ///< one for each answer; no sentence if none was given
  OrderedRow row;                         ///< run of the order that is judged
  int chosen = -1;                        ///< the key that the buttons move; -1: none
};

namespace {

/// Draws the names and signs that the reader may write.
void draw_names(const std::vector<Blank>& blanks, float width) {
  std::string text;
  for (const Blank& blank : blanks) {
    text += text.empty() ? "" : "; ";
    text += blanks.size() > 1 ? blank.target + " of " : "Names: ";
    for (std::size_t i = 0; i < blank.names.size(); ++i)
      text += (i == 0 ? "" : ", ") + blank.names[i] + (blank.names[i] == "α" ? " (or alpha)" : "");
  }
  wrapped(Face::label, colours().faint, text + "; with + - * / max exp and parentheses.", width);
  ImGui::Dummy({0, px(2)});
}

// --- blanks -----------------------------------------------------------------------------------------------------------

/// Draws a line of the code or an equation, with its field. True if Enter was pressed there.
bool draw_line(ExerciseViewState& state, const ExerciseLine& line, float width) {
  constexpr float least_field = 96, widest_field = 440, height = control_height + 2;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float text_y = at.y + (px(control_height) - line_height(Face::mono)) / 2;
  draw_text({at.x, text_y}, Face::mono, colours().text, line.before);
  bool entered = false;
  if (line.blank >= 0) {
    const auto i = static_cast<std::size_t>(line.blank);
    const float x = text_width(Face::mono, line.before), after = text_width(Face::mono, line.after),
                field = std::clamp(width - x - after - px(4), px(least_field), px(widest_field));
    ImGui::SetCursorScreenPos({at.x + x, at.y});
    const WithField face(Face::mono);
    ImGui::PushStyleColor(ImGuiCol_FrameBg, colours().panel);
    ImGui::SetNextItemWidth(field);
    entered = ImGui::InputText(fmt::format("##blank {}", i + 1).c_str(), &state.typed[i], ImGuiInputTextFlags_EnterReturnsTrue);
    ImGui::PopStyleColor();
    explain("The right-hand side of " + state.exercise->blanks[i].target + "; Enter runs it at every step of the row.");
    draw_text({at.x + x + field + px(4), text_y}, Face::mono, colours().text, line.after);
  }
  take_room(at, {width, px(height)});
  return entered;
}

void draw_blanks(LessonScene& scene, ExerciseViewState& state, const std::vector<std::string>& answers, float width) {
  const Exercise& x = *state.exercise;
  if (state.shown != answers) state.typed = state.shown = answers;
  state.typed.resize(x.blanks.size());
  bool runs = false;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  for (const ExerciseLine& line : x.lines) runs = draw_line(state, line, width) || runs;
  ImGui::Dummy({0, px(6)});
  ImGui::PopStyleVar();
  runs = card_button("Run###run") || runs;
  explain(
      "Runs the formulas in the fields at every step of the row, and shows the first step that differs from the right one.");
  for (std::size_t i = 0; runs && i < x.blanks.size(); ++i) change(scene, answer_key(i), state.typed[i]);
  draw_names(x.blanks, width);
}

// --- an order ---------------------------------------------------------------------------------------------------------

void move_key(LessonScene& scene, std::vector<int> order, std::size_t from, std::ptrdiff_t by) {
  const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(from) + by;
  if (to < 0 || to >= static_cast<std::ptrdiff_t>(order.size())) return;
  std::swap(order[from], order[static_cast<std::size_t>(to)]);
  change(scene, answer_key(0), order_text(order));
}

/// Draws a key as a button, its value below: a click chooses it, a drag moves it.
void draw_key(LessonScene& scene, ExerciseViewState& state, const std::vector<int>& order, std::size_t place, float size) {
  const int key = order[place];
  const StepQuestion& row = state.exercise->row;
  const double score = row.scores[static_cast<std::size_t>(key)], value = row.values[static_cast<std::size_t>(key)];
  ImGui::BeginGroup();
  if (card_button(fmt::format("{:.4g}###key {}", score, key + 1).c_str(), key == state.chosen, {size, px(28)}))
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
  draw_text({at.x + size / 2, at.y - px(4)}, Face::mono_small, colours().secondary, fmt::format("v {:.3g}", value), 0.5f);
  ImGui::EndGroup();
}

/// Draws the keys, the first to be read at the left.
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
    if (card_button(text) && place < order.size()) move_key(scene, order, place, by);
    explain(what);
  }
}

void draw_order(LessonScene& scene, ExerciseViewState& state, const std::string& answer, float width) {
  const Exercise& x = *state.exercise;
  const std::size_t keys = x.row.scores.size();
  std::vector<int> order = order_of(answer, keys);
  const bool answered = !order.empty();
  if (!answered) {
    order.resize(keys);
    std::iota(order.begin(), order.end(), 0);
  }
  draw_keys(scene, state, order, width);
  draw_moves(scene, state, order);
  if (state.row.order != order) state.row = row_in_order(step_experiment(x.row), order);
  const LessonAnswerPtr worst = ask(scene, order_question(x));
  if (!worst) return label(Face::label, colours().faint, "running every order");
  state.verdicts.clear();
  if (!worst->table.cells.empty()) state.verdicts = {judge_order(x, state.row, worst->number())};
  if (!answered && !state.verdicts.empty() && !state.verdicts[0].right) {
    wrapped(Face::body, colours().secondary, state.verdicts[0].sentence, width);  // nothing was answered yet
    state.verdicts.clear();
  }
}

// --- a format ---------------------------------------------------------------------------------------------------------

void draw_formats(LessonScene& scene, const Exercise& x, const std::string& answer, float width) {
  wrapped(Face::mono, colours().secondary, fmt::format("scores {:.6g}", fmt::join(x.row.scores, ", ")), width);
  const float left = ImGui::GetCursorScreenPos().x;
  for (std::size_t i = 0; i < x.formats.size(); ++i) {
    const std::string format = name(x.formats[i]);
    const float size = std::max(px(56), text_width(Face::label, format) + px(20));
    if (i > 0) ImGui::SameLine(0, px(8));
    if (ImGui::GetCursorScreenPos().x + size > left + width) ImGui::NewLine();
    if (card_button((format + "###choice " + format).c_str(), format == answer, {size, px(28)}))
      change(scene, answer_key(0), format);
    explain("Your answer: " + format + ". The row is run in this and every other choice.");
  }
}

/// Runs the answers to blanks or to a choice of formats, if they changed.
void run_answers(ExerciseViewState& state, const std::vector<std::string>& answers) {
  if (state.judged == answers) return;
  const Exercise& x = *state.exercise;
  state.judged = answers;
  state.verdicts.assign(answers.size(), {});
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (!answers[i].empty())
      state.verdicts[i] = x.blanks.empty() ? judge_format(x, answers[i]) : judge_blank(x.blanks[i], answers[i]);
}

void draw_on_card(LessonScene& scene, ExerciseViewState& state, float width) {
  const Exercise& x = *state.exercise;
  std::vector<std::string> answers;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, x.blanks.size()); ++i) answers.push_back(value_of(scene, answer_key(i)));
  if (x.kind != ExerciseKind::order) run_answers(state, answers);
  wrapped(Face::body, colours().text, x.question, width);
  if (x.kind == ExerciseKind::blanks) draw_blanks(scene, state, answers, width);
  if (x.kind == ExerciseKind::order) draw_order(scene, state, answers[0], width);
  if (x.kind == ExerciseKind::format) draw_formats(scene, x, answers[0], width);
  for (std::size_t i = 0; i < state.verdicts.size(); ++i) {
    const AnswerVerdict& verdict = state.verdicts[i];
    const std::string target = x.blanks.size() > 1 ? x.blanks[i].target + ": " : "";
    if (!verdict.sentence.empty())
      wrapped(Face::body, verdict.right ? colours().good : colours().bad, target + verdict.sentence, width);
  }
  const bool solved = !state.verdicts.empty() && std::ranges::all_of(state.verdicts, &AnswerVerdict::right);
  if (solved && !x.explanation.empty()) wrapped(Face::body, colours().secondary, x.explanation, width);
}

}  // namespace

std::string draw_exercise_view(LessonScene& scene) {
  auto& state = own_state<ExerciseViewState>(scene);
  try {
    if (!state.exercise) state.exercise = exercise_of(scene.view);
  } catch (const std::exception& error) {
    return error.what();
  }
  draw_card(scene, [&](float width) { draw_on_card(scene, state, width); });
  return "";
}

}  // namespace attoscope::ui
