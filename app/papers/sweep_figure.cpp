#include "app/papers/sweep_figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/figures/bundle.h"
#include "app/json/settings_json.h"
#include "app/sweep/sweep_json.h"
#include "app/sweep/sweep_ledger.h"
#include "app/tensors/call_files.h"
#include "app/tensors/tensors.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/setting.h"
#include "kernels/experiment/text.h"
#include "ui/frame/panel_axes.h"
#include "ui/words/sentences.h"

namespace attoscope::app {
namespace {

/// "mask causal", "mask causal and a mask tensor", "a mask tensor".
std::string mask_words(const Problem& p) {
  const std::string rule = "mask " + std::string(mask_names[p.mask.kind]);
  if (p.input.parts.mask == 0) return rule;
  return p.mask.kind == Mask::Kind::none ? "a mask tensor" : rule + " and a mask tensor";
}

/// The settings of an experiment in words; "" for a setting that does not matter.
std::vector<std::string> words_of(const Experiment& e) {
  const Problem& p = e.problem;
  return {"input " + input_spec(p.input),
          fmt::format("N = {}", p.n),
          key_count(p) == p.n ? "" : fmt::format("{} keys", key_count(p)),
          fmt::format("d = {}", p.d),
          value_columns(p) == p.d ? "" : fmt::format("d_v = {}", value_columns(p)),
          mask_words(p),
          name(e.format)};
}

/// "tile 64 x 64"; "" for methods without tiles.
std::string tile_words(const Method& m) {
  const bool has_tiles = is_emulated(m.algorithm) && m.algorithm != Algorithm::three_pass;
  return has_tiles ? fmt::format("tile {} x {}", m.block_q, m.block_k) : "";
}

/// The varied experiments as the points have them: those of a sweep over windows are on the tokens of a window, and a varied
/// head has its own tokens.
std::vector<Experiment> shown_experiments(Sweep sweep) {
  const bool whole = has_whole_heads(sweep);
  Problem& p = sweep.base.problem;
  if (const int tokens = sweep.over.tokens; sweep.over.kind == ui::SweepOver::window)
    p = with_shape(p, {tokens, tokens, p.d, value_columns(p)});
  std::vector<Experiment> all = varied_experiments(sweep);
  std::optional<CallFiles> files;
  for (Experiment& e : all) {
    const int head = e.problem.input.index;
    if (e.problem.input.file != p.input.file || head == p.input.index) continue;
    e.problem.input.parts.mask = p.input.parts.mask;
    if (!whole) continue;
    if (!files) files.emplace(p.input.file);
    e.problem = with_shape(std::move(e.problem), files->layer_of(head).shape());
  }
  return all;
}

}  // namespace

std::string experiment_words(std::span<const Experiment> all) {
  std::vector<std::string> words = words_of(all[0]);
  std::array<std::string, 2> names = ui::legend_names(all), tiles{tile_words(all[0].a), tile_words(all[0].b)};
  for (const Experiment& e : all) {
    const std::vector<std::string> others = words_of(e);
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] != others[i]) words[i].clear();
    if (tile_words(e.a) != tiles[0]) tiles[0].clear();
    if (tile_words(e.b) != tiles[1]) tiles[1].clear();
  }
  std::erase(words, "");
  for (const std::size_t i : {0u, 1u})
    if (!tiles[i].empty()) names[i] += ", " + tiles[i];
  return fmt::format("{}; {}; {}", fmt::join(words, ", "), names[0], names[1]);
}

ui::SweepAxes usual_axes(const ui::SweepTable& t, ui::SeedSpread spread) {
  ui::SweepAxes axes{.spread = spread, .log_x = false, .log_y = false};
  if (const std::vector<double>& x = t.axes[0].numbers; x.size() > 2) {
    const auto [least, largest] = std::ranges::minmax(x);
    axes.log_x = std::ranges::all_of(x, [](double v) { return v >= 1 && v == std::floor(v); }) && largest / least >= 8;
  }
  ui::NumberSpan y;
  for (const ui::SweepCell& c : t.cells)
    if (c.count > 0) {
      y.take(c.mean);
      y.take(t.has_rival ? c.rival : c.mean);
    }
  axes.log_y = y.low > 0 && y.high > 4 * y.low;
  return axes;
}

Json sweep_reproduction(const Sweep& sweep, const SweepStyle& style, const std::string& caption, std::uint64_t points) {
  Json json = sweep_json(sweep);
  json["caption"] = caption;
  json["digests"]["points"] = hex16(points);
  json["style"] = {{"spread", sweep_spread_names[static_cast<std::size_t>(style.axes.spread)]},
                   {"heat_map", style.heat_map},
                   {"log_x", style.axes.log_x},
                   {"log_y", style.axes.log_y}};
  json["print"] = style_json(style.print);
  return json;
}

SweepStyle parse_sweep_style(std::string_view text, std::vector<std::string>& remarks) {
  const nlohmann::json json = parse_json(text, 8);
  SweepStyle style;
  if (json.contains("style"))
    read_settings({{"style", json["style"]}}, "",
                  {{"style", Settings{{"spread", named(style.axes.spread, sweep_spread_names)},
                                      {"heat_map", &style.heat_map},
                                      {"log_x", &style.axes.log_x},
                                      {"log_y", &style.axes.log_y}}}},
                  remarks);
  style.print = parse_figure_style(text, remarks);
  return style;
}

std::uint64_t parse_points_digest(std::string_view text, std::vector<std::string>& remarks) {
  const nlohmann::json json = parse_json(text, 8);
  std::uint64_t points = 0;
  if (json.contains("digests"))
    read_settings({{"digests", json["digests"]}}, "", {{"digests", Settings{{"points", HexValue{&points}}}}}, remarks);
  return points;
}

Figure sweep_figure(const Sweep& sweep, const ui::SweepTable& table, const SweepStyle& style) {
  const bool two = sweep.axes.size() > 1;
  Figure f{.name = "sweep", .caption = {}, .panels = {}};
  f.panels.push_back(style.heat_map && two ? sweep_heat_panel(table, style.axes.log_y) : sweep_lines(table, style.axes).panel);
  ui::FigurePanel& panel = f.panels[0];
  if (sweep.over.kind != ui::SweepOver::seed) (panel.heat ? panel.heat->label : panel.y.label) += ", over " + table.repeats;
  std::vector<std::string> ranges;
  for (const Axis& axis : sweep.axes) {
    const std::string_view title = axis_key(axis.key).title;
    const std::vector<std::string>& values = axis.values;
    ranges.push_back(values.size() == 1 ? fmt::format("{} {}", title, values[0])
                                        : fmt::format("{} from {} to {}", title, values.front(), values.back()));
  }
  const std::string of = table.has_rival ? fmt::format(" of {} and {}", table.methods[0], table.methods[1]) : "";
  const bool spreads = sweep.seeds > 1;
  const char* const bars = style.axes.spread == ui::SeedSpread::std ? "one standard deviation" : "the least and the largest";
  f.caption =
      fmt::format("{}{} over {}: {}{}; {}; attoscope " ATTOSCOPE_VERSION ".", measure_title(table), of,
                  fmt::join(ranges, " and "), spreads ? "means of " + table.repeats : "one answer each",
                  spreads && !panel.heat ? std::string(", bars: ") + bars : "", experiment_words(shown_experiments(sweep)));
  if (const Input& input = sweep.base.problem.input; sweep.over.kind != ui::SweepOver::seed) {
    const std::string one = input_spec(input);  // names one head; the sweep uses several
    if (const std::size_t at = f.caption.find(one); at != std::string::npos) f.caption.replace(at, one.size(), input.file);
  }
  return in_style(std::move(f), style.print);
}

}  // namespace attoscope::app
