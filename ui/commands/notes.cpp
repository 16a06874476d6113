// Sentences over the panels: a new error, and the use of files held over the window.
#include <algorithm>

#include "imgui_internal.h"  // order of windows
#include "ui/commands/bars.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// A box with a title and text at the top of the window; it takes no mouse input.
void draw_box(const char* name, Colour edge, std::string_view title, std::string_view text) {
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoNav |
                                     ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_AlwaysAutoResize;
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const float width = std::min(px(620), view->Size.x - px(48));
  ImGui::SetNextWindowPos({view->Pos.x + view->Size.x / 2, view->Pos.y + px(52)}, ImGuiCond_Always, {0.5f, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(16), px(12)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, px(2));
  ImGui::PushStyleColor(ImGuiCol_Border, edge);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, colours().raised);
  ImGui::Begin(name, nullptr, flags);
  if (!title.empty()) label(Face::headline, colours().text, title);
  wrapped(Face::body, colours().text, text, width);
  ImGui::BringWindowToDisplayFront(ImGui::GetCurrentWindow());  // a panel that gets the focus would cover the box
  ImGui::End();
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(2);
}

/// The meaning of a file in a field that takes it.
constexpr EnumArray<FileUse> taken_as{
    "this file", "this file", "this file", "this file", "the captured run", "Q, K and V",      "your kernel's output",
    "dO",        "dL",        "this file", "this file", "this file",        "the missing file"};

}  // namespace

void draw_error(const PanelInput& input, ErrorNote& note) {
  if (note.text != input.messages.error) note = {input.messages.error, ImGui::GetTime()};
  const double reading_time = 4 + 0.06 * static_cast<double>(note.text.size());  // seconds to read the text
  const bool read = ImGui::GetTime() - note.since > reading_time;
  if (note.text.empty() || read || input.exporting || shows_remarks(input) ||
      ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup))
    return;
  draw_box("Error", colours().bad, "", note.text);
}

void draw_drop_target(const PanelInput& input) {
  if (!input.dragging) return;
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const float edge = px(2);
  ImGui::GetForegroundDrawList()->AddRect({view->Pos.x + edge, view->Pos.y + edge},
                                          {view->Pos.x + view->Size.x - edge, view->Pos.y + view->Size.y - edge},
                                          colours().accent, 0, px(4));
  if (const std::optional<FileUse> over = held_over())
    return draw_box("Drop", colours().accent, "Let go to open as " + std::string(taken_as[*over]),
                    "The field under the file takes it, whatever the file's name.");
  draw_box("Drop", colours().accent, "Let go to open",
           "Q, K and V, in one file, several or a folder, become the input. An output O becomes method a and is judged; a dO "
           "and gradients turn the backward pass on. A session replaces this one. A checkpoint opens Model, which also takes a "
           "text or tokens.");
}

}  // namespace attoscope::ui
