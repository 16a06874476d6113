// The left panel: everything that changes a number.
#include "ui/controls/controls.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "kernels/experiment/rules.h"
#include "ui/frame/frame.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

/// A section whose heading has a tooltip.
void explained_section(const char* title, std::string_view what, std::string_view formula) {
  section(title);
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax(), next = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos(min);
  ImGui::InvisibleButton((std::string("about ") + title).c_str(), {max.x - min.x, max.y - min.y});
  explain(what, formula);
  ImGui::SetCursorScreenPos(next);
}

/// Extra space between lines of a panel of this height: up to 4 px in a high one, -1 px where that lets all lines fit.
float spare_spacing(float height) {
  constexpr float lines = 28, all_lines = 900, high = 960;
  if (height >= px(high)) return std::floor(std::min((height - px(high)) / lines, px(4)));
  return height < px(all_lines) && height >= px(all_lines - lines) ? -std::ceil(px(1)) : 0;
}

}  // namespace

void draw_controls(const Frame& frame) {
  Experiment& e = frame.session.experiment;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(4) + spare_spacing(ImGui::GetContentRegionAvail().y)});
  section("INPUT");
  edit_input(e.problem, frame.input, frame.state.popups.file, frame.requests);
  edit_kernel(e, frame.input, frame.state.popups.kernel, frame.requests);
  explained_section("FORMAT D", "D, the main format: what Q, K and V are rounded to, and every step below that is marked D.",
                    "x = (-1)^s 1.f 2^e, nearest, ties to even");
  Format format = e.format;
  if (edit_format("main format", format)) e = with_format(e, format);
  section("SHAPE");
  edit_shape(frame.session, frame.input);
  explained_section(
      "WHERE ROUNDING HAPPENS",
      "a (orange) and b (blue) are two ways to compute the same attention; each is compared with golden, the truth in "
      "fp64. A preset says where one of them rounds: hw rounds where GPU kernels do, P and the output to D, the rest "
      "in fp32.",
      "error of a = a - golden");
  edit_precision(e, frame.input, frame.state.typed_format);
  ImGui::PopStyleVar();
}

}  // namespace attoscope
