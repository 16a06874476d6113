// The backward pass of a query or a key in the strip: its plots over tiles, its numbers in words, switch, read-out and
// scrubber.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/recurrence/recurrence.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

/// A plotted number of a query's tile, and of a key's tile; null: the plot does not have it.
struct TileValue {
  const char* name = "";  ///< in the legend, before the method's name; "": the method's name alone
  double (*of_query)(const QueryTile&) = nullptr;
  double (*of_key)(const KeyTile&) = nullptr;
};

/// Share of the seen pairs whose dS is not 0 before rounding and 0 after it.
double lost_share(int lost, int seen) { return seen > 0 ? static_cast<double>(lost) / seen : 0; }

/// Texts of a plot: its title, the label of its axis, and its tooltip.
struct GradientPlotWords {
  const char *title, *axis, *what, *formula;
};

/// A plot of `gradient_plots`: its texts for a query and for a key, and its curves; all but the first are dashed.
struct GradientPlotInfo {
  std::array<GradientPlotWords, 2> words;
  bool log = true;
  std::array<TileValue, 4> curves{};
};
constexpr std::array<GradientPlotInfo, gradient_plots.size()> infos{{
    {.words = {{{"Largest P", "largest P", "The largest P of the tile's keys, recomputed from S and L.",
                 "P_ij = exp(S_ij - L_i)"},
                {"Largest P", "largest P", "The largest P of the tile's queries, recomputed from S and L.",
                 "P_ij = exp(S_ij - L_i)"}}},
     .curves = {{{"", [](const QueryTile& t) { return t.largest_P; }, [](const KeyTile& t) { return t.largest_P; }}}}},
    {.words = {{{"Largest |dS|, |dP − δ|", "largest |dS|, |dP − δ|",
                 "The largest |dS| of the tile, and, dashed, the largest |dP − δ|.",
                 "dP_ij = sum_c dO_ic V_jc\ndS_ij = P_ij (dP_ij - delta_i)"},
                {"Largest |dS|", "largest |dS|", "The largest |dS| of the tile's queries.", "dS_ij = P_ij (dP_ij - delta_i)"}}},
     .curves = {{{"dS", [](const QueryTile& t) { return t.largest_dS; }, [](const KeyTile& t) { return t.largest_dS; }},
                 {"dP − δ", [](const QueryTile& t) { return t.largest_dP; }, nullptr}}}},
    {.words = {{{"dS lost to 0", "share of dS lost to 0",
                 "The share of the tile's dS that are not 0 before rounding and 0 after it.",
                 "#(round(dS_ij) = 0, dS_ij != 0) / #(keys that the query sees)"},
                {"dS lost to 0", "share of dS lost to 0",
                 "The share of the tile's dS that are not 0 before rounding and 0 after it.",
                 "#(round(dS_ij) = 0, dS_ij != 0) / #(queries that see the key)"}}},
     .log = false,
     .curves = {{{"", [](const QueryTile& t) { return lost_share(t.lost, t.seen); },
                  [](const KeyTile& t) { return lost_share(t.lost, t.seen); }}}}},
    {.words = {{{"Added to dQ, |dQ|", "norm of what is added to dQ, of dQ so far",
                 "The norm of the tile's addend to dQ, and, dashed, the norm of dQ so far.",
                 "|x| = sqrt(sum_c x_c^2)\nx = sum_j dS_ij K_j over the tile"},
                {"|dK|, |dV| so far", "norm of dK, dV so far", "The norm of dK after each tile, and, dashed, of dV.",
                 "dK_j = scale sum_i dS_ij Q_i\ndV_j = sum_i P_ij dO_i"}}},
     .curves = {{{"added", [](const QueryTile& t) { return t.added; }, nullptr},
                 {"dQ", [](const QueryTile& t) { return t.dq_norm; }, nullptr},
                 {"dK", nullptr, [](const KeyTile& t) { return t.dk_norm; }},
                 {"dV", nullptr, [](const KeyTile& t) { return t.dv_norm; }}}}},
    {.words =
         {{{"Error of dQ so far", "max |error| of dQ so far",
            "The largest error of dQ if the sum ended at this tile, golden taken over the same keys.",
            "max_c |dQ_ic - golden's dQ_ic of the keys so far|"},
           {"Errors of dK, dV so far", "max |error| of dK, dV so far",
            "The largest error of dK, and, dashed, of dV, if the sums ended at this tile, golden taken over the same queries.",
            "max_c |dK_jc - golden's dK_jc of the queries so far|"}}},
     .curves = {{{"", [](const QueryTile& t) { return t.dq_error; }, nullptr},
                 {"dK", nullptr, [](const KeyTile& t) { return t.dk_error; }},
                 {"dV", nullptr, [](const KeyTile& t) { return t.dv_error; }}}}},
}};

std::size_t count_of(const GradientSteps& steps, bool of_key) { return of_key ? steps.of_key.size() : steps.of_query.size(); }
int tile_of(const GradientSteps& steps, bool of_key, std::size_t i) {
  return of_key ? steps.of_key[i].tile : steps.of_query[i].tile;
}

/// A curve of a method; empty if the method has no backward pass.
Series curve_of(const TileValue& value, const GradientSteps& steps, bool of_key, const GradientAxis& axis) {
  Series s;
  const std::size_t count = count_of(steps, of_key), all = axis.tiles.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double share = (static_cast<double>(i) + 0.5) * static_cast<double>(all) / static_cast<double>(count) - 0.5;
    s.x.push_back(axis.first + (count == all ? static_cast<double>(i) : share));
    s.y.push_back(of_key ? value.of_key(steps.of_key[i]) : value.of_query(steps.of_query[i]));
  }
  return s;
}

/// "12 of 64 lost"; "none lost".
std::string lost_words(int lost, int seen) {
  return lost == 0 ? std::string("no dS lost") : fmt::format("{} of {} dS lost", lost, seen);
}

/// "key tile 5, keys 320 .. 383".
std::string tile_words(const GradientTrace& t, const GradMethod& m, bool of_key, int tile) {
  const Problem& p = t.question.experiment.problem;
  const int block = of_key ? m.block_q : m.block_k, first = tile * block,
            last = std::min(of_key ? p.n : key_count(p), first + block) - 1;
  return fmt::format("{} tile {}, {} {} .. {}", of_key ? "query" : "key", tile, of_key ? "queries" : "keys", first, last);
}

/// A line for each number of a method's tile.
std::string numbers_of(const GradientSteps& steps, bool of_key, std::size_t i) {
  if (of_key) {
    const KeyTile& k = steps.of_key[i];
    return fmt::format("largest P {}, |dS| {}\n{}\n|dK| {}, |dV| {} so far\nerror of dK {}, of dV {}",
                       single_number(k.largest_P), single_number(k.largest_dS), lost_words(k.lost, k.seen),
                       single_number(k.dk_norm), single_number(k.dv_norm), scientific(k.dk_error), scientific(k.dv_error));
  }
  const QueryTile& q = steps.of_query[i];
  return fmt::format("largest P {}, |dP − δ| {}, |dS| {}\n{}\nadds {} to dQ, |dQ| {} so far\nerror of dQ {}",
                     single_number(q.largest_P), single_number(q.largest_dP), single_number(q.largest_dS),
                     lost_words(q.lost, q.seen), single_number(q.added), single_number(q.dq_norm), scientific(q.dq_error));
}

}  // namespace

WorkedStep gradient_step(const GradientTrace& t, bool of_key, int i) {
  using Tone = FormulaPiece::Tone;
  const bool of_a = count_of(t.a, of_key) > 0;
  const GradientSteps& steps = of_a ? t.a : t.b;
  const GradMethod& m = of_a ? t.question.experiment.backward.a : t.question.experiment.backward.b;
  const auto at = static_cast<std::size_t>(i);
  WorkedStep step;
  step.max.push_back({Tone::quiet, tile_words(t, m, of_key, tile_of(steps, of_key, at)) + ":"});
  const auto lost_tone = [](int lost) { return lost > 0 ? Tone::bad : Tone::quiet; };
  if (of_key) {
    const KeyTile& k = steps.of_key[at];
    step.max.push_back({Tone::text, fmt::format("P ≤ {}, |dS| ≤ {}", single_number(k.largest_P), single_number(k.largest_dS))});
    step.max.push_back({lost_tone(k.lost), lost_words(k.lost, k.seen)});
    step.sums.push_back({Tone::text, "dV += Pᵀ·dO, dK += dSᵀ·Q"});
    step.sums.push_back({Tone::quiet, fmt::format("|dV| = {}, |dK| = {}", single_number(k.dv_norm), single_number(k.dk_norm))});
    const bool is_dk = std::isnan(k.dk_error) || k.dk_error > k.dv_error;
    step.error = "error so far " + scientific(is_dk ? k.dk_error : k.dv_error);
    return step;
  }
  const QueryTile& q = steps.of_query[at];
  step.max.push_back({Tone::text, fmt::format("P ≤ {}, |dP − δ| ≤ {}, |dS| ≤ {}", single_number(q.largest_P),
                                              single_number(q.largest_dP), single_number(q.largest_dS))});
  step.max.push_back({lost_tone(q.lost), lost_words(q.lost, q.seen)});
  step.sums.push_back({Tone::text, "dS = P∘(dP − δ), dQ += dS·K"});
  step.sums.push_back({Tone::quiet, fmt::format("adds {}, |dQ| = {}", single_number(q.added), single_number(q.dq_norm))});
  step.error = "error so far " + scientific(q.dq_error);
  return step;
}

namespace {

constexpr float under_names = 5, title_height = 18;
constexpr int name_lines = 3;

/// A plot of the strip with its title and names, whose height raises `header`; returns the step under the mouse, or -1.
int draw_gradient_plot(const Frame& frame, std::size_t plot, const StripSteps& steps, ImVec2 at, ImVec2 size, float& header) {
  GradientStrip& strip = *frame.state.gradients;
  View& view = frame.session.view;
  const GradientPlotWords& words = infos[plot].words[strip.of_key ? 1 : 0];
  const FigurePanel& panel = strip.panels[plot];
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({size.x, px(title_height)});
  explain(words.what, words.formula);
  draw_fitted(at, Face::label, colours().text, words.title, size.x);
  std::vector<LegendName> names;
  std::uint64_t& hidden = strip.hidden[plot];
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    names.push_back(legend_name(panel.series[i], !is_shown(hidden, i)));
    names.back().id = fmt::format("{} {}", words.title, i);
  }
  if (const int clicked = draw_legend({at.x, at.y + px(title_height)}, size.x, names, name_lines); clicked >= 0)
    hidden ^= 1ull << clicked;
  const float above = px(title_height + under_names) + height_of_legend(size.x, names, name_lines);
  header = std::max(header, above);
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

/// The plots in a row, and a read-out of the tile under the mouse. Returns the largest height of a plot's title and names.
float draw_gradient_plots(const Frame& frame, const StripSteps& steps, ImVec2 at, ImVec2 size) {
  const GradientStrip& strip = *frame.state.gradients;
  const float count = static_cast<float>(gradient_plots.size()), gap = px(16),
              width = std::floor((size.x - gap * (count - 1)) / count);
  int under = -1;
  float header = 0;
  for (std::size_t i = 0; i < gradient_plots.size(); ++i) {
    under = std::max(under, draw_gradient_plot(frame, i, steps, at, {width, size.y}, header));
    at.x += width + gap;
  }
  if (under < 0 || ImGui::IsAnyMouseDown() || !ImGui::BeginTooltip()) return header;
  wrapped(Face::mono_small, gradient_note(*strip.trace, strip.of_key, under), px(460));
  ImGui::EndTooltip();
  return header;
}

/// Draws a sentence in the middle of the room.
void say_in(ImVec2 at, ImVec2 size, const std::string& text) {
  draw_fitted({at.x + size.x / 2, at.y + size.y / 2 - px(16)}, Face::label, colours().secondary, text, size.x, 0.5f);
  take_room(at, size);
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
  for (const Plot plot : gradient_plots) strip.panels.push_back(gradient_panel(plot, *trace, of_key));
  if (!strip.axis.by_index && strip.axis.tiles.size() <= most_names)
    for (const int tile : strip.axis.tiles) strip.names.push_back(std::to_string(tile));
}

}  // namespace

GradientAxis gradient_axis(const GradientTrace& t, bool of_key) {
  const GradientSteps& steps = count_of(t.a, of_key) > 0 ? t.a : t.b;
  GradientAxis axis;
  for (std::size_t i = 0; i < count_of(steps, of_key); ++i) axis.tiles.push_back(tile_of(steps, of_key, i));
  axis.by_index = std::ranges::adjacent_find(axis.tiles, [](int x, int y) { return y != x + 1; }) == axis.tiles.end();
  if (axis.by_index && !axis.tiles.empty()) axis.first = axis.tiles.front();
  return axis;
}

FigurePanel gradient_panel(Plot plot, const GradientTrace& t, bool of_key) {
  const GradientPlotInfo& info = infos[place_in(gradient_plots, plot)];
  const GradientAxis axis = gradient_axis(t, of_key);
  const MethodNames names = method_names(t.question.experiment);
  FigurePanel p;
  p.x = number_axis(std::string(of_key ? "query tile" : "key tile") + (axis.by_index ? "" : ", by its place in the order"));
  p.x.whole = true;
  p.x.min = axis.first - 0.5;
  p.x.max = axis.first + std::max<double>(1, static_cast<double>(axis.tiles.size())) - 0.5;
  p.y = number_axis(info.words[of_key ? 1 : 0].axis, info.log);
  if (!info.log) p.y.min = 0;
  bool dashed = false;
  for (const TileValue& value : info.curves) {
    if (of_key ? value.of_key == nullptr : value.of_query == nullptr) continue;
    for (const bool of_b : {false, true}) {
      Series s = curve_of(value, of_b ? t.b : t.a, of_key, axis);
      if (s.x.empty()) continue;
      s.label = std::string(value.name) + (*value.name != 0 ? ", " : "") + (of_b ? names.b_after_a : names.a);
      s.ink = of_b ? Ink::b : Ink::a;
      s.dashed = dashed;
      p.series.push_back(std::move(s));
    }
    dashed = true;
  }
  const auto is_zero = [](const Series& s) { return std::ranges::all_of(s.y, [](double y) { return y == 0; }); };
  if (!p.y.log && std::ranges::all_of(p.series, is_zero)) p.y.max = 1;
  return p;
}

std::string why_no_gradients(const GradientTrace& t, bool of_key) {
  if (count_of(t.a, of_key) + count_of(t.b, of_key) > 0) return {};
  return of_key ? fmt::format("Key {} is seen by no query: its dK and dV are zero, and there is nothing to follow.",
                              t.question.key)
                : fmt::format("Query {} sees no key: its dQ is zero, and there is nothing to follow.", t.question.query);
}

std::string gradient_line(const GradientTrace& t, bool of_key) {
  const MethodNames names = method_names(t.question.experiment);
  if (of_key) {
    int seen = 0;
    for (const KeyTile& tile : t.a.of_key.empty() ? t.b.of_key : t.a.of_key) seen += tile.seen;
    return fmt::format("key {} is seen by {}", t.question.key, counted(seen, "query", "queries"));
  }
  std::string line = fmt::format("δ of query {}: ", t.question.query);
  if (!t.a.of_query.empty()) line += fmt::format("{} {}, ", names.a, single_number(t.a.delta, 5));
  if (!t.b.of_query.empty()) line += fmt::format("{} {}, ", names.b_after_a, single_number(t.b.delta, 5));
  return line + "golden " + single_number(t.golden_delta, 5);
}

std::string gradient_note(const GradientTrace& t, bool of_key, int i) {
  const MethodNames names = method_names(t.question.experiment);
  const std::size_t all = gradient_axis(t, of_key).tiles.size();
  std::string text;
  for (const bool of_b : {false, true}) {
    const GradientSteps& steps = of_b ? t.b : t.a;
    const std::size_t count = count_of(steps, of_key);
    if (count == 0) continue;
    const std::size_t at = count == all ? static_cast<std::size_t>(i) : static_cast<std::size_t>(i) * count / all;
    const GradMethod& m = of_b ? t.question.experiment.backward.b : t.question.experiment.backward.a;
    text += (text.empty() ? "" : "\n\n") + (of_b ? names.b_after_a : names.a) + ": " +
            tile_words(t, m, of_key, tile_of(steps, of_key, at)) + "\n" + numbers_of(steps, of_key, at);
  }
  return text;
}

bool follows_gradients(const Session& s) { return s.experiment.backward.on && !s.view.follows_forward; }

int followed_key(const View& view, const Problem& p) {
  if (view.traced_key >= 0) return std::min(view.traced_key, key_count(p) - 1);
  const int own = traced_row(p) + diagonal(p);
  return own >= 0 && own < key_count(p) ? own : 0;
}

GradientTraceQuestion gradient_question(const Session& s) {
  return {s.experiment, traced_row(s.experiment.problem), followed_key(s.view, s.experiment.problem)};
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
    const float used = draw_fitted(there, Face::mono_small, colours().text, line, room - left);
    take_room(there, {std::max(1.0f, used), line_height(Face::mono_small)});
    if (!view.follows_key)
      explain(
          "The backward pass of softmax subtracts δ from dP: the mean of dP under the weights P. First each method's δ, then "
          "golden's.",
          "delta_i = sum_c dO_ic O_ic - dL_i");
    else
      explain("The queries that see the key, over all its query tiles.");
  }
  ImGui::SetCursorScreenPos({at.x, at.y + pass_switch_height(session)});
}

StripRoom draw_gradient_strip(const Frame& frame) {
  View& view = frame.session.view;
  const ImVec2 at = ImGui::GetCursorScreenPos(), all = ImGui::GetContentRegionAvail();
  const GradientTraceQuestion asked = gradient_question(frame.session);
  const std::shared_ptr<const GradientTrace>& trace = frame.input.side.gradient_trace;
  const bool is_new = !trace || !(trace->question == asked);
  if (is_new && !frame.input.answer.computing) frame.requests.side.gradient_trace = asked;
  if (!trace) {
    say_in(at, all, "The backward pass of this query and this key is being computed.");
    return {all.x};
  }
  if (!frame.state.gradients) frame.state.gradients = std::make_shared<GradientStrip>();
  GradientStrip& strip = *frame.state.gradients;
  refresh_gradients(strip, trace, view.follows_key);
  const StripSteps steps{strip.axis.first, static_cast<int>(strip.axis.tiles.size())};
  frame.requests.animate |= advance(frame.state.playback, view, steps, ImGui::GetTime());
  StripRoom room{all.x};
  if (const std::string why = why_no_gradients(*trace, strip.of_key); !why.empty()) {
    say_in(at, all, why);
  } else {
    const float scrubber = scrubber_height(all.x);
    room.header = draw_gradient_plots(frame, steps, at, {all.x, all.y - scrubber - px(8)});
    const int step = scrubbed(steps, view);
    const auto say = [&](ImVec2 there, float width, int lines) {
      draw_worked(gradient_step(*trace, strip.of_key, step), "The step of the backward pass at this tile, with a's numbers.",
                  there, width, lines);
    };
    const int tile = strip.axis.tiles[static_cast<std::size_t>(step)], last = std::ranges::max(strip.axis.tiles);
    draw_scrubber(view, frame.state.playback, steps, tile, last, say, {at.x, at.y + all.y - scrubber}, {all.x, scrubber}, true);
  }
  if (is_new) ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + all.x, at.y + all.y}, faded(colours().panel, 0.35f));
  return room;
}

}  // namespace attoscope::ui
