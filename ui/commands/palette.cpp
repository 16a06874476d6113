// The command palette: type to find any control or action.
#include <algorithm>
#include <string>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/commands/bars.h"
#include "ui/commands/commands.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

constexpr int shown_commands = 12;
constexpr float palette_width = 640;

/// Text field of the query; true on Enter. The arrow keys move `chosen`.
bool type_query(PaletteState& state) {
  const WithField f(Face::body, 32);
  ImGui::SetNextItemWidth(-1);
  const bool appeared = ImGui::IsWindowAppearing();
  if (appeared || !ImGui::IsAnyItemActive()) ImGui::SetKeyboardFocusHere();
  const auto move = [](ImGuiInputTextCallbackData* data) {
    int& chosen = *static_cast<int*>(data->UserData);
    if (data->EventFlag == ImGuiInputTextFlags_CallbackHistory) chosen += data->EventKey == ImGuiKey_UpArrow ? -1 : 1;
    return 0;
  };
  const std::string before = state.query;
  const bool entered =
      ImGui::InputTextWithHint("##query", "a control, an action, a lesson, a file, or “set N to 4096”", &state.query,
                               ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CallbackHistory, move, &state.chosen);
  if (state.query != before) {
    state.chosen = 0;
    state.complaint.clear();
  }
  return entered;
}

/// One line of the list; true if it was clicked.
bool draw_command(const PaletteCommand& command, int index, bool chosen) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = px(menu_line_height), pad = px(8);
  const bool clicked = ImGui::Selectable(("##command " + std::to_string(index)).c_str(), chosen, 0, {width, height});
  const float end = at.x + width - pad - text_width(Face::mono_small, command.keys) - px(12), left = at.x + pad;
  const std::string name = fitted(Face::body, command.name, end - left);
  const float x = left + text_width(Face::body, name) + px(12), room = end - x;
  draw_in_line({left, at.y}, height, Face::body, colours().text, name);
  if (room > px(40))
    draw_in_line({x, at.y}, height, Face::small, chosen ? colours().text : colours().faint,
                 fitted(Face::small, command.what, room));
  draw_in_line({at.x + width - pad, at.y}, height, Face::mono_small, chosen ? colours().text : colours().secondary,
               command.keys, 1);
  return clicked;
}

/// Runs the command, or puts the start of an assignment into the query.
void run(const PaletteCommand& command, const Frame& target) {
  PaletteState& state = target.state.popups.palette;
  state.complaint.clear();
  if (command.act) command.act(target);
  if (!command.complete.empty()) {
    state.query = command.complete;
    state.chosen = 0;
  } else if (state.complaint.empty()) {
    ImGui::CloseCurrentPopup();
  }
}

}  // namespace

void draw_palette(const Frame& frame) {
  PaletteState& palette = frame.state.popups.palette;
  if (palette.asked) {
    palette = {};
    ImGui::OpenPopup("palette");
  }
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const float width = std::min(px(palette_width), view->Size.x - px(32));
  ImGui::SetNextWindowPos({view->Pos.x + (view->Size.x - width) / 2, view->Pos.y + px(48)});
  ImGui::SetNextWindowSize({width, std::min(px(16 + 32 + 8 + shown_commands * menu_line_height + 24), view->Size.y - px(56))});
  if (!ImGui::BeginPopup("palette", ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoScrollbar)) return;
  if (ImGui::IsWindowAppearing()) frame.requests.files.list_sessions = frame.requests.list_lessons = true;
  const bool entered = type_query(palette);
  if (ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  const std::vector<PaletteCommand> list = found(palette.query, commands(frame), frame, shown_commands);
  palette.chosen = std::clamp(palette.chosen, 0, std::max(0, static_cast<int>(list.size()) - 1));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  int wanted = entered ? palette.chosen : -1;
  for (int i = 0; i < static_cast<int>(list.size()); ++i)
    if (draw_command(list[static_cast<std::size_t>(i)], i, i == palette.chosen)) wanted = i;
  ImGui::PopStyleVar();
  if (list.empty()) label(Face::label, colours().secondary, "Nothing has this name.");
  if (wanted >= 0 && wanted < static_cast<int>(list.size())) run(list[static_cast<std::size_t>(wanted)], frame);
  if (!palette.complaint.empty()) label(Face::label, colours().bad, fitted(Face::label, palette.complaint, width - px(24)));
  ImGui::EndPopup();
}

}  // namespace attoscope::ui
