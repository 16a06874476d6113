// The rounding of both methods step by step, their errors, and the error of a row tile by tile.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/experiment/result.h"
#include "ui/controls/controls.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/views/plots.h"
#include "ui/learn/views/view_parts.h"
#include "ui/learn/views/views.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope {

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

/// A name and three texts right-aligned in columns, in a smaller face where one would not fit.
void draw_cells(ImVec2 at, float width, std::array<Face, 2> faces, const std::array<std::string, 4>& texts,
                const std::array<Colour, 4>& inks) {
  draw_text(at, Face::label, inks[0], texts[0]);
  const float column = width * 0.76f / 3 - px(6);
  const bool fit = std::ranges::all_of(texts.begin() + 1, texts.end(),
                                       [&](const std::string& text) { return text_width(faces[0], text) <= column; });
  const Face face = faces[fit ? 0 : 1];
  for (std::size_t i = 1; i < texts.size(); ++i)
    draw_text({at.x + width * (0.24f + 0.76f * static_cast<float>(i) / 3), at.y}, face, inks[i], fitted(face, texts[i], column),
              1);
}

void draw_numbers(const Result& r, float width, const Palette& colours) {
  const MethodNames names = method_names(r.experiment);
  const ImVec2 head = ImGui::GetCursorScreenPos();
  ImGui::Dummy({width, px(22)});
  draw_cells(head, width, {Face::label, Face::small}, {"|error|", short_name_of_a(names), names.b_after_a, "a / b"},
             {colours.faint, colours.a, colours.b, colours.secondary});
  for (const ErrorLine& line : lines) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const double a = r.a_error.*line.value, b = r.b_error.*line.value;
    ImGui::InvisibleButton(line.name, {width, px(22)});
    const bool is_signed = line.value == &Deviation::bias;
    draw_cells(at, width, {Face::mono, Face::mono_small},
               {line.name, is_signed ? signed_scientific(a) : scientific(a), is_signed ? signed_scientific(b) : scientific(b),
                is_signed ? std::string() : times(a / b)},
               {colours.secondary, colours.text, colours.text, colours.text});
    explain(line.what, line.formula);
  }
}

/// The verdict's two sentences, the numbers, the row's plots.
std::string draw_outcome(LessonScene& scene, RowPlots& plots, float width, float height) {
  const auto result = answered(scene, {width, height});
  if (!result) return "";
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const Verdict v = verdict(*result);
  const Colour tone = v.tone == Verdict::Tone::bad ? scene.colours.bad : scene.colours.text;
  scene.state.said = v.headline + ", " + v.sentence;
  const Face headline = text_width(Face::headline, v.headline) <= width ? Face::headline : Face::label;
  draw_text(from, headline, tone, fitted(headline, v.headline, width));
  ImGui::Dummy({width, line_height(Face::headline)});
  label(Face::label, v.tone == Verdict::Tone::good ? scene.colours.good : scene.colours.secondary,
        fitted(Face::label, v.sentence, width));
  ImGui::Dummy({0, px(4)});
  draw_numbers(*result, width, scene.colours);
  ImGui::Dummy({0, px(8)});
  const float rest = std::max(px(120), from.y + height - ImGui::GetCursorScreenPos().y);
  constexpr std::array<StripPlot, 2> shown{StripPlot::row_sum, StripPlot::error};
  const std::string problem = draw_row_plots(scene, plots, result, shown, {width, rest});
  dim_if_earlier(scene, *result, from, {from.x + width, from.y + height});
  return problem;
}

/// A step's rounding in a word; empty where the method has no such step.
std::string rounding_of(const Experiment& e, const Method& m, Step step) {
  if (!has_tiles(m.algorithm) && info(step).rescales) return "";
  const Rounding& r = m.precision[step];
  return r == to_main ? name(e.format) : rounding_text(r);
}

/// The places where both methods round, as text: a page has it in the place of the editor.
void draw_roundings(const LessonScene& scene, float width) {
  const Experiment& e = scene.experiment;
  const MethodNames names = method_names(e);
  const auto line = [&](Face face, std::string_view title, const std::array<std::string, 2>& texts) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy({width, px(16)});
    draw_text(at, face, scene.colours.secondary, title);
    for (const std::size_t i : {0U, 1U}) {
      const Colour own = i == 0 ? scene.colours.a : scene.colours.b;
      draw_text({at.x + width * (i == 0 ? 0.68f : 1), at.y}, face, texts[i] == "exact" ? scene.colours.faint : own,
                fitted(face, texts[i], width * 0.32f), 1);
    }
  };
  line(Face::label, "rounded to", {short_name_of_a(names), names.b_after_a});
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    line(Face::mono, name(step), {rounding_of(e, e.a, step), rounding_of(e, e.b, step)});
  }
}

/// The view on a page: the outcome stands beside the roundings, or below them where there is little room.
std::string draw_policy_page(LessonScene& scene, RowPlots& plots, float height) {
  const bool beside = scene.width >= px(520);
  const float gap = px(24), left = beside ? std::floor(scene.width * 0.42f) : scene.width;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_roundings(scene, left);
  const ImVec2 to = beside ? ImVec2{at.x + left + gap, at.y} : ImVec2{at.x, ImGui::GetCursorScreenPos().y + px(16)};
  ImGui::SetCursorScreenPos(to);
  ImGui::BeginGroup();
  std::string problem = draw_outcome(scene, plots, beside ? scene.width - left - gap : left, height);
  ImGui::EndGroup();
  return problem;
}

}  // namespace

std::string draw_policy_view(LessonScene& scene) {
  auto& state = own_state<PolicyViewState>(scene);
  std::string problem;
  const float height = px(static_cast<float>(whole_of(scene, "height", 520, 400, 1000, problem)));
  if (problem.empty()) problem = draw_lesson_controls(scene);
  if (!problem.empty()) return problem;
  if (is_on_page(scene)) return draw_policy_page(scene, state.plots, height);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float left = std::floor(std::min(px(316), scene.width * 0.46f)), gap = px(24);
  Experiment edited = scene.experiment;
  ImGui::BeginChild("steps", {left, height});
  const bool changed = edit_precision(edited, scene.input, scene.colours, state.typed_format);
  ImGui::EndChild();
  if (changed) change_to(scene, edited);
  ImGui::SetCursorScreenPos({at.x + left + gap, at.y});
  ImGui::BeginGroup();
  problem = draw_outcome(scene, state.plots, scene.width - left - gap, height);
  ImGui::EndGroup();
  ImGui::SetCursorScreenPos({at.x, at.y + height});
  ImGui::Dummy({scene.width, 0});
  return problem;
}

}  // namespace attoscope
