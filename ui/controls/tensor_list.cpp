// All tensors of a file, and those used as Q, K, V, O and dO.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "imgui_internal.h"
#include "ui/controls/controls.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

using Entries = std::span<const TensorEntry>;

/// Height of the buttons of the parts at scale 1, in whose middle a row's texts are.
constexpr float part_height = 18;

const char* letter_of(CallPartName part) { return call_part_names[part].data(); }

/// The list on show and the choices in it.
struct TensorTree {
  const Frame& frame;
  const TensorList& list;
  TensorListState& state;

  std::string& chosen(CallPartName part) const { return state.chosen[static_cast<std::size_t>(part)]; }
};

/// The tensor for `part` of the call that contains `beside`: the chosen tensor, else of the tensors taken as `part` the
/// one with the longest common name prefix; "": none, or several equally long.
std::string taken_beside(const TensorTree& t, CallPartName part, const TensorEntry& beside) {
  if (!t.chosen(part).empty()) return t.chosen(part);
  std::string best;
  std::ptrdiff_t longest = 0;
  bool one = false;
  for (const TensorEntry& e : t.list.tensors) {
    if (e.taken != part) continue;
    const std::ptrdiff_t length = std::ranges::mismatch(e.name, beside.name).in1 - e.name.begin();
    one = best.empty() || length > longest || (one && length < longest);
    if (best.empty() || length > longest) {
      best = e.spec;
      longest = length;
    }
  }
  return one ? best : "";
}

/// Uses a tensor as a part of the call; requests the call if Q, K and V are known.
void take_tensor(const TensorTree& t, CallPartName part, const TensorEntry& entry) {
  FileRequests& files = t.frame.requests.files;
  if (part == CallPartName::d_o) {
    files.open = FileRequest{.use = FileUse::d_o, .spec = entry.spec};
    return;
  }
  t.chosen(part) = entry.spec;
  std::string call;
  for (const CallPartName p : {CallPartName::q, CallPartName::k, CallPartName::v}) {
    const std::string spec = taken_beside(t, p, entry);
    if (spec.empty()) return;
    call += (call.empty() ? "" : ",") + spec;
  }
  const bool compares = !t.chosen(CallPartName::o).empty() || !t.frame.session.experiment.loaded.file.empty();
  const std::string output = compares ? taken_beside(t, CallPartName::o, entry) : "";
  files.open = FileRequest{.spec = call + (output.empty() ? "" : "," + output), .choice_of = t.list.all};
}

/// Buttons of the parts, lit if the tensor is used as the part.
void part_buttons(const TensorTree& t, const TensorEntry& e) {
  for (std::size_t i = 0; i < call_part_names.size(); ++i) {
    const auto part = static_cast<CallPartName>(i);
    const bool chosen = t.chosen(part).empty() ? e.taken == part : t.chosen(part) == e.spec;
    if (i > 0) ImGui::SameLine(0, px(2));
    if (push_button(fmt::format("{}###{} {}", letter_of(part), letter_of(part), e.name).c_str(), chosen,
                    {px(part == CallPartName::d_o ? 28 : 22), px(part_height)}))
      take_tensor(t, part, e);
    explain(chosen ? fmt::format("Used as {}: {}.", letter_of(part), e.why.empty() ? "chosen" : e.why)
                   : fmt::format("Uses {} as {}. The others stay; the choice is kept for this file.", e.name, letter_of(part)));
  }
}

/// The numbers of the opened tensor.
std::string tensor_numbers(const TensorTree& t) {
  const TensorStatistics* const s = t.frame.input.side.tensor_statistics.get();
  return s == nullptr || s->spec != t.state.opened ? "its numbers are being read" : statistics_text(*s);
}

/// A line over all columns, below a tensor's row.
void draw_line_below(const std::string& text) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::Indent();
  const float room = ImGui::GetCurrentTable()->WorkRect.Max.x - ImGui::GetCursorScreenPos().x;
  ImGui::TablePushBackgroundChannel();
  label(Face::small, colours().secondary, fitted(Face::small, text, room));
  ImGui::TablePopBackgroundChannel();
  explain(text);
  ImGui::Unindent();
}

/// A row for a tensor; if it is opened, a line with its numbers below.
void draw_tensor(const TensorTree& t, const TensorEntry& e, std::size_t from) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const bool was_open = t.state.opened == e.spec;
  ImGui::SetNextItemOpen(was_open);
  ImGui::PushStyleVarY(ImGuiStyleVar_FramePadding, std::max(0.0f, (px(part_height) - ImGui::GetFontSize()) / 2));
  ImGui::AlignTextToFramePadding();
  const bool open = ImGui::TreeNodeEx((e.name.substr(from) + "###" + e.name).c_str(), ImGuiTreeNodeFlags_NoTreePushOnOpen);
  ImGui::PopStyleVar();
  if (open != was_open) t.state.opened = open ? e.spec : "";
  explain(e.name + ": " + e.shape + " " + e.type + (e.refusal.empty() ? ". A click reads its numbers." : ". " + e.refusal));
  for (const std::string* const text : {&e.shape, &e.type}) {
    ImGui::TableNextColumn();
    label(Face::mono_small, e.refusal.empty() ? colours().text : colours().faint, *text);
  }
  ImGui::TableNextColumn();
  if (e.refusal.empty()) part_buttons(t, e);
  ImGui::TableNextColumn();
  const std::string& why = e.refusal.empty() ? e.why : e.refusal;
  label(Face::small, colours().secondary, fitted(Face::small, why, ImGui::GetContentRegionAvail().x));
  explain(why);
  if (!open) return;
  if (e.refusal.empty()) t.frame.requests.side.tensor_statistics = e.spec;
  draw_line_below(e.refusal.empty() ? tensor_numbers(t) : e.refusal);
}

/// Groups tensors whose names agree up to the next dot into nodes, and draws them.
void draw_level(const TensorTree& t, Entries entries, std::size_t from, bool open) {
  while (!entries.empty()) {
    const std::string& first = entries.front().name;
    const std::size_t dot = first.find('.', from);
    const std::string begin = first.substr(0, dot == std::string::npos ? dot : dot + 1);
    const auto differs = std::ranges::find_if(entries, [&](const TensorEntry& e) { return !e.name.starts_with(begin); });
    const auto count = dot == std::string::npos ? 1 : static_cast<std::size_t>(differs - entries.begin());
    const Entries within = entries.first(count);
    entries = entries.subspan(count);
    if (count == 1) {
      draw_tensor(t, within.front(), from);
      continue;
    }
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    const auto taken = std::ranges::find_if(t.list.tensors, [](const TensorEntry& e) { return e.taken.has_value(); });
    const bool opens = open || count == t.list.tensors.size() ||
                       (taken != t.list.tensors.end() && taken->name.starts_with(begin));  // down to the first tensor used
    const int flags = ImGuiTreeNodeFlags_SpanAllColumns | (opens ? ImGuiTreeNodeFlags_DefaultOpen : 0);
    if (!ImGui::TreeNodeEx(fmt::format("{}  ({})###{}", first.substr(from, dot - from), count, begin).c_str(), flags)) continue;
    draw_level(t, within, begin.size(), open);
    ImGui::TreePop();
  }
}

/// In a narrow panel only names and letters are shown: tooltips have the rest. A narrower one scrolls.
void draw_tree(const TensorTree& t) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float least = px(300);
  const bool scrolls = room.x < least;
  const ImGuiTableFlags flags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_Resizable | ImGuiTableFlags_RowBg |
                                ImGuiTableFlags_NoBordersInBody | (scrolls ? ImGuiTableFlags_ScrollX : ImGuiTableFlags_None);
  const ImGuiTableColumnFlags more = room.x < px(560) ? ImGuiTableColumnFlags_Disabled : ImGuiTableColumnFlags_None;
  constexpr std::size_t few = 24;  // all fit on screen
  if (!ImGui::BeginTable("tensors", 5, flags, room, scrolls ? least : 0)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch, 3);
  ImGui::TableSetupColumn("shape", ImGuiTableColumnFlags_WidthFixed | more, px(108));
  ImGui::TableSetupColumn("type", ImGuiTableColumnFlags_WidthFixed | more, px(48));
  ImGui::TableSetupColumn("taken as", ImGuiTableColumnFlags_WidthFixed, px(132));
  ImGui::TableSetupColumn("why", ImGuiTableColumnFlags_WidthStretch | more, 4);
  ImGui::TableHeadersRow();
  draw_level(t, t.list.tensors, 0, t.list.tensors.size() <= few);
  ImGui::EndTable();
}

/// A sentence on the missing parts, on a problem, or on how to choose.
std::string sentence_of(const TensorTree& t) {
  std::string pending;
  for (const CallPartName part : {CallPartName::q, CallPartName::k, CallPartName::v})
    if (t.chosen(part).empty() &&
        std::ranges::find(t.list.tensors, std::optional(part), &TensorEntry::taken) == t.list.tensors.end())
      pending += (pending.empty() ? "" : ", ") + std::string(letter_of(part));
  const bool begun = std::ranges::any_of(t.state.chosen, [](const std::string& spec) { return !spec.empty(); });
  if (!pending.empty() && begun) return "Still missing: " + pending + ".";
  return t.list.problem.empty() ? "A lit letter: the tensor is used as this part. Click a letter of another tensor to use that."
                                : t.list.problem;
}

}  // namespace

std::string statistics_text(const TensorStatistics& s) {
  if (s.count == 0) return "it is empty";
  const std::string numbers = counted(static_cast<std::int64_t>(s.count), "number");
  if (s.count == s.nonfinite) return numbers + ", none of them finite";
  return fmt::format("{}, {} .. {}, mean {}, RMS {}, {}, {} not finite", numbers, scientific(s.least), scientific(s.most),
                     signed_scientific(s.mean, 3), scientific(s.rms), counted(static_cast<std::int64_t>(s.zeros), "zero"),
                     s.nonfinite);
}

void draw_tensors(const Frame& frame) {
  View& view = frame.session.view;
  frame.state.tensors.shown |= !ImGui::IsWindowAppearing();
  const Input& input = frame.session.experiment.problem.input;
  const std::string of_input = input.kind == InputKind::tensors ? input.file : std::string();
  const std::string file = view.listed_file.empty() ? of_input : view.listed_file;
  const float right = ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - px(24);
  const TensorList* const list = frame.input.side.tensors.get();
  const bool known = list != nullptr && list->file == file;
  label(Face::label, colours().text,
        file.empty() ? "No file is open"
        : known      ? fmt::format("{}: {} tensors", shown_file(file), list->tensors.size())
                     : shown_file(file));
  ImGui::SameLine(right);
  if (push_button("×###close tensors", false, {px(24), px(20)})) {
    view.show_tensors = false;
    view.listed_file.clear();
  }
  explain("Closes the list of tensors.");
  if (file.empty()) return;
  frame.requests.side.tensors = file;
  if (!known) return;
  TensorListState& state = frame.state.tensors;
  if (state.file != file) state = {.shown = state.shown, .file = file};
  const TensorTree tree{frame, *list, state};
  if (list->all != list->file) {
    if (push_button("as named###as named")) frame.requests.files.open = FileRequest{.spec = list->all, .choice_of = list->all};
    explain("Chooses the tensors by name again, and forgets the choice for this file.");
  }
  wrapped(Face::small, list->problem.empty() ? colours().secondary : colours().bad, sentence_of(tree),
          ImGui::GetContentRegionAvail().x);
  const WithFace small(Face::small);
  draw_tree(tree);
}

}  // namespace attoscope::ui
