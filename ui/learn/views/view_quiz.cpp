// A question whose right answer is computed, and an explanation once it was answered.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/learn/views/view_parts.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

/// The number that is being typed.
struct QuizViewState {
  std::string typed, shown;  ///< shown: the answer that `typed` was filled with
};

namespace {

/// The quiz as the lesson writes it.
struct Quiz {
  std::string question, explanation, answer;  ///< answer: the reader's; empty: none yet
  bool number = false;                        ///< a number is asked for; else one of the choices
  bool least = true;                          ///< the best choice has the least value
  double tolerance = 0;                       ///< share of the right number that a number may be off
  std::optional<double> equals{};             ///< the right number, if it is not computed
  LessonQuestion solution{};
};

/// A share: "5%" or "0.05".
std::optional<double> share_of(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const std::optional<double> x = real_of(text);
  if (!x || *x < 0) return std::nullopt;
  return percent ? *x / 100 : *x;
}

Quiz quiz_of(const LessonScene& scene, std::string& problem) {
  Quiz quiz{.question = value_of(scene, "question"),
            .explanation = value_of(scene, "explanation"),
            .answer = value_of(scene, "answer")};
  quiz.number = !value_of(scene, "ask").empty();
  quiz.solution = {.experiment = scene.experiment, .measure = value_of(scene, "measure")};
  quiz.solution.seeds = whole_of(scene, "seeds", 1, 1, 1000, problem);
  const std::string vary = value_of(scene, "vary"), best = value_of(scene, "best", "least"),
                    tolerance = value_of(scene, "tolerance", "5%");
  if (quiz.question.empty()) problem = "question is missing, expected a sentence";
  const std::string equals = value_of(scene, "equals");
  quiz.equals = real_of(equals);
  if (!equals.empty() && !quiz.equals)
    problem = refusal("equals", equals, "a number");
  else if (quiz.solution.measure.empty() && !quiz.equals)
    problem = "measure is missing, expected one such as rescales or a.mean_abs, or equals and a number";
  if (quiz.number) {
    const std::optional<double> share = share_of(tolerance);
    if (!share) problem = refusal("tolerance", tolerance, "a share such as 5%");
    quiz.tolerance = share.value_or(0);
    if (value_of(scene, "ask") != "number") problem = refusal("ask", value_of(scene, "ask"), "number");
    return quiz;
  }
  if (best != "least" && best != "greatest") problem = refusal("best", best, "least or greatest");
  if (vary.empty()) problem = "vary is missing, expected the choices, such as block_k=1,16,64; or ask: number";
  quiz.least = best == "least";
  quiz.solution.vary = {vary};
  return quiz;
}

/// The choice with the least or greatest value; none: nothing is known.
std::optional<std::size_t> best_of(const LessonAnswer& answer, bool least) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < answer.table.cells.size(); ++i) {
    const double x = answer.table.cells[i].mean;
    if (!std::isnan(x) && (!best || (least ? x < answer.table.cells[*best].mean : x > answer.table.cells[*best].mean)))
      best = i;
  }
  return best;
}

/// Short, without an exponent if possible.
std::string plain(double x) {
  const double size = std::abs(x);
  return size == 0 || (size >= 1e-3 && size < 1e5) ? fmt::format("{:.4g}", x) : scientific(x);
}

/// Draws the choices as buttons. After an answer, the chosen and the right one have frames, and each has its number below.
void draw_choices(LessonScene& scene, const Quiz& quiz, const LessonAnswer& answer, float width) {
  const std::optional<std::size_t> best = best_of(answer, quiz.least);
  const std::vector<std::string>& choices = answer.table.axes[0].names;
  const bool answered = std::ranges::find(choices, quiz.answer) != choices.end();
  const float left = ImGui::GetCursorScreenPos().x;
  ImGui::BeginGroup();
  for (std::size_t i = 0; i < choices.size() && i < answer.table.cells.size(); ++i) {
    const std::string number = answered ? plain(answer.table.cells[i].mean) : "";
    const float button = std::max(px(88), text_width(Face::label, choices[i]) + px(24));
    if (i > 0) {
      ImGui::SameLine(0, px(8));
      if (ImGui::GetCursorScreenPos().x + button > left + width) ImGui::NewLine();
    }
    ImGui::BeginGroup();
    const bool chosen = answered && choices[i] == quiz.answer, right = best == i;
    if (card_button((choices[i] + "###choice " + choices[i]).c_str(), chosen, {button, px(28)}))
      change(scene, "answer", choices[i]);
    explain("Your answer: " + answer.table.axes[0].title + " " + choices[i] + ". The right one is computed, not stored.",
            quiz.solution.measure + (quiz.least ? ", least" : ", greatest"));
    const ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
    if (answered && (right || chosen))
      ImGui::GetWindowDrawList()->AddRect(from, to, right ? colours().good : colours().bad, px(3), px(2));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy({button, line_height(Face::mono_small)});
    draw_text({at.x + button / 2, at.y - px(4)}, Face::mono_small, answered && right ? colours().good : colours().secondary,
              number, 0.5f);
    ImGui::EndGroup();
  }
  ImGui::EndGroup();
  if (!answered || !best) return;
  const bool right = choices[*best] == quiz.answer;
  wrapped(Face::body, right ? colours().good : colours().bad,
          (right ? "Yes. " : "No: " + choices[*best] + ". ") +
              "Below each choice, as computed just now: " + answer.table.measure + ".",
          width);
}

/// Draws a field for the number, and compares it with the right one, which is called `title`.
void draw_field(LessonScene& scene, const Quiz& quiz, double right_number, const std::string& title, float width) {
  auto& state = own_state<QuizViewState>(scene);
  if (state.shown != quiz.answer) state.typed = state.shown = quiz.answer;
  {
    const WithField field(Face::mono);
    ImGui::PushStyleColor(ImGuiCol_FrameBg, colours().panel);
    ImGui::SetNextItemWidth(px(160));
    ImGui::InputText("##answer", &state.typed, ImGuiInputTextFlags_CharsScientific);
    if (ImGui::IsItemDeactivatedAfterEdit() && real_of(state.typed)) change(scene, "answer", state.typed);
    ImGui::PopStyleColor();
  }
  explain("Your number; Enter compares it with the right one.", quiz.solution.measure);
  const std::optional<double> given = real_of(quiz.answer);
  if (!given || std::isnan(right_number)) return;
  const bool right = std::abs(*given - right_number) <= quiz.tolerance * std::abs(right_number);
  wrapped(Face::body, right ? colours().good : colours().bad,
          fmt::format("{}: {} is {}.", right ? "Yes" : "Not within the tolerance", title, plain(right_number)), width);
}

/// The controls for the answer. Returns a sentence if there is no right answer.
std::string draw_answer(LessonScene& scene, const Quiz& quiz, float width) {
  if (quiz.equals) {
    draw_field(scene, quiz, *quiz.equals, "the number", width);
    return "";
  }
  const LessonAnswerPtr answer = ask(scene, quiz.solution);
  if (!answer)
    label(Face::label, colours().faint, "computing the right answer");
  else if (!answer->problem.empty())
    return answer->problem;
  else if (quiz.number)
    draw_field(scene, quiz, answer->number(), answer->table.measure, width);
  else
    draw_choices(scene, quiz, *answer, width);
  return "";
}

}  // namespace

std::string draw_quiz_view(LessonScene& scene) {
  std::string problem;
  const Quiz quiz = quiz_of(scene, problem);
  if (!problem.empty()) return problem;
  draw_card(scene, [&](float width) {
    wrapped(Face::body, colours().text, quiz.question, width);
    problem = draw_answer(scene, quiz, width);
    if (!quiz.answer.empty() && !quiz.explanation.empty()) wrapped(Face::body, colours().secondary, quiz.explanation, width);
  });
  return problem;
}

}  // namespace attoscope::ui
