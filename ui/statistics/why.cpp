// Cost of each rounding step: the mean error if that step alone were exact; or the suspects of a loaded output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imgui.h"
#include "kernels/questions/attribution.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/table_view.h"
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

void draw_shares(Session& session, const Attribution& all) {
  if (all.steps.empty()) return label(Face::label, colours().secondary, "No step of a rounds anything but the inputs.");
  const Table table = attribution_table(all);
  const auto change = [&](std::size_t i) { return std::get<double>(table.rows[i][1]); };
  double largest = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) largest = std::fmax(largest, std::abs(change(i)));
  const auto row = [&](std::size_t i) {
    const StepShare& s = all.steps[i];
    return TableRow{.id = "why " + std::string(name(s.source)),
                    .meaning = explanation(s.source, session.experiment.a.scaling),
                    .formula = "now            " + scientific(all.total.mean_abs) + "\nif exact       " +
                               scientific(s.without.mean_abs) + "\nthis one alone " + scientific(s.alone.mean_abs),
                    .mark = change(i) > 0 ? colours().bad : colours().a};
  };
  const auto bar = [&](std::size_t i, std::size_t column) {
    const bool is_known = column == 1 && std::isfinite(change(i)) && largest > 0;
    return is_known ? static_cast<float>(std::min(1.0, std::abs(change(i)) / largest)) : -1.0f;
  };
  if (const auto clicked = draw_table("steps", table, {.row = row, .bar = bar}))
    session.experiment.a = made_exact(session.experiment.a, all.steps[*clicked].source);
}

}  // namespace

bool answers(const Experiment& known, const Experiment& asked) {
  Experiment traced = asked;
  if (asked.problem.rows == 0) traced.problem.traced_row = known.problem.traced_row;
  return known == traced;
}

void draw_why(Session& session, const PanelInput& input, Requests& requests) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float title = px(26), width = ImGui::GetContentRegionAvail().x;
  ImGui::Dummy({width, title});
  const Algorithm a = session.experiment.a.algorithm;
  if (a == Algorithm::loaded) {
    explain(
        "Usual mistakes, each computed exactly, and the part of your output's error that it leaves. A click swipes against "
        "one.",
        "RMS(O - with the mistake) / RMS(O - golden)");
    draw_text({at.x, at.y + px(7)}, Face::label, colours().text, "Mistakes, and the error that each leaves");
    return draw_suspects(session, input);
  }
  explain(
      "Each rounding step of a, made exact by itself: how much smaller (−) or larger (+) the mean error would be. A click on a "
      "step makes it exact.",
      "(mean |error| if exact - mean |error|) / mean |error|");
  draw_text({at.x, at.y + px(7)}, Face::label, colours().text, "Mean error if one step were exact");
  if (!is_emulated(a)) return label(Face::label, colours().secondary, "Tensor cores have no steps to make exact.");
  if (input.side.why && answers(input.side.why->experiment, session.experiment)) return draw_shares(session, *input.side.why);
  label(Face::label, colours().secondary, "making each step exact in turn ...");
  if (!input.answer.computing && !ImGui::IsAnyMouseDown()) requests.side.why = session.experiment;
}

}  // namespace attoscope
