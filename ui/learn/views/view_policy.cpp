// The rounding of both methods step by step, their errors, and the error of a row tile by tile.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/experiment/result.h"
#include "ui/controls/controls.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/views/view_parts.h"
#include "ui/session/settings.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

struct PolicyViewState {
  std::string typed_format;
  RowPlots plots;
};

namespace {

/// A number of both methods and their ratio.
struct ErrorLine {
  const char *name, *what, *formula;
  double Deviation::* value;
};
constexpr std::array<ErrorLine, 3> lines{{
    {"max", "The largest error.", "max |a - golden|", &Deviation::max_abs},
    {"mean", "The mean error.", "mean |a - golden|", &Deviation::mean_abs},
    {"bias", "The signed mean: the part that does not average out.", "mean (a - golden)", &Deviation::bias},
}};

/// The part of a's name that b's does not share, short enough for a column.
std::string short_name_of_a(const MethodNames& names) { return names.a.substr(names.b.size() - names.b_after_a.size()); }

/// Draws a line: a name and three texts right-aligned in columns, in a smaller face if one would not fit.
void draw_cells(float height, float width, std::array<Face, 2> faces, const std::array<std::string, 4>& texts,
                const std::array<Colour, 4>& inks) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(texts[0].c_str(), {width, height});
  draw_text(at, Face::label, inks[0], texts[0]);
  const float column = width * 0.76f / 3 - px(6);
  const bool fit = std::ranges::all_of(texts.begin() + 1, texts.end(),
                                       [&](const std::string& text) { return text_width(faces[0], text) <= column; });
  const Face face = faces[fit ? 0 : 1];
  for (std::size_t i = 1; i < texts.size(); ++i)
    draw_fitted({at.x + width * (0.24f + 0.76f * static_cast<float>(i) / 3), at.y}, face, inks[i], texts[i], column, 1);
}

void draw_numbers(const Result& r, float width) {
  const MethodNames names = method_names(r.experiment);
  draw_cells(px(22), width, {Face::label, Face::small}, {"|error|", short_name_of_a(names), names.b_after_a, "a / b"},
             {colours().faint, colours().a, colours().b, colours().secondary});
  for (const ErrorLine& line : lines) {
    const double a = r.a_error.*line.value, b = r.b_error.*line.value;
    const bool is_signed = line.value == &Deviation::bias;
    draw_cells(px(22), width, {Face::mono, Face::mono_small},
               {line.name, is_signed ? signed_scientific(a) : scientific(a), is_signed ? signed_scientific(b) : scientific(b),
                is_signed ? std::string() : times(a / b)},
               {colours().secondary, colours().text, colours().text, colours().text});
    explain(line.what, line.formula);
  }
}

/// The verdict's two sentences, the numbers, the row's plots.
std::string draw_outcome(LessonScene& scene, RowPlots& plots, float width, float height) {
  const auto result = answered(scene, {width, height});
  if (!result) return "";
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const Verdict v = verdict(*result);
  scene.state.summary = v.headline + ", " + v.sentence;
  draw_verdict(v, width);
  ImGui::Dummy({0, px(4)});
  draw_numbers(*result, width);
  ImGui::Dummy({0, px(8)});
  const float rest = std::max(px(120), from.y + height - ImGui::GetCursorScreenPos().y);
  constexpr std::array shown{Plot::row_sum, Plot::error};
  const std::string problem = draw_row_plots(scene, plots, result, shown, {width, rest});
  dim_if_earlier(scene, *result, from, {from.x + width, from.y + height});
  return problem;
}

/// A step's rounding in a word; empty if the method has no such step.
std::string rounding_of(const Experiment& e, const Method& m, Step step) {
  if (!has_step(m.algorithm, step)) return "";
  const Rounding& r = m.precision[step];
  return r == to_main ? name(e.format) : rounding_text(r);
}

/// Draws the roundings of both methods as text; a static page shows them instead of the editor.
void draw_roundings(const LessonScene& scene, float width) {
  const Experiment& e = scene.experiment;
  const MethodNames names = method_names(e);
  const auto line = [&](Face face, std::string_view title, const std::string& a, const std::string& b) {
    const auto ink = [&](const std::string& text, Colour own) { return text == "exact" ? colours().faint : own; };
    draw_cells(px(16), width, {face, Face::mono_small}, {std::string(title), "", a, b},
               {colours().secondary, 0, ink(a, colours().a), ink(b, colours().b)});
  };
  line(Face::label, "rounded to", short_name_of_a(names), names.b_after_a);
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    line(Face::mono, name(step), rounding_of(e, e.a, step), rounding_of(e, e.b, step));
  }
}

/// The keys of lessons for the fields of an experiment: "n" for "problem.n", "a.O" for "a.precision.O".
std::string lesson_key(std::string_view path) {
  constexpr std::string_view problem = "problem.", precision = ".precision.";
  if (path.starts_with(problem)) return std::string(path.substr(problem.size()));
  std::string key(path);
  if (const auto at = key.find(precision); at != std::string::npos) key.erase(at + 1, precision.size() - 1);
  return key;
}

/// Draws the editor of both methods' roundings; a change takes effect in the next frame.
void edit_roundings(LessonScene& scene, PolicyViewState& state, ImVec2 size) {
  Experiment edited = scene.experiment;
  ImGui::BeginChild("steps", size, ImGuiChildFlags_NavFlattened);
  edit_precision(edited, scene.input, state.typed_format);
  ImGui::EndChild();
  if (edited == scene.experiment) return;
  for (const Difference& d : differences(scene.experiment, edited)) change(scene, lesson_key(d.path), d.y);
}

}  // namespace

std::string draw_policy_view(LessonScene& scene) {
  auto& state = own_state<PolicyViewState>(scene);
  std::string problem;
  const float wanted = px(static_cast<float>(whole_of(scene, "height", 520, 400, 1000, problem)));
  const float height = flexible_height(scene, wanted, px(400));
  if (problem.empty()) problem = draw_lesson_controls(scene);
  if (!problem.empty()) return problem;
  const bool on_page = is_on_page(scene), beside = !on_page || scene.width >= px(520);
  const float gap = px(24), part = std::floor(on_page ? scene.width * 0.42f : std::min(px(316), scene.width * 0.46f)),
              left = beside ? part : scene.width;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  on_page ? draw_roundings(scene, left) : edit_roundings(scene, state, {left, height});
  const float below = ImGui::GetCursorScreenPos().y + px(16);
  ImGui::SetCursorScreenPos(beside ? ImVec2{at.x + left + gap, at.y} : ImVec2{at.x, below});
  ImGui::BeginGroup();
  problem = draw_outcome(scene, state.plots, beside ? scene.width - left - gap : left, height);
  ImGui::EndGroup();
  return problem;
}

}  // namespace attoscope::ui
