// The Explore workspace: its panels, docked.
#include "ui/explore.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "imgui_internal.h"
#include "ui/controls/controls.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

Box rest_of_panel() {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
  return {at, {at.x + size.x, at.y + size.y}};
}

/// A save button for each plot of the strip, and one at its foot for all, called `all`.
void offer_strip_exports(const Frame& frame, std::span<const Plot> plots, const char* all, const Box& strip,
                         const StripRoom& room, const std::function<std::string()>& csv) {
  View& view = frame.session.view;
  const float step = (room.width + px(16)) / static_cast<float>(plots.size()), foot = strip.max.y - px(44);
  for (std::size_t i = 0; i < plots.size(); ++i) {
    const float left = strip.min.x + static_cast<float>(i) * step;
    std::string name((plots[i] == Plot::error && follows_gradients(frame.session) ? "gradient_" : "") +
                     std::string(plot_names[plots[i]]));
    std::ranges::replace(name, '_', ' ');
    offer_export({.plot = plots[i],
                  .name = std::move(name),
                  .min = {left, strip.min.y},
                  .max = {left + step - px(16), foot},
                  .csv = csv,
                  .header = room.header},
                 view, frame.requests);
  }
  offer_export({Plot::strip, all, {strip.max.x - px(48), foot}, strip.max, csv, true}, view, frame.requests);
}

/// Requests the verdicts on a loaded output and on the other heads of its call, and the answer on a kernel's gradients.
void ask_for_verdicts(const Session& session, const PanelInput& input, const UiState& state, Requests& requests) {
  if (session.experiment.backward.on && session.kernel_gradients.any())
    requests.side.kernel_gradients = KernelGradientsQuestion{nullptr, session.kernel_gradients};
  if (!input.answer.result || !has_loaded(input.answer.result->experiment)) return;
  const Experiment question = verdict_question(session.experiment);
  if (shown_verdict(input) == nullptr) requests.side.verdict = question;
  if (has_several_outputs(session.experiment, input.choices) && !judging_stopped(state.heads, session.experiment))
    requests.side.judged = heads_of_file(question);
}

/// A save button for the verdicts on all heads, for the KV cache table, or for the table of measures.
void offer_heads_export(Session& session, const PanelInput& input, const HeadsState& heads, const Box& all,
                        Requests& requests) {
  const TensorFileInfo& info = input.choices.tensors;
  const Input& asked = session.experiment.problem.input;
  if (asked.kind != InputKind::tensors || info.file != asked.file) return;  // no heads are on show
  const auto offer = [&](const char* name, const std::function<std::string()>& csv) {
    offer_export({Plot::window, name, all.min, all.max, csv}, session.view, requests);
  };
  const HeadsShow shown = session.view.heads_show;
  if (shown == HeadsShow::verdict && has_several_outputs(session.experiment, input.choices))
    offer("verdicts",
          [&] { return verdict_grid_csv(found_of(input.side.judged, verdict_question(session.experiment)), info); });
  else if (shown != HeadsShow::kv_cache && !heads.outputs.shown.empty())
    offer("heads", [&] { return csv_text(shown_heads_table(heads, info)); });
  else if (shown == HeadsShow::kv_cache && input.side.kv && heads.kv.found == input.side.kv->rows && !heads.kv.shown.empty())
    offer("KV cache", [&] { return csv_text(shown_kv_table(heads, info)); });
}

/// Refreshes the field on show, of the visible window of pairs or of the tensor.
void refresh_heat(const Frame& frame) {
  const View& view = frame.session.view;
  UiState& state = frame.state;
  refresh_values(state.heat,
                 shows_pairs(view, frame.session.experiment)
                     ? shown_pairs(state.pairs, frame.input.side.gradient_window, view.pair_show)
                     : shown_answer(state.seen, frame.input.answer.result, view),
                 view.field);
}

void draw_picture(const Frame& frame, const Box& room) {
  switch (frame.session.view.picture) {
    case PictureKind::output:
      return draw_output(frame, room);
    case PictureKind::rescales:
      return draw_rescale_map(frame, room);
    case PictureKind::scores:
      return shows_pairs(frame.session.view, frame.session.experiment) ? draw_pairs(frame, room) : draw_scores(frame, room);
    case PictureKind::heads:
      return draw_heads(frame, room);
  }
}

constexpr float least_height = 150;  ///< at scale 1; the panel scrolls if there is less room

/// Toolbar, picture, curves, colour bar and read-out; above them the headline, if the statistics are hidden.
void draw_heatmap(const Frame& frame) {
  const Box all = rest_of_panel();
  View& view = frame.session.view;
  refresh_heat(frame);
  frame.state.ranges.held = ImGui::IsAnyItemActive() && !ImGui::GetIO().WantTextInput;  // a slider or a button is held
  if (frame.state.docked.count(Dock::right) == 0 && draw_headline(frame)) ImGui::SetWindowFocus(statistics_window);
  draw_toolbar(frame.session, frame.input, frame.state);
  draw_welcome(frame.session, frame.state);
  draw_probe_sentence(frame.session, frame.input, frame.state);
  draw_picture_title(frame);
  Box room = rest_of_panel();
  const float lowest = room.min.y + px(least_height);
  if (lowest > room.max.y) {
    take_room({room.min.x, room.max.y = lowest}, {0, 0});
    ImGui::SetCursorScreenPos(room.min);
  }
  draw_picture(frame, room);
  note_ranges(frame.state, view);
  if (view.picture == PictureKind::heads)
    return offer_heads_export(frame.session, frame.input, frame.state.heads, all, frame.requests);
  if (!frame.input.answer.result) return;
  const auto csv = [&] { return picture_csv(view, frame.input, frame.state.heat); };
  const bool whole = view.picture == PictureKind::output, fields = whole || frame.state.heat.window != nullptr;
  const std::string name = fields ? about_tensor(frame.state.heat, "heat map", " ") : "heat map";
  offer_export({Plot::heat_map, name, all.min, all.max, csv, true, whole}, view, frame.requests);
}

/// The recurrence or the backward pass, and the save buttons of its plots.
void draw_strip(const Frame& frame) {
  const bool of_key = frame.session.view.follows_key;
  Box all = rest_of_panel();
  all.min.y += pass_switch_height(frame.session);
  const StripRoom room = draw_recurrence(frame);
  const CallJudgement* const call = shown_verdict(frame.input);
  if (call != nullptr && call->incomparable().empty() && room.width < all.max.x - all.min.x - px(16))
    offer_export({.plot = Plot::kernel_rows,
                  .name = "kernel rows",
                  .min = {all.min.x + room.width + px(16), all.min.y},
                  .max = {all.max.x, all.max.y - px(44)},
                  .csv = [&] { return kernel_rows_csv(call->worst_row().found); },
                  .header = px(kernel_rows_title + kernel_rows_words)},
                 frame.session.view, frame.requests);
  const std::shared_ptr<const Result> followed = recurrence_answer(frame.input);
  const std::shared_ptr<const GradientTrace>& gradients = frame.input.side.gradient_trace;
  if (follows_gradients(frame.session)) {
    if (gradients && why_no_gradients(*gradients, of_key).empty())
      offer_strip_exports(frame, gradient_plots, "backward pass", all, room, [&] { return gradients_csv(*gradients, of_key); });
  } else if (followed && !followed->trace.tiles.empty()) {
    offer_strip_exports(frame, strip_plots(frame.session.view), "recurrence", all, room,
                        [&] { return recurrence_csv(*followed); });
  }
  frame.requests.wanted.trace = true;
}

void draw_numbers(const Frame& frame) {
  draw_statistics(frame);
  frame.requests.wanted.wasserstein = true;
}

/// True while a popup of the controls waits for the controls' tab.
bool controls_are_wanted(const Frame& frame) {
  auto& files = frame.state.popups.files;
  return files[FileUse::output].wanted_for + files[FileUse::tensors].wanted_for > 0;
}

/// True while a question brings the numbers to the front. Counts the frames down.
bool numbers_are_wanted(const Frame& frame) {
  int& frames = frame.state.popups.numbers_wanted_for;
  return frames > 0 && frames-- > 0;
}

/// True in the frame in which the pins appear as a tab over the controls.
bool pins_appear(const Frame& frame) { return !frame.state.pins.shown && frame.state.docked.count(Dock::pins) == 0; }

/// True from the frame in which the list of tensors appears over the picture until it is in front.
bool tensors_appear(const Frame& frame) { return !frame.state.tensors.shown; }

constexpr std::array table{
    Panel{
        .name = "Controls", .dock = Dock::left, .draw = draw_controls, .scrolls = true, .comes_to_front = controls_are_wanted},
    Panel{.name = "Pins",
          .dock = Dock::pins,
          .least = 1044,  // controls, pins and a picture of `least_picture`
          .draw = draw_pins,
          .shown = &View::show_pins,
          .comes_to_front = pins_appear},
    Panel{.name = statistics_window,
          .dock = Dock::right,
          .least = 1280,
          .draw = draw_numbers,
          .comes_to_front = numbers_are_wanted},
    Panel{.name = heatmap_window, .dock = Dock::middle, .draw = draw_heatmap, .scrolls = true},
    Panel{.name = "Tensors",
          .dock = Dock::middle,
          .draw = draw_tensors,
          .shown = &View::show_tensors,
          .comes_to_front = tensors_appear},
    Panel{.name = recurrence_window, .dock = Dock::bottom, .least = 520, .instead = Dock::middle, .draw = draw_strip},
};

/// Draws a panel, unless it is a tab behind another.
void draw_docked(const Panel& panel, const Frame& frame) {
  if (panel.shown != nullptr && !(frame.session.view.*panel.shown)) return;
  if (panel.comes_to_front != nullptr && panel.comes_to_front(frame)) ImGui::SetNextWindowFocus();
  constexpr ImGuiWindowFlags flags =
                                 ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoFocusOnAppearing,
                             still = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(12), px(8)});
  const bool open = ImGui::Begin(panel.name, nullptr, flags | (panel.scrolls ? 0 : still));
  ImGui::PopStyleVar();
  if (open) panel.draw(frame);
  ImGui::End();
}

/// Below this width of the picture the statistics are a tab over the controls.
constexpr float least_picture = 440;

/// A dock beside the middle; `sides` lists them in the order of splitting.
struct Side {
  Dock dock;
  ImGuiDir direction;
  double PanelSizes::* length;
  float rest;  ///< length that remains for the other docks, at scale 1
};
constexpr std::array sides{
    Side{Dock::left, ImGuiDir_Left, &PanelSizes::left, 240}, Side{Dock::pins, ImGuiDir_Left, &PanelSizes::pins, 240},
    Side{Dock::bottom, ImGuiDir_Down, &PanelSizes::bottom, 200}, Side{Dock::right, ImGuiDir_Right, &PanelSizes::right, 240}};

float length_of(ImVec2 size, ImGuiDir side) { return side == ImGuiDir_Left || side == ImGuiDir_Right ? size.x : size.y; }

/// Splits a node of `length` pixels off `rest` at `side`.
ImGuiID split(ImGuiID& rest, ImGuiDir side, float length) {
  const float all = length_of(ImGui::DockBuilderGetNode(rest)->Size, side);
  ImGuiID part = 0;
  const float shared = std::max(1.0f, all - ImGui::GetStyle().DockingSeparatorSize);
  const float exact =
      side == ImGuiDir_Left ? std::round(length) + 0.25f : std::round(length) - 0.25f;  // the node is rounded to whole pixels
  ImGui::DockBuilderSplitNode(rest, side, std::clamp(exact / shared, 0.05f, 0.9f), &part, &rest);
  return part;
}

void build(ImGuiID root, ImVec2 at, ImVec2 size, const Docked& docked) {
  ImGui::DockBuilderRemoveNode(root);
  ImGui::DockBuilderAddNode(root, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodePos(root, at);
  ImGui::DockBuilderSetNodeSize(root, size);
  std::map<Dock, ImGuiID> nodes;
  ImGuiID rest = root;
  for (const Side& side : sides) {
    if (docked.count(side.dock) == 0) continue;
    const float all = length_of(ImGui::DockBuilderGetNode(rest)->Size, side.direction);
    const bool before_right = side.direction == ImGuiDir_Left && docked.count(Dock::right) > 0;
    const float wanted = px(static_cast<float>(docked.panels.*side.length)), others = px(side.rest + (before_right ? 240 : 0));
    nodes[side.dock] = split(rest, side.direction, std::min(wanted, std::max(px(64), all - others)));
  }
  nodes[Dock::middle] = rest;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (docked.docks[i] != Dock::hidden) ImGui::DockBuilderDockWindow(table[i].name, nodes.at(docked.docks[i]));
  constexpr int quiet = static_cast<int>(ImGuiDockNodeFlags_NoUndocking) |
                        static_cast<int>(ImGuiDockNodeFlags_NoWindowMenuButton) |
                        static_cast<int>(ImGuiDockNodeFlags_NoCloseButton) | static_cast<int>(ImGuiDockNodeFlags_NoDocking);
  for (const auto& [dock, id] : nodes)
    if (ImGuiDockNode* node = ImGui::DockBuilderGetNode(id))
      node->SetLocalFlags(node->LocalFlags | quiet |
                          (docked.count(dock) > 1 ? 0 : static_cast<int>(ImGuiDockNodeFlags_NoTabBar)));
  ImGui::DockBuilderFinish(root);
}

/// True while a border between two panels is dragged.
bool is_resizing(ImGuiID root) {
  const ImGuiDockNode* node = ImGui::DockBuilderGetNode(root);
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  return node != nullptr && context.ActiveId != 0 && context.ActiveIdWindow != nullptr &&
         context.ActiveIdWindow == node->HostWindow;
}

/// Stores the sizes of the docks beside the middle, at scale 1.
void measure(const Docked& docked, PanelSizes& sizes) {
  for (const Side& side : sides) {
    const auto first = std::ranges::find(docked.docks, side.dock);
    if (first == docked.docks.end()) continue;
    const char* const name = table[static_cast<std::size_t>(first - docked.docks.begin())].name;
    const ImGuiWindow* const window = ImGui::FindWindowByName(name);
    if (window == nullptr || window->DockNode == nullptr) continue;
    const float length = length_of(window->DockNode->Size, side.direction);
    sizes.*side.length = std::clamp(std::round(static_cast<double>(length / px(1))), 64.0, 8192.0);
  }
}

/// Places of the panels in a window of `size`.
std::vector<Dock> docks_of(ImVec2 size, const View& view) {
  std::vector<Dock> docks;
  for (const Panel& p : table) {
    const float room = p.dock == Dock::bottom ? size.y : size.x;
    const bool hidden = p.shown != nullptr && !(view.*p.shown);
    docks.push_back(hidden ? Dock::hidden : room < px(p.least) ? p.instead : p.dock);
  }
  const PanelSizes& sizes = view.panels;
  const float picture = size.x - px(static_cast<float>(sizes.left + sizes.right + sizes.pins));
  if (std::ranges::find(docks, Dock::pins) != docks.end() && picture < px(least_picture))
    for (std::size_t i = 0; i < docks.size(); ++i)
      if (docks[i] == Dock::right) docks[i] = table[i].instead;
  return docks;
}

/// Fills the rectangle with a dock space, rebuilt when sizes, scale, width or shown panels change. Dragging a border between
/// two panels changes the view's sizes.
void dock_panels(ImVec2 at, ImVec2 size, View& view, Docked& docked) {
  const ImGuiID root = ImGui::GetID("panels");
  const Docked wanted{px(1), docks_of(size, view), view.panels};
  if (docked != wanted || ImGui::DockBuilderGetNode(root) == nullptr) {
    docked = wanted;
    build(root, at, size, docked);
  }
  ImGui::DockSpace(root, size, static_cast<int>(ImGuiDockNodeFlags_NoUndocking));
  if (!is_resizing(root)) return;
  measure(docked, view.panels);
  docked.panels = view.panels;
}

/// Full-screen background window; it holds the dock space of Explore.
void draw_background(const Frame& frame) {
  const Box area = between_bars();
  const ImVec2 at = area.min, size{area.max.x - at.x, area.max.y - at.y};
  ImGui::SetNextWindowPos(at);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin("Explore", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNavFocus |
                   ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(3);
  dock_panels(at, size, frame.session.view, frame.state.docked);
  ImGui::End();
}

}  // namespace

std::span<const Panel> panels() { return table; }

void draw_explore(const Frame& frame) {
  const View& view = frame.session.view;
  draw_background(frame);
  for (const Panel& panel : table) draw_docked(panel, frame);
  frame.state.pins.shown = view.show_pins;
  frame.state.tensors.shown &= view.show_tensors;
  frame.requests.wanted.trace |= view.picture != PictureKind::output || view.detail == Detail::traffic;
  draw_cell_sum(frame);
  ask_for_verdicts(frame.session, frame.input, frame.state, frame.requests);
}

}  // namespace attoscope::ui
