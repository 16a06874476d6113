// The bar above and the bar below.
#include <cmath>

#include "ui/heatmap_view.h"
#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/sentences.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

constexpr ImGuiWindowFlags bar_flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                                       ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoScrollWithMouse |
                                       ImGuiWindowFlags_NoBringToFrontOnFocus;

bool begin_bar(const char* name, float y, float height) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({view->Pos.x, y});
  ImGui::SetNextWindowSize({view->Size.x, height});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(12), 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
  const bool open = ImGui::Begin(name, nullptr, bar_flags);
  ImGui::PopStyleVar(3);
  return open;
}

void scale_buttons(View& view, const Palette& colours) {
  if (quiet_button("−###smaller", colours, px(26))) view.ui_scale = std::max(0.75, view.ui_scale - 0.125);
  explain("Everything smaller. Key −.");
  ImGui::SameLine(0, 0);
  const WithFace f(Face::mono);
  if (quiet_button(printed("%.0f %%###UI scale", view.ui_scale * 100).c_str(), colours, px(52))) view.ui_scale = 1;
  explain("The size of text and controls. Click: 100 %.");
  ImGui::SameLine(0, 0);
  if (quiet_button("+###larger", colours, px(26))) view.ui_scale = std::min(3.0, view.ui_scale + 0.125);
  explain("Everything larger. Key +.");
}

/// Undo, redo, copy, paste.
void history_buttons(Session& session, UiMemory& memory, const Palette& colours, Wishes& wishes) {
  const auto button = [&](const char* text, bool possible, const char* what) {
    ImGui::BeginDisabled(!possible);
    const bool pressed = quiet_button(text, colours, px(46));
    ImGui::EndDisabled();
    explain(what);
    ImGui::SameLine(0, 0);
    return pressed;
  };
  History& history = memory.history;
  if (button("undo###undo", history.can_undo(session), "Takes back the last change of anything. A drag is one change. Ctrl+Z."))
    history.undo(session);
  if (button("redo###redo", history.can_redo(session), "Does again what was taken back. Ctrl+Shift+Z or Ctrl+Y."))
    history.redo(session);
  if (button("copy###copy", true, "The session as text, to the clipboard: for a colleague, an issue, a file. Ctrl+C."))
    wishes.copy = true;
  if (button("paste###paste", true, "A session's text from the clipboard instead of what is here. Ctrl+V; Ctrl+Z takes it back.")) {
    const char* text = ImGui::GetClipboardText();
    wishes.paste = true;
    wishes.paste_text = text != nullptr ? text : "";
  }
}

}  // namespace

void draw_top_bar(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  if (begin_bar("Top bar", view->Pos.y, px(36))) {
    const ImVec2 at = ImGui::GetWindowPos();
    const float text_y = at.y + (px(36) - px(15)) / 2;
    ImDrawList* list = ImGui::GetWindowDrawList();
    float x = at.x + px(12);
    {
      const WithFace f(Face::body);
      ImGui::PushFont(fonts().semibold, size::body);
      const ImVec2 extent = ImGui::CalcTextSize("Attoscope");
      list->AddText({x, text_y}, colours.text, "Attoscope");
      ImGui::PopFont();
      x += extent.x + px(24);
    }
    const float tab = text_width(Face::body, "Explore") + px(28);
    draw_text({x + tab / 2, text_y}, Face::body, colours.text, "Explore", 0.5f);
    list->AddRectFilled({x, at.y + px(34)}, {x + tab, at.y + px(36)}, colours.accent);
    list->AddLine({at.x, at.y + px(36) - 1}, {at.x + view->Size.x, at.y + px(36) - 1}, colours.line);
    const float buttons = px(70 + 8 + 4 * 46 + 8 + 66 + 26 + 52 + 26 + 62 + 16);
    ImGui::SetCursorScreenPos({at.x + view->Size.x - px(8) - buttons, at.y + px(4)});
    presets_button(session, frame, memory, colours);
    ImGui::SameLine(0, px(8));
    history_buttons(session, memory, colours, wishes);
    ImGui::SameLine(0, px(8));
    const Theme other = next(session.view.theme);
    if (quiet_button((std::string(other == Theme::high_contrast ? "contrast" : theme_names[static_cast<std::size_t>(other)]) + "###theme").c_str(), colours, px(66)))
      session.view.theme = other;
    explain("Dark, light or high-contrast theme. Key T.");
    ImGui::SameLine(0, px(8));
    scale_buttons(session.view, colours);
    ImGui::SameLine(0, px(8));
    if (quiet_button("keys###help", colours, px(62))) memory.show_help = !memory.show_help;
    explain("All keys. Key H.");
  }
  ImGui::End();
}

void draw_status_bar(const Frame& frame, const Palette& colours) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const float height = px(26);
  if (begin_bar("Status bar", view->Pos.y + view->Size.y - height, height)) {
    const ImVec2 at = ImGui::GetWindowPos();
    ImGui::GetWindowDrawList()->AddLine(at, {at.x + view->Size.x, at.y}, colours.line);
    float x = at.x + px(12);
    const auto item = [&](Face face, Colour colour, const std::string& text, float least, const char* what) {
      const float width = std::max(least, text_width(face, text));
      ImGui::SetCursorScreenPos({x, at.y});
      ImGui::Dummy({width, height});
      explain(what);
      draw_text({x, at.y + (height - line_height(face)) / 2}, face, colour, text);
      x += width + px(22);
    };
    item(Face::small, colours.secondary, frame.device, 0, "What computes.");
    // A message that would be cut takes the place of what is said about the answer.
    const float numbers = px(140 + 120 + 180 + 3 * 22 + 12);
    const bool room_for_both = x + numbers + text_width(Face::small, frame.message) < at.x + view->Size.x;
    if (frame.result && room_for_both) {
      const Result& r = *frame.result;
      item(Face::mono_small, is_first_answer(r) ? colours.accent : colours.secondary, rows_text(r), px(140), "Query rows that the picture and the statistics hold.");
      item(Face::mono_small, colours.secondary, printed("update %6.1f ms", r.timing.total), px(120),
           "Time of the last answer: inputs, golden value, a, b, deviations, trace.");
      item(Face::mono_small, colours.secondary, printed("digest a %016llx", static_cast<unsigned long long>(r.digests.a)),
           px(180), "Hash of the bits of a's output: the same on every machine for the same experiment.");
    }
    const std::string hint = "drop a .safetensors or .npy file anywhere";
    const float hint_left = at.x + view->Size.x - px(12) - text_width(Face::small, hint);
    if (!frame.message.empty()) {
      const float room = at.x + view->Size.x - px(12) - x;
      item(Face::small, colours.bad, fitted(Face::small, frame.message, room), 0, frame.message.c_str());
    } else {
      if (!frame.note.empty() && x + text_width(Face::small, frame.note) < hint_left)
        item(Face::small, colours.good, frame.note, 0, frame.note.c_str());
      if (frame.computing && frame.computing_seconds > 0.1 && x + px(80) < hint_left)
        item(Face::small, colours.accent, printed("computing %.1f s", frame.computing_seconds), px(100),
             "An answer to what the controls ask is on its way.");
      if (hint_left > x)
        draw_text({hint_left, at.y + (height - line_height(Face::small)) / 2}, Face::small, colours.faint, hint);
    }
  }
  ImGui::End();
}

}  // namespace attoscope
