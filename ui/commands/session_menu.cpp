#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "ui/commands/bars.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

using Act = SessionRequest::Act;

constexpr float menu_width = 440;
constexpr std::string_view packed_ending = ".attoscope.zip";

std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/') + 1); }
std::string file_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// A line of the menu: the action at the left, a key or a folder at the right.
bool menu_row(const char* id, std::string_view text, std::string_view aside, bool possible = true) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = px(menu_line_height), pad = px(8), width = px(menu_width);
  const bool pressed = if_possible(possible, [&] { return ImGui::Selectable(id, false, 0, {width, height}); });
  const auto y = [&](Face face) { return at.y + (height - line_height(face)) / 2; };
  const std::string shown = fitted(Face::body, text, width * 0.6f);
  draw_text({at.x + pad, y(Face::body)}, Face::body, possible ? colours().text : colours().faint, shown);
  const float room = width - 3 * pad - text_width(Face::body, shown);
  const std::string right =
      text_width(Face::mono_small, aside) <= room ? std::string(aside) : fitted(Face::mono_small, aside, room);
  draw_text({at.x + width - pad, y(Face::mono_small)}, Face::mono_small, colours().faint, right, 1);
  return pressed;
}

/// New, open, save, save as.
void file_rows(const PanelInput& input, UiState& state, Requests& requests) {
  const SessionFiles& files = input.sessions;
  if (menu_row("##new", "new", "Ctrl+N")) ask_session(Act::fresh, input, state, requests);
  explain("The example that the program starts with, in a new session. Ctrl+Z brings the current session back.");
  if (menu_row("##open", "open …", "Ctrl+O", !files.asking)) ask_session(Act::open, input, state, requests);
  explain("Opens another session; Ctrl+Z brings the current one back. Dropping the file onto the window does the same.");
  if (menu_row("##save", "save", "Ctrl+S", !files.asking)) ask_session(Act::save, input, state, requests);
  explain(files.file.empty()
              ? "Asks for a name and saves the session there. Unsaved sessions are not lost: the window opens on the last one."
              : files.file);
  if (menu_row("##save as", "save as …", "Ctrl+Shift+S", !files.asking)) ask_session(Act::save_as, input, state, requests);
  explain("Saves the session under another name and continues with that file.");
  if (menu_row("##pack", "save with its tensors …", "", !files.asking)) ask_session(Act::pack, input, state, requests);
  explain(
      "Writes one file NAME.attoscope.zip with the session and the heads that it uses. It opens on any machine. The session "
      "continues with its own file.");
}

/// A text field for a path; some desktops have no file dialog.
void typed_row(const PanelInput& input, UiState& state, Requests& requests) {
  SessionMenuState& menu = state.popups.session_menu;
  const bool failed = menu.entered == Act::open ? input.messages.load_failed : !input.messages.error.empty();
  const PromptOutcome outcome = prompt_outcome(menu.path, input, failed);
  if (outcome.done) ImGui::CloseCurrentPopup();
  const auto ask = [&](Act act) {
    requests.files.session = SessionRequest{menu.entered = act, menu.path.typed};
    menu.path.asked = true;
  };
  const float gap = px(8), pad = px(8), open = px(56), save = px(72);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + pad);
  const bool focus = std::exchange(menu.typing, false) || outcome.just_failed;
  if (path_field("##path", "folder/name.json", menu.path, input, px(menu_width) - open - save - 2 * gap - 2 * pad, focus))
    ask(menu.entered);
  explain("The path of a session file; ~ is your home folder. Enter opens the file or saves to it, as in the last request.");
  ImGui::SameLine(0, gap);
  ImGui::BeginDisabled(menu.path.typed.empty());
  if (push_button("open###open path", menu.entered == Act::open, {open, 0})) ask(Act::open);
  explain("Opens the session at this path.");
  ImGui::SameLine(0, gap);
  if (push_button("save as###save path", menu.entered == Act::save_as, {save, 0})) ask(Act::save_as);
  explain(
      "Saves the session at this path; .attoscope.json is added if .json is missing; .attoscope.zip also holds its tensors. "
      "An existing session is kept beside the new one.");
  ImGui::EndDisabled();
  ImGui::Dummy({0, px(4)});
  ImGui::Indent(pad);
  if (menu.path.failed) wrapped(Face::label, colours().bad, input.messages.error, px(menu_width) - 2 * pad);
  if (path_suggestions(menu.path, input, FileUse::session, px(menu_width) - 2 * pad, requests)) ask(menu.entered);
  ImGui::Unindent(pad);
}

void recent_rows(const SessionFiles& files, Requests& requests) {
  int index = 0;
  for (const RecentSession& r : files.recent) {
    const std::string id = "##recent " + std::to_string(index++);
    const bool possible = r.reason.empty();
    if (menu_row(id.c_str(), file_of(r.file), possible ? folder_of(r.file) : r.reason, possible && r.file != files.file))
      requests.files.session = SessionRequest{Act::open, r.file};
    explain(r.file, r.reason);
  }
  if (files.recent.empty()) label(Face::small, colours().faint, "  Sessions that were opened or saved are listed here.");
}

void text_rows(Requests& requests) {
  if (menu_row("###copy", "copy as text", "Ctrl+C")) requests.clipboard.copy = true;
  explain("Copies the session to the clipboard as text, for a colleague, an issue or a file.");
  if (menu_row("###copy link", "copy link", "")) requests.clipboard.copy_link = true;
  explain(
      "Copies a link that opens the session in another window, or in the page of ATTOSCOPE_PAGE; the link only names files.");
  if (menu_row("###paste", "paste", "Ctrl+V")) {
    const char* text = ImGui::GetClipboardText();
    requests.clipboard.paste = true;
    requests.clipboard.paste_text = text != nullptr ? text : "";
  }
  explain("Opens a session from text on the clipboard; Ctrl+Z undoes it.");
}

void menu(const PanelInput& input, UiState& state, Requests& requests) {
  const WithSpacing spacing({0, 0});
  file_rows(input, state, requests);
  ImGui::Dummy({0, px(4)});
  typed_row(input, state, requests);
  ImGui::Dummy({0, px(8)});
  section("  RECENT");
  recent_rows(input.sessions, requests);
  ImGui::Dummy({0, px(8)});
  section("  AS TEXT");
  text_rows(requests);
  const bool chosen = requests.files.session && !state.popups.session_menu.path.asked;
  if (chosen || requests.clipboard.copy || requests.clipboard.copy_link || requests.clipboard.paste) ImGui::CloseCurrentPopup();
}

/// The session's name, a dot if it is unsaved, and a triangle; the layout is the same without the dot.
void draw_name(const SessionFiles& files, ImVec2 min, ImVec2 max) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float middle = std::floor((min.y + max.y) / 2), left = min.x + px(20), right = max.x - px(16);
  if (files.unsaved) list->AddCircleFilled({min.x + px(10), middle}, px(3), colours().accent);
  draw_fitted({left, middle - line_height(Face::label) / 2}, Face::label, colours().secondary, session_name(files),
              right - left - px(4));
  list->AddTriangleFilled({right, middle - px(2)}, {right + px(8), middle - px(2)}, {right + px(4), middle + px(3)},
                          colours().faint);
}

}  // namespace

std::string session_name(const SessionFiles& files) {
  if (files.file.empty()) return "untitled";
  const std::string name = file_of(files.file);
  for (const std::string_view ending : {packed_ending, std::string_view(".attoscope.json"), std::string_view(".json")})
    if (name.ends_with(ending) && name.size() > ending.size()) return name.substr(0, name.size() - ending.size());
  return name;
}

std::string window_title(const SessionFiles& files) {
  return (files.unsaved ? "● " : "") + session_name(files) + " — Attoscope";
}

void ask_session(Act act, const PanelInput& input, UiState& state, Requests& requests) {
  const bool names_file =
      act == Act::open || act == Act::save_as || act == Act::pack || (act == Act::save && input.sessions.file.empty());
  if (!names_file || input.sessions.has_dialogs) {
    requests.files.session = SessionRequest{act, ""};
    return;
  }
  SessionMenuState& menu = state.popups.session_menu;
  menu.asked = menu.typing = true;
  menu.entered = act == Act::save ? Act::save_as : act;
  const std::string& file = input.sessions.file;
  if (menu.entered == Act::save_as) menu.path.typed = file.empty() ? input.sessions.proposed : file;
  if (menu.path.typed.empty()) menu.path.typed = file;
  if (act == Act::pack)
    menu.path.typed = (input.sessions.file.empty() ? "" : folder_of(input.sessions.file)) + session_name(input.sessions) +
                      std::string(packed_ending);
}

void session_button(const PanelInput& input, UiState& state, Requests& requests) {
  const SessionFiles& files = input.sessions;
  const bool pressed = quiet_button("###session", px(session_button_width));
  explain(files.unsaved ? "The open session; the dot means that it has unsaved changes." : "The open session.", files.file);
  draw_name(files, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  if (std::exchange(state.popups.session_menu.asked, false) || pressed) ImGui::OpenPopup("session menu");
  set_menu_place();
  if (!ImGui::BeginPopup("session menu")) return;
  requests.files.list_sessions = ImGui::IsWindowAppearing();
  menu(input, state, requests);
  ImGui::EndPopup();
}

bool shows_remarks(const PanelInput& input) { return input.messages.remarks.size() > 1; }

void draw_remarks(const PanelInput& input, Requests& requests) {
  if (!shows_remarks(input)) return;
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const float width = std::min(px(640), view->Size.x - px(32)), pad = px(20);
  ImGui::SetNextWindowPos(view->GetCenter(), ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::SetNextWindowSizeConstraints({width, 0}, {width, view->Size.y - px(36 + 26 + 16)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {pad, px(16)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGui::Begin("Remarks", nullptr,
               ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoSavedSettings);
  ImGui::PopStyleVar(2);
  label(Face::headline, colours().text, "Not all of the session could be used");
  label(Face::label, colours().secondary, "The rest is as in its file. Saving keeps that file beside the new one.");
  const float room = width - 2 * pad - ImGui::GetStyle().ScrollbarSize;
  for (const std::string& remark : input.messages.remarks) {
    ImGui::Dummy({0, px(2)});
    wrapped(Face::label, remark, room);
  }
  ImGui::Dummy({0, px(4)});
  if (push_button("close###remarks read")) requests.remarks_read = true;
  explain("Closes the list. Esc.");
  ImGui::End();
}

}  // namespace attoscope::ui
