// The left panel: everything that changes a number.
#include "ui/controls/controls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/experiment/rules.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

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

constexpr float heading_button = 19;  ///< height of a switch in the line of a heading

/// Draws a switch at the right end of the line of the last item, a heading; `lift` moves it up (length at scale 1).
template <class Draw>
void beside_heading(float width, const Draw& draw, float lift = 0) {
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax(), next = ImGui::GetCursorScreenPos();
  const float right = next.x + ImGui::GetContentRegionAvail().x, middle = std::floor((min.y + max.y) / 2);
  ImGui::SetCursorScreenPos({right - width, middle - std::floor(px(heading_button) / 2 + px(lift))});
  draw();
  ImGui::SetCursorScreenPos(next);
}

/// The rounding steps of both methods: of the forward pass, or while the backward pass is on, of the chosen pass.
void edit_roundings(const Frame& frame) {
  Experiment& e = frame.session.experiment;
  static constexpr std::array<Choice, 2> whose{{{"gradients", "The kernels and rounding steps of the backward pass."},
                                                {"O", "The algorithms and rounding steps of the forward pass."}}};
  bool& forward = frame.state.popups.forward_steps;
  const auto choose = [&] {
    if (e.backward.on)
      beside_heading(px(112), [&] { segmented("steps of", whose, forward, {.width = px(112), .height = px(heading_button)}); });
  };
  if (e.backward.on && !forward) {
    explained_section(
        "BACKWARD PASS",
        "a (orange) and b (blue) compute dQ, dK and dV in these ways; each is compared with golden, the fp64 result.",
        "dP = dO V^T\ndS = P (dP - delta)\ndQ = scale dS K, dK = scale dS^T Q, dV = P^T dO");
    choose();
    edit_gradients(e, frame.input, frame.state.popups, frame.requests, frame.state.typed_format);
    return;
  }
  explained_section(
      "WHERE ROUNDING HAPPENS",
      "a (orange) and b (blue) are two ways to compute the same attention; each is compared with golden, the fp64 result. A "
      "preset sets where a method rounds: hw rounds where GPU kernels do, P and the output to D, the rest in fp32.",
      "error of a = a - golden");
  choose();
  edit_precision(e, frame.input, frame.state.typed_format);
}

/// Extra space between lines for a panel of this height: up to 4 px in a high panel, -1 px if all lines then fit.
float spare_spacing(float height) {
  constexpr float lines = 28, all_lines = 930, high = 960;
  if (height >= px(high)) return std::floor(std::min((height - px(high)) / lines, px(4)));
  return height < px(all_lines) && height >= px(all_lines - lines) ? -std::ceil(px(1)) : 0;
}

}  // namespace

void draw_controls(const Frame& frame) {
  Experiment& e = frame.session.experiment;
  const Experiment before = e;
  const WithSpacing spacing({px(8), px(4) + spare_spacing(ImGui::GetContentRegionAvail().y)});
  section("INPUT");
  beside_heading(px(154), [&] { edit_pass(e, px(154), px(heading_button)); }, 3);
  edit_input(e, frame.input, frame.state.popups, frame.requests);
  frame.session.view.show_tensors |= frame.requests.files.list_tensors;
  edit_kernel(e, frame.input, frame.state.popups.files[FileUse::output], frame.requests);
  if (e.backward.on) edit_kernel_gradients(frame);
  explained_section("FORMAT D", "D, the main format: Q, K, V and every step marked D below are rounded to it.",
                    "x = (-1)^s 1.f 2^e, nearest, ties to even");
  edit_format("main format", e);
  section("SHAPE");
  edit_shape(frame.session, frame.input);
  edit_roundings(frame);
  e = with_gradients_in_step(before, std::move(e));
}

}  // namespace attoscope::ui
