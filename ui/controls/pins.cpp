#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/picture/heatmap_view.h"
#include "ui/session/settings.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

double or_not_finite(double error) { return std::isfinite(error) ? error : -1; }

/// "fa3_fp8 e4m3 N 1024 causal" for a whole kernel; else algorithm, policy and format: "flash2 hw +1 bf16 N 96".
std::string name_of(const Experiment& e) {
  std::string text(kernel_name(e.a, e.problem, e.format));
  if (text.empty()) text = method_words(e.a);
  text.append(" ").append(name(e.format)).append(" N ").append(std::to_string(e.problem.n));
  if (key_count(e.problem) != e.problem.n) text.append("×").append(std::to_string(key_count(e.problem)));
  if (e.problem.mask.kind != Mask::Kind::none) text.append(" ").append(mask_names[e.problem.mask.kind]);
  return text;
}

/// The last word of a setting's path: "block_k" of a.block_k.
std::string last_word(const std::string& path) { return path.substr(path.rfind('.') + 1); }

/// If another pin has the name, appends the first setting that differs from it: "flash2 hw bf16 N 96, block_k 32".
Pin named_among(Pin pin, const std::vector<Pin>& pins) {
  const auto same = std::ranges::find(pins, pin.name, &Pin::name);
  if (same == pins.end()) return pin;
  const std::vector<Difference> found = differences(same->experiment, pin.experiment);
  if (!found.empty()) pin.name += fmt::format(", {} {}", last_word(found.front().path), found.front().y);
  return pin;
}

/// The experiment without its files' values, which are read again on restore.
Experiment without_values(Experiment e) {
  e.problem.input.tensors.reset();
  e.loaded.values.reset();
  return e;
}

constexpr float entry_height = 64, picture_scale = 2;

/// The error with `digits` digits; for non-finite errors "NaN, inf", or "NaN" if digits < 3.
std::string error_text(double error, int digits = 3) {
  return error >= 0 ? scientific(error, digits) : digits < 3 ? "NaN" : "NaN, inf";
}

/// Name, numbers and digest of a pin beside its thumbnail.
void draw_summary(ImVec2 at, float width, const Pin& pin, bool current, bool named) {
  if (named) draw_fitted({at.x, at.y}, Face::label, current ? colours().accent : colours().text, pin.name, width - px(32));
  const float y = at.y + px(19), ratio = px(36), end = std::min(px(160), width - px(36));  // buttons follow
  const int digits = end < px(152) ? 2 : 3;
  const double relative = pin.a_mean < 0 || pin.b_mean < 0 ? std::nan("") : pin.a_mean / pin.b_mean;
  draw_text({at.x + ratio, y}, Face::mono_small, colours().text, times(relative), 1);
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
  if (item("use its a as b", "Method b becomes the pin's method a; both are then compared with the same golden value."))
    request.as_b = i;
  if (item("rename", "Renames the pin in place.")) {
    state.renamed = i;
    state.typed_name = pin.name;
  }
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
  if (entered && !state.typed_name.empty()) name = first_characters(state.typed_name, longest);
  if (entered || ImGui::IsKeyPressed(ImGuiKey_Escape) || ImGui::IsItemDeactivated()) state.renamed = -1;
}

/// Source and target of dragging pins.
void drag_and_drop(int i, const Pin& pin, ListRequest& request) {
  if (ImGui::BeginDragDropSource(ImGuiDragDropFlags_SourceNoHoldToOpenOthers)) {
    ImGui::SetDragDropPayload("pin", &i, sizeof i);
    ImGui::TextUnformatted(pin.name.c_str());
    ImGui::EndDragDropSource();
  }
  if (!ImGui::BeginDragDropTarget()) return;
  if (const ImGuiPayload* payload = ImGui::AcceptDragDropPayload("pin")) {
    request.from = *static_cast<const int*>(payload->Data);
    request.to = i;
  }
  ImGui::EndDragDropTarget();
}

void draw_entry(int i, Pin& pin, bool current, PinState& state, const ThumbnailShades& shade, ListRequest& request) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = px(entry_height), picture = px(pin_width * picture_scale);
  const WithId id(i);
  ImGui::SetNextItemAllowOverlap();
  if (ImGui::Selectable("##pin", false, ImGuiSelectableFlags_AllowOverlap, {width, height})) request.restore = i;
  explain(pin.name + ". Click: restores this experiment. Drag: moves it in the list.",
          "a/b = mean |a - golden| / mean |b - golden|");
  drag_and_drop(i, pin, request);
  if (current) ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + px(3), at.y + height}, colours().accent);
  const ImVec2 text{at.x + picture + px(18), at.y + px(7)};
  draw_thumbnail({at.x + px(8), at.y + px(8)}, picture_scale, pin.thumbnail, shade);
  draw_summary(text, at.x + width - text.x, pin, current, state.renamed != i);
  if (state.renamed == i) edit_name(text, at.x + width - text.x - px(32), pin.name, state);
  ImGui::SetCursorScreenPos({at.x + width - px(32), at.y + px(6)});
  pin_menu(i, state, pin, request);
  take_room({at.x, at.y + height}, {width, 0});
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
  if (request.remove >= 0 || request.from >= 0) state.renamed = -1;
}

/// The pins' table in its own window; a click on a row restores the pin.
void draw_comparison(Session& session, const Frame& frame) {
  const ImGuiViewport* screen = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({screen->GetCenter().x, screen->Pos.y + px(84)}, ImGuiCond_Always, {0.5f, 0});
  ImGui::SetNextWindowSize({std::min(px(1000), screen->Size.x - px(48)),
                            std::min(px(96 + 22 * static_cast<float>(session.pins.size())), screen->Size.y - px(130))});
  if (!begin_panel_popup("compared pins")) return;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  label(Face::body, colours().text, "Pins, and the settings in which they differ");
  PinState& state = frame.state.pins;
  if (state.in_table != session.pins) {
    state.in_table = session.pins;
    state.table = pins_table(session.pins);
  }
  const auto row = [&](std::size_t i) {
    return TableRow{.id = "pin row " + std::to_string(i),
                    .meaning = session.pins[i].name + ". A click restores it. A click on a heading sorts by it.",
                    .formula = "digest of a " + hex16(session.pins[i].digest),
                    .chosen = session.pins[i].experiment == session.experiment};
  };
  if (const auto clicked = draw_table("pins", state.table, {.row = row})) {
    restore_pin(session, static_cast<int>(*clicked));
    ImGui::CloseCurrentPopup();
  }
  offer_export({Plot::window, "pins", at, {at.x + room.x, at.y + room.y}, [&] { return csv_text(state.table); }}, session.view,
               frame.requests);
  ImGui::EndPopup();
}

void draw_header(Session& session, const PanelInput& input, PinState& state, Requests& requests) {
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  section(fmt::format("PINS {}", static_cast<int>(session.pins.size())));
  const ImVec2 below = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos({at.x + width - px(24), at.y});
  if (push_button("×###close pins", false, {px(24), px(20)})) session.view.show_pins = false;
  explain("Closes the list. Key Shift+K.");
  ImGui::SetCursorScreenPos({at.x, std::max(below.y, at.y + px(28))});
  if (push_button("keep this###keep", false, {width - px(64 + 88), 0})) keep_pin(session, input, state);
  explain("Adds the current experiment to the list, with a picture and its numbers. It is saved in the session file. Key K.");
  ImGui::SameLine(0, px(8));
  state.compared |= push_button("compare …###compare", false, {px(80), 0}, session.pins.size() >= 2);
  explain("All pins in one table: their errors, and every setting in which they differ.");
  ImGui::SameLine(0, px(8));
  if (push_button("paste###paste pins", false, {px(56), 0})) requests.clipboard.paste_pins = true;
  explain("Adds the pins of a session's text on the clipboard to the list.");
  wrapped(Face::label, colours().bad, state.complaint, width);
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
    state.complaint = input.answer.computing ? "Nothing to pin yet: the experiment is still being computed."
                                             : "There is nothing to pin: the experiment has no complete answer.";
  else if (same != session.pins.end())
    state.complaint = "This experiment is pinned already, as “" + same->name + "”.";
  else if (session.pins.size() >= max_pins)
    state.complaint = std::to_string(max_pins) + " pins are the most that are kept: delete one first.";
  else
    session.pins.push_back(named_among(make_pin(*input.answer.result), session.pins));
}

void restore_pin(Session& session, int index) {
  if (index < 0 || index >= static_cast<int>(session.pins.size())) return;
  session.experiment = session.pins[static_cast<std::size_t>(index)].experiment;
  look_at_all(session.view);
}

std::string compare_with_pin(Session& session, int index) {
  if (index < 0 || index >= static_cast<int>(session.pins.size())) return {};
  const Pin& pin = session.pins[static_cast<std::size_t>(index)];
  Experiment& e = session.experiment;
  for (const Difference& d : differences(e, pin.experiment))
    if (d.path.starts_with("problem.") || d.path == "format" || d.path == "a.precision.input")
      return "Not the same question: " + d.path + " is " + d.x + " here and " + d.y + " in the pin.";
  if (pin.experiment.a.algorithm == Algorithm::loaded) {
    if (e.a.algorithm == Algorithm::loaded && e.loaded != pin.experiment.loaded)
      return "a is the output in " + e.loaded.file + " and the pin's a the one in " + pin.experiment.loaded.file +
             ", expected one output: a and b cannot show two.";
    e.loaded = pin.experiment.loaded;
  }
  e.b = pin.experiment.a;
  const GradMethod& gradient = pin.experiment.backward.a;
  if (e.backward.on) e.backward.b = gradient == GradMethod{} ? usual_gradient(e.b, e.problem) : gradient;
  return {};
}

Table pins_table(const std::vector<Pin>& pins) {
  std::vector<Difference> settings;  // x: the first pin's
  std::vector<std::vector<Difference>> of_pins;
  for (const Pin& pin : pins)
    for (const Difference& d : of_pins.emplace_back(differences(pins.front().experiment, pin.experiment)))
      if (std::ranges::find(settings, d.path, &Difference::path) == settings.end()) settings.push_back(d);
  const auto error = [](double x) { return x < 0 ? std::nan("") : x; };
  std::vector<TableColumn<Pin>> columns{
      table_column<Pin>({.key = "name", .title = "pin"}, &Pin::name),
      table_column<Pin>({.key = "ratio", .title = "a/b", .digits = 3, .meaning = "Mean error of a over that of b."},
                        [&](const Pin& p) { return error(p.a_mean) / error(p.b_mean); })};
  const auto add = [&](const char* key, const char* title, double Pin::* value) {
    columns.push_back(
        table_column<Pin>({.key = key, .title = title, .digits = 3}, [=](const Pin& p) { return error(p.*value); }));
  };
  add("a.mean_abs", "a mean", &Pin::a_mean);
  add("a.max_abs", "a max", &Pin::a_max);
  add("b.mean_abs", "b mean", &Pin::b_mean);
  add("b.max_abs", "b max", &Pin::b_max);
  columns.push_back(
      table_column<Pin>({.key = "digest", .meaning = "Digest of the bits of a: equal ones have the same bits.", .minor = true},
                        [](const Pin& p) { return hex16(p.digest); }));
  for (const Difference& s : settings) {
    const bool of_method = s.path.starts_with("a.") || s.path.starts_with("b.");  // "a.block_k" of "a.options.block_k"
    const std::string title = (of_method ? s.path.substr(0, 2) : "") + last_word(s.path);
    columns.push_back(table_column<Pin>({.key = s.path, .title = title}, [&](const Pin& p) {
      const std::vector<Difference>& own = of_pins[static_cast<std::size_t>(&p - pins.data())];
      const auto at = std::ranges::find(own, s.path, &Difference::path);
      return at != own.end() ? at->y : s.x;
    }));
  }
  return table_of(columns, std::span<const Pin>(pins));
}

void draw_pins(const Frame& frame) {
  PinState& marks = frame.state.pins;
  const int count = static_cast<int>(frame.session.pins.size());
  if (std::exchange(marks.origin, frame.session.origin) != frame.session.origin) marks.renamed = -1;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) marks.complaint.clear();
  draw_header(frame.session, frame.input, marks, frame.requests);
  if (std::exchange(marks.compared, false)) ImGui::OpenPopup("compared pins");
  draw_comparison(frame.session, frame);
  ListRequest request;
  const ThumbnailShades shade = thumbnail_shades();
  const WithSpacing spacing({0, 0});
  ImGui::BeginChild("list", {0, 0}, ImGuiChildFlags_NavFlattened);
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
  handle(request, frame.session, marks, frame.requests);
}

}  // namespace attoscope::ui
