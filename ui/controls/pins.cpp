#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/controls/controls.h"
#include "ui/frame/frame.h"
#include "ui/picture/heatmap_view.h"
#include "ui/session/settings.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope {

namespace {

double or_not_finite(double error) { return std::isfinite(error) ? error : -1; }

std::string name_of(const Experiment& e) {
  const NearestPolicy policy = nearest_policy(e.a.precision, e.a.algorithm);
  std::string text(name(e.a.algorithm));
  text.append(" ").append(policy.name).append(policy.changed > 0 ? "* " : " ").append(name(e.format));
  text.append(" N ").append(std::to_string(e.problem.n));
  if (key_count(e.problem) != e.problem.n) text.append("×").append(std::to_string(key_count(e.problem)));
  if (e.problem.mask.kind != Mask::Kind::none)
    text.append(" ").append(mask_names[static_cast<std::size_t>(e.problem.mask.kind)]);
  return text;
}

/// The experiment without its files' values, which are read again on restore.
Experiment without_values(Experiment e) {
  e.problem.input.tensors.reset();
  e.loaded.values.reset();
  return e;
}

constexpr float entry_height = 64, picture_scale = 2;

/// The error in as many digits as fit; with fewer than three there is no room for both words.
std::string error_text(double error, int digits = 3) {
  return error >= 0 ? scientific(error, digits) : digits < 3 ? "NaN" : "NaN, inf";
}
std::string ratio_text(double a, double b) { return times(a < 0 || b < 0 ? std::nan("") : a / b); }

/// Name, numbers and digest of a pin beside its thumbnail.
void draw_summary(ImVec2 at, float width, const Pin& pin, bool current, bool named) {
  if (named)
    draw_text({at.x, at.y}, Face::label, current ? colours().accent : colours().text,
              fitted(Face::label, pin.name, width - px(32)));
  const float y = at.y + px(19), ratio = px(36), end = std::min(px(160), width - px(36));  // buttons follow
  const int digits = end < px(152) ? 2 : 3;
  draw_text({at.x + ratio, y}, Face::mono_small, colours().text, ratio_text(pin.a_mean, pin.b_mean), 1);
  draw_text({at.x + (ratio + end) / 2, y}, Face::mono_small, colours().a, error_text(pin.a_mean, digits), 1);
  draw_text({at.x + end, y}, Face::mono_small, colours().b, error_text(pin.b_mean, digits), 1);
  draw_text({at.x, at.y + px(35)}, Face::mono_small, colours().faint, hex16(pin.digest));
}

/// Requests of the list in this frame; -1: none.
struct ListRequest {
  int restore = -1, as_b = -1, copy = -1, remove = -1, from = -1, to = -1;
};

void pin_menu(int i, PinState& state, const Pin& pin, ListRequest& request) {
  if (push_button("⋯###menu", false, {px(28), px(20)})) ImGui::OpenPopup("pin");
  explain("Restore, compare, rename, copy or delete this pin.");
  if (!ImGui::BeginPopup("pin")) return;
  const auto item = [](const char* text, const char* what) {
    const bool chosen = ImGui::Selectable(text);
    explain(what);
    return chosen;
  };
  if (item("restore", "Restores the pin's experiment. Ctrl+Z undoes it.")) request.restore = i;
  if (item("use its a as b", "Method b becomes the pin's method a, so that both are compared with the same golden value."))
    request.as_b = i;
  if (item("rename", "Renames the pin in place.")) state.renamed = i, state.typed_name = pin.name;
  if (item("copy as text", "Copies the pin to the clipboard as the text of a session.")) request.copy = i;
  if (item("delete", "Removes the pin from the list. Ctrl+Z undoes it.")) request.remove = i;
  ImGui::EndPopup();
}

/// Text field that renames a pin.
void edit_name(ImVec2 at, float width, std::string& name, PinState& state) {
  ImGui::SetCursorScreenPos({at.x, at.y - px(4)});
  const WithField f(Face::label, 22);
  ImGui::SetNextItemWidth(width);
  ImGui::SetKeyboardFocusHere();
  const bool entered = ImGui::InputText("##pin name", &state.typed_name, ImGuiInputTextFlags_EnterReturnsTrue);
  explain("The pin's name. Enter accepts it, Esc cancels.");
  constexpr std::size_t longest = 80;
  if (entered && !state.typed_name.empty()) name = state.typed_name.substr(0, longest);
  if (entered || ImGui::IsKeyPressed(ImGuiKey_Escape) || ImGui::IsItemDeactivated()) state.renamed = -1;
}

/// Marks the pin as one of the two compared, or unmarks it.
void mark(PinState& state, int i) {
  if (state.first == i)
    state.first = std::exchange(state.second, -1);
  else if (state.second == i)
    state.second = -1;
  else
    (state.first < 0 ? state.first : state.second) = i;
}

/// Source and target of dragging pins.
void drag_and_drop(int i, const Pin& pin, ListRequest& request) {
  if (ImGui::BeginDragDropSource(ImGuiDragDropFlags_SourceNoHoldToOpenOthers)) {
    ImGui::SetDragDropPayload("pin", &i, sizeof i);
    ImGui::TextUnformatted(pin.name.c_str());
    ImGui::EndDragDropSource();
  }
  if (!ImGui::BeginDragDropTarget()) return;
  if (const ImGuiPayload* payload = ImGui::AcceptDragDropPayload("pin"))
    request.from = *static_cast<const int*>(payload->Data), request.to = i;
  ImGui::EndDragDropTarget();
}

void draw_entry(int i, Pin& pin, bool current, PinState& state, const ThumbnailShades& shade, ListRequest& request) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = px(entry_height), picture = px(pin_width * picture_scale);
  ImGui::PushID(i);
  ImGui::SetNextItemAllowOverlap();
  if (ImGui::Selectable("##pin", false, ImGuiSelectableFlags_AllowOverlap, {width, height})) request.restore = i;
  explain("Click: restores this experiment. Drag: moves it in the list.", "a/b = mean |a - golden| / mean |b - golden|");
  drag_and_drop(i, pin, request);
  if (current) ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + px(3), at.y + height}, colours().accent);
  const ImVec2 text{at.x + picture + px(18), at.y + px(7)};
  draw_thumbnail({at.x + px(8), at.y + px(8)}, picture_scale, pin.thumbnail, shade);
  draw_summary(text, at.x + width - text.x, pin, current, state.renamed != i);
  if (state.renamed == i) edit_name(text, at.x + width - text.x - px(32), pin.name, state);
  ImGui::SetCursorScreenPos({at.x + width - px(32), at.y + px(6)});
  pin_menu(i, state, pin, request);
  ImGui::SetCursorScreenPos({at.x + width - px(32), at.y + height - px(26)});
  const bool marked = state.first == i || state.second == i;
  if (push_button(state.second == i  ? "2###compare"
                  : state.first == i ? "1###compare"
                                     : "vs###compare",
                  marked, {px(28), px(20)}))
    mark(state, i);
  explain("Marks this pin for a comparison; two marked pins are shown side by side below.");
  take_room({at.x, at.y + height}, {width, 0});
  ImGui::PopID();
}

void handle(const ListRequest& request, Session& session, PinState& state, Requests& requests) {
  std::vector<Pin>& pins = session.pins;
  if (request.restore >= 0) restore_pin(session, request.restore);
  if (request.as_b >= 0) state.complaint = compare_with_pin(session, request.as_b);
  if (request.copy >= 0) requests.clipboard.copy_pin = request.copy;
  if (request.remove >= 0) pins.erase(pins.begin() + request.remove);
  const int count = static_cast<int>(pins.size());
  if (request.from >= 0 && request.from < count && request.to >= 0 && request.to < count && request.from != request.to) {
    Pin moved = std::move(pins[static_cast<std::size_t>(request.from)]);
    pins.erase(pins.begin() + request.from);
    pins.insert(pins.begin() + request.to, std::move(moved));
  }
  if (request.remove >= 0 || request.from >= 0) state.first = state.second = state.renamed = -1;
}

/// One line of the comparison: name, and both values at the right.
void compared(std::string_view what, std::string_view x, std::string_view y, Colour shade) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, column = std::floor(width * 0.34f);
  draw_text(at, Face::mono_small, colours().secondary, fitted(Face::mono_small, what, width - 2 * column - px(4)));
  draw_text({at.x + width - column, at.y}, Face::mono_small, shade, fitted(Face::mono_small, x, column - px(6)), 1);
  draw_text({at.x + width, at.y}, Face::mono_small, shade, fitted(Face::mono_small, y, column - px(6)), 1);
  ImGui::Dummy({width, px(17)});
}

void draw_comparison(const Pin& x, const Pin& y) {
  section("1 AND 2 SIDE BY SIDE");
  ImGui::Dummy({0, px(6)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  compared("", x.name, y.name, colours().text);
  compared("a/b", ratio_text(x.a_mean, x.b_mean), ratio_text(y.a_mean, y.b_mean), colours().text);
  compared("a mean", error_text(x.a_mean), error_text(y.a_mean), colours().a);
  compared("a max", error_text(x.a_max), error_text(y.a_max), colours().a);
  compared("b mean", error_text(x.b_mean), error_text(y.b_mean), colours().b);
  compared("b max", error_text(x.b_max), error_text(y.b_max), colours().b);
  const bool same = x.digest == y.digest;
  compared("bits of a", same ? "same" : "differ", same ? "same" : "", same ? colours().good : colours().secondary);
  for (const Difference& d : differences(x.experiment, y.experiment)) compared(d.path, d.x, d.y, colours().text);
  ImGui::PopStyleVar();
}

void draw_head(Session& session, const PanelInput& input, PinState& state, Requests& requests) {
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  section(fmt::format("PINS {}", static_cast<int>(session.pins.size())));
  const ImVec2 below = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos({at.x + width - px(24), at.y});
  if (push_button("×###close pins", false, {px(24), px(20)})) session.view.show_pins = false;
  explain("Closes the list. Key Shift+K.");
  ImGui::SetCursorScreenPos({at.x, std::max(below.y, at.y + px(28))});
  if (push_button("keep this experiment###keep", false, {width - px(64), 0})) keep_pin(session, input, state);
  explain("Adds the present experiment to the list, with a picture and its numbers. It is saved in the session file. Key K.");
  ImGui::SameLine(0, px(8));
  if (push_button("paste###paste pins", false, {px(56), 0})) requests.clipboard.paste_pins = true;
  explain("Adds the pins of a session's text on the clipboard to the list.");
  if (!state.complaint.empty()) {
    wrapped(Face::label, colours().bad, state.complaint, width);
  }
}

}  // namespace

Pin make_pin(const Result& result) {
  return {.name = name_of(result.experiment),
          .experiment = without_values(result.experiment),
          .a_mean = or_not_finite(result.a_error.mean_abs),
          .b_mean = or_not_finite(result.b_error.mean_abs),
          .a_max = or_not_finite(result.a_error.max_abs),
          .b_max = or_not_finite(result.b_error.max_abs),
          .digest = result.digests.a,
          .thumbnail = thumbnail_of(result)};
}

void keep_pin(Session& session, const PanelInput& input, PinState& state) {
  state.complaint.clear();
  const auto same = std::ranges::find(session.pins, session.experiment, &Pin::experiment);
  if (!input.answer.result || !(input.answer.result->experiment == session.experiment) || is_first_answer(*input.answer.result))
    state.complaint = "Nothing to pin yet: the experiment is still being computed.";
  else if (same != session.pins.end())
    state.complaint = "This experiment is pinned already, as “" + same->name + "”.";
  else if (session.pins.size() >= max_pins)
    state.complaint = "There are " + std::to_string(max_pins) + " pins is the most that are kept: delete one first.";
  else
    session.pins.push_back(make_pin(*input.answer.result));
}

void restore_pin(Session& session, int index) {
  if (index < 0 || index >= static_cast<int>(session.pins.size())) return;
  session.experiment = session.pins[static_cast<std::size_t>(index)].experiment;
  look_at_all(session.view);
}

std::string compare_with_pin(Session& session, int index) {
  if (index < 0 || index >= static_cast<int>(session.pins.size())) return {};
  const Pin& pin = session.pins[static_cast<std::size_t>(index)];
  for (const Difference& d : differences(session.experiment, pin.experiment))
    if (d.path.starts_with("problem.") || d.path == "format" || d.path == "a.precision.input")
      return "Not the same question: " + d.path + " is " + d.x + " here and " + d.y + " in the pin.";
  session.experiment.b = pin.experiment.a;
  if (pin.experiment.a.algorithm == Algorithm::loaded) session.experiment.loaded = pin.experiment.loaded;
  return {};
}

void draw_pins(const Frame& frame) {
  PinState& marks = frame.state.pins;
  const int count = static_cast<int>(frame.session.pins.size());
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) marks.complaint.clear();
  if (std::max(marks.first, marks.second) >= count) marks.first = marks.second = -1;
  draw_head(frame.session, frame.input, marks, frame.requests);
  const bool both = marks.first >= 0 && marks.second >= 0;
  const float below = both ? std::min(px(300), ImGui::GetContentRegionAvail().y / 2) : 0;
  ListRequest request;
  const ThumbnailShades shade = thumbnail_shades();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ImGui::BeginChild("list", {0, ImGui::GetContentRegionAvail().y - below}, ImGuiChildFlags_NavFlattened);
  if (count == 0)
    wrapped(Face::label, "There are no pins yet. A pin keeps an experiment with its numbers and a small picture of a − golden.",
            ImGui::GetContentRegionAvail().x);
  ImGuiListClipper clipper;
  clipper.Begin(count, px(entry_height));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      Pin& pin = frame.session.pins[static_cast<std::size_t>(i)];
      draw_entry(i, pin, pin.experiment == frame.session.experiment, marks, shade, request);
    }
  ImGui::EndChild();
  if (marks.first >= 0 && marks.second >= 0) {
    ImGui::BeginChild("comparison");
    draw_comparison(frame.session.pins[static_cast<std::size_t>(marks.first)],
                    frame.session.pins[static_cast<std::size_t>(marks.second)]);
    ImGui::EndChild();
  }
  ImGui::PopStyleVar();
  handle(request, frame.session, marks, frame.requests);
}

}  // namespace attoscope
