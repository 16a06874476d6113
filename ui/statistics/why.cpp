// Cost of each rounding step: the mean error if that step alone were exact; or the suspects of a loaded output.
#include "ui/frame/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imgui.h"
#include "kernels/questions/attribution.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/statistics/panels.h"
#include "ui/statistics/statistics.h"
#include "ui/statistics/suspects.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// Tooltip of a source: its description, and the effect of a click.
std::string explanation(const ErrorSource& source, const Scalings& scaling) {
  if (!source.stored)
    return "The mean error of a if " + std::string(name(source)) + " alone were exact: " + std::string(what(source)) +
           ". Click: make it exact.";
  const auto tensor = static_cast<std::size_t>(*source.stored);
  return fmt::format("The mean error of a if {} alone were {}, instead of stored as {}. Click: take its scales away.",
                     scaled_tensor_names[tensor],
                     *source.stored == ScaledTensor::P ? "left in the working type" : "taken as it is given",
                     scaling_text(scaling[*source.stored]));
}

/// Common parameters of all lines.
struct Shares {
  const StepError& total;
  const Scalings& scaling;
  double largest;  ///< largest change
  float width, height;
};

/// A source: name, bar, change of the mean error in percent. True if it was clicked.
bool draw_share(const StepShare& s, double change, const Shares& all, const Palette& colours) {
  const auto& [total, scaling, largest, width, height] = all;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float left = px(84), right = px(62), bar = std::floor(px(9));
  const bool pressed = ImGui::InvisibleButton(("why " + std::string(name(s.source))).c_str(), {width, height});
  const bool known = std::isfinite(change);
  const float y = at.y + (height - bar) / 2, room = width - left - right - px(8);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({at.x + left, y}, {at.x + left + room, y + bar}, colours.raised, px(2));
  if (known && largest > 0) {
    const float length = std::max(px(2), room * static_cast<float>(std::min(1.0, std::abs(change) / largest)));
    const Colour fill = change > 0 ? colours.bad : colours.a;
    list->AddRectFilled({at.x + left, y}, {at.x + left + length, y + bar},
                        ImGui::IsItemHovered() ? mixed(fill, colours.text, 0.2f) : fill, px(2));
  }
  const float text_y = at.y + (height - line_height(Face::mono)) / 2;
  draw_text({at.x, text_y}, Face::mono, colours.text, name(s.source));
  const double tenths = std::round(10 * change) / 10 + 0.0;  // -0 becomes 0
  const std::string shown = !known ? "–" : tenths == 0 ? "0.0 %" : fmt::format("{:+.1f} %", tenths);
  draw_text({at.x + width, text_y}, Face::mono, colours.secondary, shown, 1);
  explain(explanation(s.source, scaling), "now            " + scientific(total.mean_abs) + "\nif exact       " +
                                              scientific(s.without.mean_abs) + "\nthis one alone " +
                                              scientific(s.alone.mean_abs));
  return pressed;
}

void draw_shares(Session& session, const Attribution& all, const Palette& colours) {
  const FigurePanel panel = why_panel(all);
  const std::vector<double>& changes = panel.series.front().y;
  double largest = 0;
  for (const double change : changes)
    if (std::isfinite(change)) largest = std::max(largest, std::abs(change));
  if (all.steps.empty()) label(Face::label, colours.secondary, "No step of a rounds anything but the inputs.");
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float count = std::max(1.0f, static_cast<float>(all.steps.size()));
  const float height = std::floor(std::clamp(room.y / count, px(15), px(19)));
  ImGui::BeginChild("steps", {room.x + px(12), room.y}, 0, ImGuiWindowFlags_NoBackground);
  const Scalings scaling = session.experiment.a.scaling;
  const Shares shares{all.total, scaling, largest, room.x, height};
  for (std::size_t i = 0; i < changes.size(); ++i)
    if (draw_share(all.steps[i], changes[i], shares, colours))
      session.experiment.a = made_exact(session.experiment.a, all.steps[i].source);
  ImGui::EndChild();
}

}  // namespace

bool answers(const Experiment& known, const Experiment& asked) {
  Experiment traced = asked;
  if (asked.problem.rows == 0) traced.problem.traced_row = known.problem.traced_row;
  return known == traced;
}

void draw_why(Session& session, const PanelInput& input, const Palette& colours, Requests& requests) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float title = px(26), width = ImGui::GetContentRegionAvail().x;
  ImGui::Dummy({width, title});
  const Algorithm a = session.experiment.a.algorithm;
  if (a == Algorithm::loaded) {
    explain(
        "Usual mistakes, each computed exactly, and the part of your output's error that it leaves. A click swipes against "
        "one.",
        "RMS(O - with the mistake) / RMS(O - golden)");
    draw_text({at.x, at.y + px(7)}, Face::label, colours.text, "Mistakes, and the error that each leaves");
    return draw_suspects(session, input, colours);
  }
  explain(
      "Each rounding step of a, made exact by itself: how much smaller (−) or larger (+) the mean error would be. A click on a "
      "step makes it exact.",
      "(mean |error| if exact - mean |error|) / mean |error|");
  draw_text({at.x, at.y + px(7)}, Face::label, colours.text, "Mean error if one step were exact");
  if (!is_emulated(a)) return label(Face::label, colours.secondary, "Tensor cores have no steps to make exact.");
  if (input.side.why && answers(input.side.why->experiment, session.experiment))
    return draw_shares(session, input.side.why->attribution, colours);
  label(Face::label, colours.secondary, "making each step exact in turn ...");
  requests.side.attribute = !input.answer.computing && !input.side.attributing && !ImGui::IsAnyMouseDown();
}

}  // namespace attoscope
