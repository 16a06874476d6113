#include <fmt/format.h>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/setting.h"
#include "ui/commands/bars.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

constexpr float figures_width = 608;

/// Finished share of a figure, 0 .. 1.
double share_of(const FigureProgress& p) { return p.all == 0 ? 0 : static_cast<double>(p.done) / static_cast<double>(p.all); }

void edit_figure_policy(FigureSettings& s, float width) {
  const WithField field(Face::mono);
  if (begin_combo("##figure policy", s.policy, width)) {
    for (const Policy& p : policies()) {
      if (p.algorithm != Algorithm::flash2) continue;
      if (ImGui::Selectable(std::string(p.name).c_str(), p.name == s.policy)) s.policy = p.name;
      explain(p.what);
    }
    ImGui::EndCombo();
  } else {
    explain(
        "The steps that Flash Attention rounds in these figures; three-pass attention always rounds as base_eager. The two "
        "training figures use only this and the seeds, that of a language model uses only N.");
  }
  ImGui::SameLine(0, px(8));
  toggle("all policies", s.all_policies, width);
  explain("Draws every policy instead of one: shows under which rounding a paper's statement holds or is reversed.");
}

void edit_figure_settings(FigureSettings& s) {
  constexpr int most_seeds = 20, most_n = 4096, most_d = 128;
  const float half = px((figures_width - 16) / 2);
  const auto column = [&](const auto& draw) {
    ImGui::BeginGroup();
    const WithWidth width(half);
    draw();
    ImGui::EndGroup();
  };
  const auto row = [&](const auto& left, const auto& right) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    column(left);
    ImGui::SameLine();
    ImGui::SetCursorScreenPos({at.x + half + px(16), at.y});  // a slider's value is drawn right of its last item
    column(right);
  };
  const auto sized = [](const Slider& of, int& value, const char* what) {
    slider(of, value);
    explain(what);
  };
  row([&] { edit_figure_policy(s, (half - px(8)) / 2); },
      [&] { sized({"N", 64, most_n, 1, most_figure_n, true}, s.n, "Tokens; figures that vary N go from 128 to twice this."); });
  row(
      [&] {
        sized({"seeds", 1, most_seeds, 1, most_figure_seeds}, s.seeds,
              "Seeds of each point: the marks are means, the bars standard deviations.");
      },
      [&] { sized({"d", 16, most_d, 1, max_d, true}, s.d, "Head dimension."); });
}

/// A line of the list: title and sentence. True if it was clicked.
bool entry(const FigureEntry& e) {
  const float pad = px(8), height = line_height(Face::body) + line_height(Face::small) + px(10);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool pressed =
      ImGui::Selectable(("##" + e.name).c_str(), false, ImGuiSelectableFlags_NoAutoClosePopups, {px(figures_width), height});
  explain("Draws the figure and saves it with its data, script and JSON in the pictures folder.", "attoscope figure " + e.name);
  const float used = draw_text({at.x + pad, at.y + px(3)}, Face::body, colours().text, e.title);
  draw_text({at.x + pad + used + px(12), at.y + px(5)}, Face::mono_small, colours().faint, e.name);
  draw_fitted({at.x + pad, at.y + px(5) + line_height(Face::body)}, Face::small, colours().secondary, e.what,
              px(figures_width) - 2 * pad);
  return pressed;
}

/// Progress of the current figure and a button to stop it; else a line of text.
void draw_figure_progress(const PanelInput& input, Requests& requests) {
  const float height = px(control_height), bar = px(120), thick = px(6);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (!input.figures.progress) {
    ImGui::Dummy({px(figures_width), height});
    draw_in_line(at, height, Face::small, colours().faint, "Finished points are kept and not computed again.");
    return;
  }
  const FigureProgress& p = *input.figures.progress;
  draw_bar({at.x, at.y + (height - thick) / 2}, bar, thick, share_of(p));
  draw_in_line({at.x + bar + px(8), at.y}, height, Face::mono_small, colours().secondary,
               fmt::format("{:5} of {:5} {}  ", p.done, p.all, p.trains ? "steps " : "points") + time_left(p.seconds_left));
  const float numbers = text_width(Face::mono_small, "12345 of 12345 points  99.9 s left") + px(24);
  draw_in_line({at.x + bar + numbers, at.y}, height, Face::label, colours().text,
               fitted(Face::label, p.title, px(figures_width - 64) - bar - numbers));
  ImGui::SetCursorScreenPos({at.x + px(figures_width - 56), at.y});
  if (push_button("cancel###cancel figure", false, {px(56), height})) requests.exports.stop_figures = true;
  explain("Stops this figure and the queued ones. Its finished points are kept.");
}

}  // namespace

std::string figures_label(const PanelInput& input) {
  return (input.figures.progress ? fmt::format("fig. {:3.0f} %", 100 * share_of(*input.figures.progress))
                                 : std::string("figures")) +
         "###figures";
}

void figures_button(View& view, const PanelInput& input, Requests& requests) {
  if (quiet_button(figures_label(input).c_str())) ImGui::OpenPopup("figures");
  explain("The papers' experiments as figures for print, under the rounding policy of your choice or under all of them.");
  set_menu_place();
  if (!begin_panel_popup("figures")) return;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(8)});
  edit_figure_settings(view.named_figure);
  ImGui::PopStyleVar();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), 0});
  if (input.figures.entries)
    for (const FigureEntry& e : *input.figures.entries)
      if (entry(e)) requests.exports.figure = e.name;
  ImGui::Dummy({0, px(8)});
  draw_figure_progress(input, requests);
  ImGui::PopStyleVar();
  ImGui::EndPopup();
}

}  // namespace attoscope::ui
