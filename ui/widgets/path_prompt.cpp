#include "ui/widgets/path_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/arithmetic/quoted.h"
#include "ui/frame/frame.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {
namespace {

constexpr const char* held_files = "files";  ///< payload: the use of the field under the files

constexpr std::size_t most_suggestions = 8;

/// The longest common prefix of whole characters; "" for no texts.
std::string common_beginning(const std::vector<std::string>& all) {
  if (all.empty()) return "";
  const auto [least, most] = std::ranges::minmax(all);
  const auto same = std::ranges::mismatch(least, most).in1 - least.begin();
  return std::string(first_characters(least, static_cast<std::size_t>(same)));
}

/// Replaces the text of a field by its completion.
int complete(ImGuiInputTextCallbackData* data) {
  data->DeleteChars(0, data->BufTextLen);
  data->InsertChars(0, static_cast<const std::string*>(data->UserData)->c_str());
  return 0;
}

/// A clickable line: a file's name at the left, its folder (shortened) at the right.
bool suggestion(const std::string& path, const std::string& reason, int index, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = px(22);
  const std::string id = "##suggestion " + std::to_string(index);
  const bool pressed = if_possible(reason.empty(), [&] {
    return ImGui::Selectable(id.c_str(), false, ImGuiSelectableFlags_NoAutoClosePopups, {width, height});
  });
  explain(path, reason);
  const std::size_t cut = path.find_last_of('/', path.size() - 2) + 1;
  const std::string name = fitted(Face::small, path.substr(cut), width * 0.7f);
  draw_in_line(at, height, Face::small, reason.empty() ? colours().text : colours().faint, name);
  const float room = width - text_width(Face::small, name) - px(16);
  if (room > px(40))
    draw_in_line({at.x + width, at.y}, height, Face::small, colours().faint, fitted(Face::small, path.substr(0, cut), room), 1);
  return pressed;
}

/// Places the next popup under the last item.
void set_popup_place() {
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  ImGui::SetNextWindowPos({min.x, max.y + px(4)}, ImGuiCond_Appearing);
}

/// Tensors of the file whose path is being typed, one line each.
void content_lines(const FileContent& content, float width) {
  for (std::size_t i = 0; i < content.tensors.size() && i < most_suggestions; ++i)
    label(Face::small, colours().text, fitted(Face::small, content.tensors[i], width));
  if (content.tensors.size() > most_suggestions)
    label(Face::small, colours().secondary, fmt::format("and {} more", content.tensors.size() - most_suggestions));
}

}  // namespace

bool must_type(FileUse use, const PanelInput& input, Requests& requests) {
  if (input.sessions.has_dialogs) requests.files.ask = use;
  return !input.sessions.has_dialogs;
}

bool file_entries(FileUse use, const PanelInput& input, Requests& requests, std::string_view what) {
  bool types = ImGui::Selectable("open a file ...") && must_type(use, input, requests);
  explain(what);
  if (!input.sessions.has_dialogs) return types;
  types |= ImGui::Selectable("a recent file, or a typed path ...");
  explain("Recently opened files, and a field for a path, which may end in the head or the order of dimensions.");
  return types;
}

void hold_files() {
  constexpr ImGuiDragDropFlags flags = ImGuiDragDropFlags_SourceExtern | ImGuiDragDropFlags_SourceNoPreviewTooltip;
  if (!ImGui::BeginDragDropSource(flags)) return;
  const std::optional<FileUse> nowhere;
  ImGui::SetDragDropPayload(held_files, &nowhere, sizeof nowhere);
  ImGui::EndDragDropSource();
}

void takes_files(FileUse use) {
  if (!ImGui::BeginDragDropTarget()) return;
  if (const ImGuiPayload* held = ImGui::AcceptDragDropPayload(held_files, ImGuiDragDropFlags_AcceptBeforeDelivery))
    *static_cast<std::optional<FileUse>*>(held->Data) = use;
  ImGui::EndDragDropTarget();
}

std::optional<FileUse> held_over() {
  const ImGuiPayload* held = ImGui::GetDragDropPayload();
  return held != nullptr && held->IsDataType(held_files) ? *static_cast<std::optional<FileUse>*>(held->Data) : std::nullopt;
}

PromptOutcome prompt_outcome(PathPrompt& prompt, const PanelInput& input, bool failed) {
  if (ImGui::IsWindowAppearing()) prompt.asked = prompt.failed = prompt.edited = false;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) return {.done = true};
  if (!prompt.asked || input.answer.reading) return {};
  prompt.asked = false;
  prompt.failed = failed;
  return {.done = !failed, .just_failed = failed};
}

void set_menu_place() {
  const ImVec2 screen = ImGui::GetMainViewport()->Size;
  set_popup_place();
  ImGui::SetNextWindowSizeConstraints({0, 0}, {screen.x, screen.y - px(36 + 26 + 8)});
}

bool path_field(const char* id, const char* hint, PathPrompt& prompt, const PanelInput& input, float width, bool focus) {
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(width);
  if (focus || std::exchange(prompt.refocus, false)) ImGui::SetKeyboardFocusHere();
  const FileContent& content = input.choices.content;
  std::string completed = content.files == prompt.typed ? common_beginning(content.completions) : std::string();
  const bool goes_on = completed.size() > prompt.typed.size();  // else Tab goes to the next control
  const bool entered = ImGui::InputTextWithHint(id, hint, &prompt.typed,
                                                ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll |
                                                    (goes_on ? ImGuiInputTextFlags_CallbackCompletion : 0),
                                                goes_on ? complete : nullptr, &completed);
  if (ImGui::IsItemEdited()) {
    prompt.failed = false;
    prompt.edited = true;
  }
  return entered && !prompt.typed.empty();
}

bool path_suggestions(PathPrompt& prompt, const PanelInput& input, FileUse use, float width, Requests& requests) {
  requests.files.look = prompt.typed;
  requests.files.look_for = use;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  const FileContent& content = input.choices.content;
  const bool looked = !prompt.typed.empty() && content.files == prompt.typed,
             shows_recent = !prompt.edited || prompt.typed.empty();
  int index = 0;
  bool chosen = false;
  const auto offer = [&](const std::string& path, const std::string& reason) {
    if (!suggestion(path, reason, index++, width)) return;
    prompt.typed = path;
    prompt.edited = true;
    chosen = !path.ends_with('/');
    prompt.refocus = !chosen;
  };
  if (use != FileUse::session && shows_recent)
    for (const RecentSession& r : input.sessions.tensors)
      if (static_cast<std::size_t>(index) < most_suggestions) offer(r.file, r.reason);
  const std::vector<std::string> completions = looked && prompt.edited ? content.completions : std::vector<std::string>();
  for (const std::string& path : completions)
    if (static_cast<std::size_t>(index) < most_suggestions && path != prompt.typed) offer(path, "");
  ImGui::PopStyleVar();
  if (completions.size() > most_suggestions)
    label(Face::small, colours().secondary, fmt::format("and {} more", completions.size() - most_suggestions));
  if (looked) content_lines(content, width);
  return chosen;
}

void path_popup(const char* id, PathPrompt& prompt, const PanelInput& input, const PathTexts& texts, Requests& requests,
                bool as_b) {
  if (prompt.wanted_for > 0 && ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows) && --prompt.wanted_for == 0)
    ImGui::OpenPopup(id);
  set_popup_place();
  if (!ImGui::BeginPopup(id)) return;
  const bool appearing = ImGui::IsWindowAppearing();
  requests.files.list_sessions |= appearing;
  const PromptOutcome outcome = prompt_outcome(prompt, input, input.messages.load_failed);
  if (outcome.done) ImGui::CloseCurrentPopup();
  const float width = px(400), button = px(48);
  label(Face::small, colours().secondary, texts.above);
  const bool entered = path_field("##path", "", prompt, input, width - button - px(8), appearing || outcome.just_failed);
  explain(texts.what, texts.formula);
  ImGui::SameLine();
  const bool pressed = push_button("open", false, {button, 0});
  explain(texts.button);
  if (prompt.failed) wrapped(Face::label, colours().bad, input.messages.error, width);
  const bool clicked = path_suggestions(prompt, input, texts.use, width, requests);
  if ((pressed || entered || clicked) && !prompt.typed.empty()) {
    prompt.asked = true;
    requests.files.open = FileRequest{texts.use, prompt.typed, as_b};
  }
  ImGui::EndPopup();
}

}  // namespace attoscope::ui
