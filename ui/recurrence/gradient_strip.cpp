// The backward pass in the strip: its switch, plots, read-out and scrubber.
#include "ui/recurrence/gradient_strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/widgets/panel_plot.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {
namespace {

/// Title of a plot, and what it shows; of a query and of a key.
struct GradientPlotWords {
  const char *title, *what, *formula;
};
constexpr std::array<std::array<GradientPlotWords, 2>, gradient_plots.size()> plot_words{{
    {{{"Largest P", "The largest P of the tile's keys, made again from S and L.", "P_ij = exp(S_ij - L_i)"},
      {"Largest P", "The largest P of the tile's queries, made again from S and L.", "P_ij = exp(S_ij - L_i)"}}},
    {{{"Largest |dS|, |dP − δ|", "The largest |dS| of the tile, and, dashed, the largest |dP − δ|.",
       "dP_ij = sum_c dO_ic V_jc\ndS_ij = P_ij (dP_ij - delta_i)"},
      {"Largest |dS|", "The largest |dS| of the tile's queries.", "dS_ij = P_ij (dP_ij - delta_i)"}}},
    {{{"dS lost to 0", "The share of the tile's dS that the rounding makes 0, although they are not 0 before it.",
       "#(round(dS_ij) = 0, dS_ij != 0) / #(keys that the query sees)"},
      {"dS lost to 0", "The share of the tile's dS that the rounding makes 0, although they are not 0 before it.",
       "#(round(dS_ij) = 0, dS_ij != 0) / #(queries that see the key)"}}},
    {{{"Added to dQ, |dQ|", "The norm of what the tile adds to dQ, and, dashed, the norm of dQ so far.",
       "|x| = sqrt(sum_c x_c^2)\nx = sum_j dS_ij K_j over the tile"},
      {"|dK|, |dV| so far", "The norm of dK after each tile, and, dashed, of dV.",
       "dK_j = scale sum_i dS_ij Q_i\ndV_j = sum_i P_ij dO_i"}}},
    {{{"Error of dQ so far", "The largest error of dQ if the sum ended at this tile, golden taken over the same keys.",
       "max_c |dQ_ic - golden's dQ_ic of the keys so far|"},
      {"Errors of dK, dV so far",
       "The largest error of dK, and, dashed, of dV, if the sums ended at this tile, golden taken over the same queries.",
       "max_c |dK_jc - golden's dK_jc of the queries so far|"}}},
}};

constexpr float under_names = 5, title_height = 18;
constexpr int name_lines = 3;

/// A plot of the strip with its title and names; returns the step under the mouse, or -1.
int draw_gradient_plot(const Frame& frame, std::size_t plot, const StripSteps& steps, ImVec2 at, ImVec2 size) {
  GradientStrip& strip = *frame.state.gradients;
  View& view = frame.session.view;
  const GradientPlotWords& words = plot_words[plot][strip.of_key ? 1 : 0];
  const FigurePanel& panel = strip.panels[plot];
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({size.x, px(title_height)});
  explain(words.what, words.formula);
  draw_text(at, Face::label, colours().text, fitted(Face::label, words.title, size.x));
  std::vector<LegendName> names;
  std::uint64_t& hidden = strip.hidden[plot];
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    names.push_back(legend_name(panel.series[i], !is_shown(hidden, i)));
    names.back().id = fmt::format("{} {}", words.title, i);
  }
  if (const int clicked = draw_legend({at.x, at.y + px(title_height)}, size.x, names, name_lines); clicked >= 0)
    hidden ^= 1ull << clicked;
  const float above = px(title_height + under_names) + height_of_legend(size.x, names, name_lines);
  ImGui::SetCursorScreenPos({at.x, at.y + above});
  PanelLook look{.id = words.title, .shown = {&view.tiles.from, &view.tiles.to, 1}, .hidden = hidden};
  if (!strip.names.empty()) {
    for (int i = 0; i < steps.count(); ++i) look.ticks.push_back(steps.place(i));
    look.names = strip.names;
  }
  const double place = steps.place(scrubbed(steps, view));
  look.behind = [&] { shade_range(place - 0.5, place + 0.5, faded(colours().accent, 0.22f)); };
  const PanelMouse mouse = draw_panel(panel, look, {size.x, size.y - above});
  if (mouse.clicked) scrub_to(view, steps, std::round(mouse.x));
  const int under = static_cast<int>(std::lround(mouse.x)) - steps.place(0);
  return mouse.over && under >= 0 && under < steps.count() ? under : -1;
}

/// Tooltip of the tile under the mouse.
void draw_tile_note(const std::string& text) {
  if (ImGui::IsAnyMouseDown() || !ImGui::BeginTooltip()) return;
  wrapped(Face::mono_small, text, px(460));
  ImGui::EndTooltip();
}

/// The plots in a row, and a read-out of the tile under the mouse.
void draw_gradient_plots(const Frame& frame, const StripSteps& steps, ImVec2 at, ImVec2 size) {
  const GradientStrip& strip = *frame.state.gradients;
  const float count = static_cast<float>(gradient_plots.size()), gap = px(16),
              width = std::floor((size.x - gap * (count - 1)) / count);
  int under = -1;
  for (std::size_t i = 0; i < gradient_plots.size(); ++i) {
    under = std::max(under, draw_gradient_plot(frame, i, steps, at, {width, size.y}));
    at.x += width + gap;
  }
  if (under >= 0) draw_tile_note(gradient_note(*strip.trace, strip.of_key, under));
}

/// A sentence in the middle of the room.
void say_in(ImVec2 at, ImVec2 size, const std::string& text) {
  draw_text({at.x + size.x / 2, at.y + size.y / 2 - px(16)}, Face::label, colours().secondary,
            fitted(Face::label, text, size.x), 0.5f);
  take_room(at, size);
}

}  // namespace

bool follows_gradients(const Session& s) { return s.experiment.backward.on && !s.view.follows_forward; }

int followed_key(const View& view, const Problem& p) {
  if (view.traced_key >= 0) return std::min(view.traced_key, key_count(p) - 1);
  const int own = traced_row(p) + diagonal(p);
  return own >= 0 && own < key_count(p) ? own : 0;
}

GradientTraceQuestion gradient_question(const Session& s) {
  return {s.experiment, traced_row(s.experiment.problem), followed_key(s.view, s.experiment.problem)};
}

void refresh_gradients(GradientStrip& strip, const std::shared_ptr<const GradientTrace>& trace, bool of_key) {
  constexpr std::size_t most_names = 512;
  if (strip.trace == trace && strip.of_key == of_key) return;
  if (strip.of_key != of_key) strip.hidden = {};
  strip.trace = trace;
  strip.of_key = of_key;
  strip.axis = gradient_axis(*trace, of_key);
  strip.panels.clear();
  strip.names.clear();
  for (const GradientPlot plot : gradient_plots) strip.panels.push_back(gradient_panel(plot, *trace, of_key));
  if (!strip.axis.by_index && strip.axis.tiles.size() <= most_names)
    for (const int tile : strip.axis.tiles) strip.names.push_back(std::to_string(tile));
}

StripSteps strip_steps(const Session& session, const PanelInput& input) {
  if (!follows_gradients(session)) return recurrence_answer(input).get();
  if (!input.side.gradient_trace) return {0, 0};
  const GradientAxis axis = gradient_axis(*input.side.gradient_trace, session.view.follows_key);
  return {axis.first, static_cast<int>(axis.tiles.size())};
}

float pass_switch_height(const Session& session) { return session.experiment.backward.on ? px(30) : 0; }

void draw_pass_switch(Session& session, const PanelInput& input) {
  View& view = session.view;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x, width = std::min(px(270), room);
  const std::string query = fmt::format("query {}", traced_row(session.experiment.problem)),
                    key = fmt::format("key {}", followed_key(view, session.experiment.problem));
  const std::array<Choice, 3> choices{
      {{"forward", "The recurrence of the traced query in the forward pass."},
       {query, "The backward pass of the traced query: its key tiles in the order in which a adds them to dQ."},
       {key,
        "The backward pass of a key: its query tiles in the order in which a adds them to dK and dV. A click in dK or dV "
        "chooses the key."}}};
  int chosen = view.follows_forward ? 0 : view.follows_key ? 2 : 1;
  if (segmented("pass", choices, chosen, width)) {
    view.follows_forward = chosen == 0;
    if (chosen > 0) view.follows_key = chosen == 2;
    view.tiles = {};
    view.scrubbed_tile = -1;
  }
  if (follows_gradients(session) && input.side.gradient_trace) {
    const float left = width + px(12);
    const std::string line = gradient_line(*input.side.gradient_trace, view.follows_key);
    const ImVec2 there{at.x + left, at.y + (px(control_height) - line_height(Face::mono_small)) / 2};
    const float used = draw_text(there, Face::mono_small, colours().text, fitted(Face::mono_small, line, room - left));
    take_room(there, {std::max(1.0f, used), line_height(Face::mono_small)});
    if (!view.follows_key)
      explain(
          "δ is what the backward pass of softmax subtracts from dP: the mean of dP under the weights P. Beside each method's "
          "is golden's.",
          "delta_i = sum_c dO_ic O_ic - dL_i");
    else
      explain("The queries that see the key, over all its query tiles.");
  }
  ImGui::SetCursorScreenPos({at.x, at.y + pass_switch_height(session)});
}

float draw_gradient_strip(const Frame& frame) {
  View& view = frame.session.view;
  const ImVec2 at = ImGui::GetCursorScreenPos(), all = ImGui::GetContentRegionAvail();
  const GradientTraceQuestion asked = gradient_question(frame.session);
  const std::shared_ptr<const GradientTrace>& trace = frame.input.side.gradient_trace;
  const bool is_new = !trace || !(trace->question == asked);
  if (is_new && !frame.input.answer.computing) frame.requests.side.gradient_trace = asked;
  if (!trace) {
    say_in(at, all, "The backward pass of this query and this key is being computed.");
    return all.x;
  }
  if (!frame.state.gradients) frame.state.gradients = std::make_shared<GradientStrip>();
  GradientStrip& strip = *frame.state.gradients;
  refresh_gradients(strip, trace, view.follows_key);
  const StripSteps steps{strip.axis.first, static_cast<int>(strip.axis.tiles.size())};
  frame.requests.animate |= advance(frame.state.playback, view, steps, ImGui::GetTime());
  if (const std::string why = why_no_gradients(*trace, strip.of_key); !why.empty()) {
    say_in(at, all, why);
  } else {
    const float scrubber = scrubber_height(all.x);
    draw_gradient_plots(frame, steps, at, {all.x, all.y - scrubber - px(8)});
    const int step = scrubbed(steps, view);
    const auto say = [&](ImVec2 there, float width, int lines) {
      draw_worked(gradient_step(*trace, strip.of_key, step), "The step of the backward pass at this tile, with a's numbers.",
                  there, width, lines);
    };
    const std::string last = std::to_string(*std::ranges::max_element(strip.axis.tiles)),
                      tile = fmt::format("tile {:{}} (0 to {})", strip.axis.tiles[static_cast<std::size_t>(step)],
                                         static_cast<int>(last.size()), last);
    draw_scrubber(view, frame.state.playback, steps, tile, say, {at.x, at.y + all.y - scrubber}, {all.x, scrubber}, true);
  }
  if (is_new) ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + all.x, at.y + all.y}, faded(colours().panel, 0.35f));
  return all.x;
}

}  // namespace attoscope::ui
