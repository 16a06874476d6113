// The backward pass of a query or a key as plots over tiles, and its numbers in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/recurrence/gradient_strip.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

/// A plotted number of a tile of a query, and of a key; no function: the plot has none.
struct TileValue {
  const char* name = "";  ///< in the legend, before the method's name; "": the method's name alone
  double (*of_query)(const QueryTile&) = nullptr;
  double (*of_key)(const KeyTile&) = nullptr;
};

/// The share of the exact dS that are not 0 and become 0, of the pairs that are seen.
double lost_share(int lost, int seen) { return seen > 0 ? static_cast<double>(lost) / seen : 0; }

/// A plot: its title of a query and of a key, and its curves, those after the first dashed.
struct GradientPlotInfo {
  GradientPlot plot;
  const char *of_query, *of_key;
  bool log = true;
  std::array<TileValue, 4> curves{};
};
constexpr EnumArray<GradientPlot, GradientPlotInfo> infos{{
    {.plot = GradientPlot::P,
     .of_query = "largest P",
     .of_key = "largest P",
     .curves = {{{"", [](const QueryTile& t) { return t.largest_P; }, [](const KeyTile& t) { return t.largest_P; }}}}},
    {.plot = GradientPlot::dS,
     .of_query = "largest |dS|, |dP − δ|",
     .of_key = "largest |dS|",
     .curves = {{{"dS", [](const QueryTile& t) { return t.largest_dS; }, [](const KeyTile& t) { return t.largest_dS; }},
                 {"dP − δ", [](const QueryTile& t) { return t.largest_dP; }, nullptr}}}},
    {.plot = GradientPlot::lost,
     .of_query = "share of dS lost to 0",
     .of_key = "share of dS lost to 0",
     .log = false,
     .curves = {{{"", [](const QueryTile& t) { return lost_share(t.lost, t.seen); },
                  [](const KeyTile& t) { return lost_share(t.lost, t.seen); }}}}},
    {.plot = GradientPlot::sums,
     .of_query = "norm of what is added to dQ, of dQ so far",
     .of_key = "norm of dK, dV so far",
     .curves = {{{"added", [](const QueryTile& t) { return t.added; }, nullptr},
                 {"dQ", [](const QueryTile& t) { return t.dq_norm; }, nullptr},
                 {"dK", nullptr, [](const KeyTile& t) { return t.dk_norm; }},
                 {"dV", nullptr, [](const KeyTile& t) { return t.dv_norm; }}}}},
    {.plot = GradientPlot::error,
     .of_query = "max |error| of dQ so far",
     .of_key = "max |error| of dK, dV so far",
     .curves = {{{"", [](const QueryTile& t) { return t.dq_error; }, nullptr},
                 {"dK", nullptr, [](const KeyTile& t) { return t.dk_error; }},
                 {"dV", nullptr, [](const KeyTile& t) { return t.dv_error; }}}}},
}};

std::size_t count_of(const GradientSteps& steps, bool of_key) { return of_key ? steps.of_key.size() : steps.of_query.size(); }
int tile_of(const GradientSteps& steps, bool of_key, std::size_t i) {
  return of_key ? steps.of_key[i].tile : steps.of_query[i].tile;
}

/// A curve of a method; without values where it has no backward pass.
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
    return fmt::format("largest P {}, |dS| {}\n{}\n|dK| {}, |dV| {} so far\nerror of dK {}, of dV {}", scientific(k.largest_P),
                       scientific(k.largest_dS), lost_words(k.lost, k.seen), scientific(k.dk_norm), scientific(k.dv_norm),
                       scientific(k.dk_error), scientific(k.dv_error));
  }
  const QueryTile& q = steps.of_query[i];
  return fmt::format("largest P {}, |dP − δ| {}, |dS| {}\n{}\nadds {} to dQ, |dQ| {} so far\nerror of dQ {}",
                     scientific(q.largest_P), scientific(q.largest_dP), scientific(q.largest_dS), lost_words(q.lost, q.seen),
                     scientific(q.added), scientific(q.dq_norm), scientific(q.dq_error));
}

}  // namespace

std::optional<GradientPlot> gradient_plot_of(Plot plot) {
  constexpr EnumArray<GradientPlot, Plot> exported{Plot::largest_P, Plot::largest_dS, Plot::lost_dS, Plot::gradient_sums,
                                                   Plot::error};
  const auto* const found = std::ranges::find(exported, plot);
  if (found == exported.end()) return {};
  return static_cast<GradientPlot>(found - exported.begin());
}

GradientAxis gradient_axis(const GradientTrace& t, bool of_key) {
  const GradientSteps& steps = count_of(t.a, of_key) > 0 ? t.a : t.b;
  GradientAxis axis;
  for (std::size_t i = 0; i < count_of(steps, of_key); ++i) axis.tiles.push_back(tile_of(steps, of_key, i));
  axis.by_index = std::ranges::adjacent_find(axis.tiles, [](int x, int y) { return y != x + 1; }) == axis.tiles.end();
  if (axis.by_index && !axis.tiles.empty()) axis.first = axis.tiles.front();
  return axis;
}

FigurePanel gradient_panel(GradientPlot plot, const GradientTrace& t, bool of_key) {
  const GradientAxis axis = gradient_axis(t, of_key);
  const MethodNames names = method_names(t.question.experiment);
  FigurePanel p;
  p.x = number_axis(std::string(of_key ? "query tile" : "key tile") + (axis.by_index ? "" : ", by its place in the order"));
  p.x.whole = true;
  p.x.min = axis.first - 0.5;
  p.x.max = axis.first + std::max<double>(1, static_cast<double>(axis.tiles.size())) - 0.5;
  p.y = number_axis(of_key ? infos[plot].of_key : infos[plot].of_query, infos[plot].log);
  if (!infos[plot].log) p.y.min = 0;
  bool dashed = false;
  for (const TileValue& value : infos[plot].curves) {
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
    return fmt::format("key {} is seen by {} {}", t.question.key, seen, seen == 1 ? "query" : "queries");
  }
  std::string line = fmt::format("δ of query {}: ", t.question.query);
  if (!t.a.of_query.empty()) line += fmt::format("{} {}, ", names.a, signed_scientific(t.a.delta, 5));
  if (!t.b.of_query.empty()) line += fmt::format("{} {}, ", names.b_after_a, signed_scientific(t.b.delta, 5));
  return line + "golden " + signed_scientific(t.golden_delta, 5);
}

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
    step.max.push_back({Tone::text, fmt::format("P ≤ {}, |dS| ≤ {}", scientific(k.largest_P), scientific(k.largest_dS))});
    step.max.push_back({lost_tone(k.lost), lost_words(k.lost, k.seen)});
    step.sums.push_back({Tone::text, "dV += Pᵀ·dO, dK += dSᵀ·Q"});
    step.sums.push_back({Tone::quiet, fmt::format("|dV| = {}, |dK| = {}", scientific(k.dv_norm), scientific(k.dk_norm))});
    step.error = fmt::format("error so far {}", scientific(std::fmax(k.dk_error, k.dv_error)));
    return step;
  }
  const QueryTile& q = steps.of_query[at];
  step.max.push_back({Tone::text, fmt::format("P ≤ {}, |dP − δ| ≤ {}, |dS| ≤ {}", scientific(q.largest_P),
                                              scientific(q.largest_dP), scientific(q.largest_dS))});
  step.max.push_back({lost_tone(q.lost), lost_words(q.lost, q.seen)});
  step.sums.push_back({Tone::text, "dS = P∘(dP − δ), dQ += dS·K"});
  step.sums.push_back({Tone::quiet, fmt::format("adds {}, |dQ| = {}", scientific(q.added), scientific(q.dq_norm))});
  step.error = "error so far " + scientific(q.dq_error);
  return step;
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

}  // namespace attoscope::ui
