/// `attoscope figure`: draws a paper's experiment, a sweep or a plot of the window, with its data, script and the JSON that
/// reproduces it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "app/commands/commands.h"
#include "app/figures/bundle.h"
#include "app/files/paths.h"
#include "app/json/json.h"
#include "app/json/settings_json.h"
#include "app/papers/named.h"
#include "app/papers/named_bundle.h"
#include "app/papers/sweep_figure.h"
#include "app/session/session_places.h"
#include "app/sweep/sweep_json.h"
#include "app/sweep/sweep_ledger.h"
#include "app/tensors/head_numbers.h"
#include "app/train/train_figures.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/result.h"
#ifdef ATTOSCOPE_GUI
#include "app/plots/window_bundle.h"
#endif

namespace attoscope::app {
namespace {

constexpr int deepest = 12;

bool is_bundle(const std::string& what) { return what.ends_with(".json") || what.ends_with(".zip"); }

/// True if `path` is a bundle whose JSON is an object for which holds(json).
template <class F>
bool bundle_is(const std::string& path, F holds) {
  return is_bundle(path) && parsed_bundle(path, [&](const std::string& text) {
           const nlohmann::json json = parse_json(text, deepest);
           return json.is_object() && holds(json);
         });
}

/// True if the bundle's schema is of this family, such as "attoscope.sweep/", which `attoscope sweep --figure` writes.
bool is_of_schema(const std::string& path, const char* family) {
  return bundle_is(path, [&](const nlohmann::json& json) {
    const auto schema = json.find("schema");
    return schema != json.end() && schema->is_string() && schema->get<std::string>().starts_with(family);
  });
}

/// Throws for options that the figure does not take: a training takes only --policy and, unless its bundle has a plan, --seeds;
/// a language model only --n.
void refuse_settings_of_sweeps(const FigureArguments& x, const AskedFigure& asked) {
  const bool training = trains(asked), of_seeds = training && !asked.plan;
  const std::string taken = of_seeds   ? "a figure of training takes --policy and --seeds alone"
                            : training ? "one of a training's plan takes --policy alone"
                                       : "one of a language model takes --n alone";
  for (const auto& [option, value] :
       {training ? std::pair{"--n", x.n} : std::pair{"--policy", x.policy}, std::pair{"--d", x.d},
        std::pair{"--seeds", of_seeds ? "" : x.seeds}, std::pair{"--all-policies", std::string(x.all_policies ? "given" : "")}})
    if (!value.empty()) refuse(option, value, "it with a figure of sweeps: " + taken);
}

/// Throws for a typed option that changes nothing in a figure of sweeps.
void refuse_without_effect(const FigureArguments& x, const std::string& name) {
  if (x.policy.empty() && !x.all_policies && x.n.empty() && x.d.empty() && x.seeds.empty()) return;
  const std::vector<std::string_view> useless = settings_without_effect(name);
  for (const auto& [option, key, value] : {std::tuple{"--policy", "policy", x.policy},
                                           {"--all-policies", "all_policies", x.all_policies ? "given" : ""},
                                           {"--n", "n", x.n},
                                           {"--d", "d", x.d},
                                           {"--seeds", "seeds", x.seeds}})
    if (!value.empty() && std::ranges::find(useless, key) != useless.end())
      refuse(option, value, "it with another figure: it changes nothing in " + name);
}

AskedFigure asked_for(const FigureArguments& x) {
  AskedFigure asked = is_bundle(x.what) ? parsed_bundle(x.what, parse_asked_figure) : AskedFigure{x.what, {}};
  ui::FigureSettings& s = asked.settings;
  const ui::FigureSettings first = s;
  if (!x.policy.empty()) s.policy = x.policy;
  if (!x.policy.empty() && asked.plan) {
    use_policy(*asked.plan, x.policy);
    asked.digests.clear();
  }
  s.all_policies |= x.all_policies;
  if (!x.n.empty()) s.n = whole_number("--n", x.n, 1, ui::most_figure_n);
  if (!x.d.empty()) s.d = whole_number("--d", x.d, 1, max_d);
  if (!x.seeds.empty()) s.seeds = whole_number("--seeds", x.seeds, 1, ui::most_figure_seeds);
  if (s != first) {  // those of other experiments
    asked.digests.clear();
    asked.points = 0;
  }
  validate(asked);
  if (trains(asked) || runs_model(asked))
    refuse_settings_of_sweeps(x, asked);
  else
    refuse_without_effect(x, asked.name);
  return asked;
}

/// Returns compute(work), which takes known points from the cache; shows progress as "done of points `of`".
template <class F>
auto computed(const FigureArguments& x, std::size_t points, const char* of, std::ostream* terminal, F compute) {
  const Interrupts interrupts;
  PointCache cache(x.no_cache ? "" : default_point_cache());
  ProgressLine line(terminal);
  std::size_t done = 0;
  const auto finished = [&](bool) {
    ++done;
    line.show([&] { return fmt::format("{} of {} {}", done, points, of); });
  };
  return compute(FigureWork{.cancelled = [&] { return interrupts.arrived(); }, .cache = &cache, .finished = finished});
}

/// Writes the bundle; a signal stops the drawing.
void write_drawn(const std::string& file, const Figure& figure, const Json& reproduction) {
  unless_stopped("stopped before the figure was drawn; nothing was written",
                 [&](const Cancelled& cancelled) { write_bundle(file, figure, reproduction, cancelled); });
}

std::string list_text() {
  std::string text;
  for (const NamedFigure& f : named_figures()) text += fmt::format("{:<18} {}\n", f.name, f.what);
  return text;
}

/// Draws a sweep's figure again from its bundle.
void redraw_sweep(const FigureArguments& x, const Streams& streams) {
  refuse_settings_of_named(x);
  std::vector<std::string> remarks;
  Sweep sweep = parsed_bundle(x.what, [&](const std::string& text) { return parse_sweep(text, remarks); });
  SweepStyle style = parsed_bundle(x.what, [&](const std::string& text) { return parse_sweep_style(text, remarks); });
  const std::uint64_t then = parsed_bundle(x.what, [&](const std::string& text) { return parse_points_digest(text, remarks); });
  if (!remarks.empty()) throw std::runtime_error(x.what + ": " + without_consequence(remarks[0]));
  style.print = typed_style(x.style, style.print);
  find_files(sweep.base, std::filesystem::absolute(x.what).parent_path().string());
  std::vector<std::string> changed = load_found(sweep.base);
  tell(other_numbers(sweep.base.problem), streams);
  if (!sweep.heads.empty()) {
    const Sweep kept = sweep;
    sweep.heads = used_heads(sweep.over, sweep.base);
    std::ranges::move(changed_heads(kept, sweep), std::back_inserter(changed));
  }
  tell_changed(changed, x.strict, streams);
  const auto answers = computed(x, app::point_count(sweep), "points", streams.terminal,
                                [&](const FigureWork& work) { return complete_answers(sweep, sweep_options(work)); });
  const Figure figure = sweep_figure(sweep, *sweep_table(sweep, sweep.measure, answers), style);
  const std::uint64_t now = points_digest(answers);
  write_drawn(x.out, figure, sweep_reproduction(sweep, style, figure.caption, now));
  streams.out << figure.caption << "\n" << x.out << "\n";
  if (changed.empty()) refuse_changed(x.what, changed_points(then, now), x.out);
}

/// Style of an earlier figure, or the default, changed by the typed options.
FigureStyle print_of(const FigureArguments& x) {
  std::vector<std::string> remarks;
  FigureStyle style;
  if (is_bundle(x.what))
    style = parsed_bundle(x.what, [&](const std::string& text) { return parse_figure_style(text, remarks); });
  if (!remarks.empty()) throw std::runtime_error(x.what + ": " + without_consequence(remarks[0]));
  return typed_style(x.style, style);
}

/// Throws if --plot is given beside a figure of the papers, which is no session.
void refuse_plot_of_named(const FigureArguments& x) {
  const auto named = named_figures();
  if (!x.plot.empty() && std::ranges::find(named, x.what, &NamedFigure::name) != named.end())
    refuse("--plot", x.plot, "it with a session: " + x.what + " is a named figure");
}

/// True if --plot is given or the bundle is of a plot of the window.
bool asks_for_plot(const FigureArguments& x) {
  return !x.plot.empty() || bundle_is(x.what, [](const nlohmann::json& json) { return json.contains("plot"); });
}

/// Computes the points that are not in the cache and writes the four files together. Without gnuplot it writes the three others
/// and then throws.
void draw_figure(const FigureArguments& x, const Streams& streams) {
  refuse_plot_of_named(x);
#ifdef ATTOSCOPE_GUI
  const auto tell = [&](const std::vector<std::string>& changed) { tell_changed(changed, x.strict, streams); };
  if (asks_for_plot(x)) return draw_plot(x, streams.out, tell);
#else
  if (asks_for_plot(x)) no_window();
#endif
  if (x.list) {
    streams.out << list_text();
    return;
  }
  if (is_of_schema(x.what, "attoscope.session/"))
    throw std::invalid_argument("--plot is missing, expected the plot of the session to draw, such as heat_map");
  if (is_of_schema(x.what, "attoscope.sweep/")) {
    check_bundle_place("--out", x.out);
    return redraw_sweep(x, streams);
  }
  const AskedFigure asked = asked_for(x);
  const FigureStyle style = print_of(x);
  check_bundle_place("--out", x.out);  // before computing
  const MadeFigure made = computed(x, point_count(asked),
                                   trains(asked)       ? "steps"
                                   : runs_model(asked) ? "runs of the model"
                                                       : "points",
                                   streams.terminal, [&](const FigureWork& work) { return made_figure(asked, work); });
  Json reproduction = made.reproduction;
  reproduction["print"] = style_json(style);
  write_drawn(x.out, in_style(made.figure, style), reproduction);
  streams.out << made.figure.caption << "\n" << x.out << "\n";
  refuse_changed(x.what, made.changed, x.out);
}

void declare(OptionList& c, FigureArguments& x) {
  c.add("what", x.what, listed(names_in(named_figures()), ", ") + ", the .json or .zip of an earlier figure, or a session");
  c.group("Plots of a session");
  const std::vector<std::string_view> plots(ui::plot_names.begin() + 1, ui::plot_names.end());  // without "window"
  c.add("--plot", x.plot, "of a session: " + listed(plots) + "; train_... train the session's plan");
  c.group("Figures of the papers");
  c.add("--policy", x.policy, "where a rounds (eager); refused where a figure has its own");
  c.add("--all-policies", x.all_policies,
        "draw every flash policy; as the three below it is refused where it changes nothing in the figure");
  c.add("--n", x.n, "tokens (1024)");
  c.add("--d", x.d, "head dimension (64)");
  c.add("--seeds", x.seeds, "how many (5)");
  c.add("--list", x.list, "only list the figures");
  c.add("--no-cache", x.no_cache, "compute every point, and keep none").strict(x.strict);
  c.group("Output");
  c.style(x.style);
  c.add("--out", x.out, "FILE.pdf, .svg, .png or .tex (TikZ), with .csv, .gp and .json beside it; or FILE.zip").quiet();
}

}  // namespace

Command figure_command() {
  return command<FigureArguments>("figure", "Draw an experiment of the papers, with its data, script and JSON", declare,
                                  draw_figure);
}

}  // namespace attoscope::app
