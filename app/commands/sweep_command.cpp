/// `attoscope sweep`: varies one or two parameters over seeds; writes tables, points and the JSON that reproduces them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "app/commands/commands.h"
#include "app/figures/bundle.h"
#include "app/files/paths.h"
#include "app/json/settings_json.h"
#include "app/papers/sweep_figure.h"
#include "app/session/session.h"
#include "app/sweep/point_cache.h"
#include "app/sweep/ranks.h"
#include "app/sweep/runner.h"
#include "app/sweep/sweep.h"
#include "app/sweep/sweep_json.h"
#include "app/sweep/sweep_ledger.h"
#include "app/sweep/sweeper.h"
#include "app/sweep/table.h"
#include "app/tensors/call_files.h"
#include "app/tensors/head_numbers.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "kernels/gpu/device.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

/// The options as typed.
struct SweepArguments {
  ExperimentOptions base{};  ///< the experiment that is varied
  std::vector<std::string> vary{};
  Typed seeds, over, measure;  ///< none: 1, seed and a.mean_abs, or those of the session or the merged sweep
  std::string threads = "0", device = "cpu";
  std::string csv, json, markdown, latex;  ///< tables of the measure; "-" for standard output
  std::string figure;                      ///< FILE.pdf, .svg, .png or .tex with its data, script and JSON; or .zip
  StyleArguments style{};                  ///< of that figure
  std::string spread = "std";              ///< reach of the figure's bars: std or min-max
  bool heat_map = false;                   ///< draw the figure of two parameters as a map
  std::string out;                         ///< directory for sweep.json and points.csv
  std::string shard;                       ///< "K/N": every N-th point, from the K-th of 1 .. N on
  std::vector<std::string> merge{};        ///< directories of shards to merge instead of computing
  bool no_cache = false, strict = false;
};

constexpr const char *sweep_file = "sweep.json", *points_file = "points.csv";
constexpr std::uint64_t largest_sweep_file = 1 << 24, largest_points_file = std::uint64_t{1} << 30;

/// "K/N" as a zero-based shard and the number of shards.
std::pair<std::size_t, std::size_t> shard_of(const std::string& text) {
  if (text.empty()) return {0, 1};
  const std::size_t slash = text.find('/');
  const auto k = to_number<std::size_t>(std::string_view(text).substr(0, slash));
  const auto n = slash == std::string::npos ? std::nullopt : to_number<std::size_t>(std::string_view(text).substr(slash + 1));
  if (!k || !n || *k < 1 || *n < *k || *n > max_points) refuse("--shard", text, "K/N with K from 1 to N, such as 2/8");
  return {*k - 1, *n};
}

int seeds_of(const SweepArguments& x) { return whole_number("--seeds", x.seeds.value_or("1"), 1, max_seeds); }
Repeats over_of(const SweepArguments& x) {
  return of_option("--over", [&] { return parse_repeats(x.over.value_or("seed")); });
}

/// The experiment that is varied. If n is varied, --row is checked against every value of n alone.
Experiment varied_experiment(ExperimentOptions options, const std::vector<Axis>& axes, SessionRemarks& about) {
  const auto varied = std::ranges::find(axes, "n", &Axis::key);
  if (varied == axes.end() || options.find("traced_row") == nullptr) return experiment_of(options, &about);
  const std::string row = std::exchange(options.typed["traced_row"], "-1");
  Experiment base = experiment_of(options, &about);
  for (const std::string& n : varied->values) {
    Experiment e = base;
    vary(e, "n", n);
    base.problem.traced_row = row_of(row, e.problem.n);
  }
  return base;
}

/// The sweep that a session plans, with the typed seeds and repetitions.
Sweep sweep_of_session(const SweepArguments& x, SessionRemarks& about) {
  const std::string& session = *x.base.session;
  std::vector<std::string> remarks;
  ui::SweepPlan plan = read_session(session, remarks).sweep;
  if (x.seeds) plan.seeds = seeds_of(x);
  if (x.over) {
    plan.over = over_of(x).kind;
    plan.window = std::max(1, over_of(x).tokens);
  }
  const PlannedSweep sweep = planned(plan, experiment_of(x.base, &about));
  if (sweep.sweep) return *sweep.sweep;
  std::string wrong = sweep.about.wrong;
  for (const std::string& sentence : sweep.about.wrong_values)
    if (wrong.empty()) wrong = sentence;
  throw std::runtime_error(session + ": its sweep cannot be computed: " + wrong);
}

/// Sentences on the heads of a sweep over heads that differ from the sweep in the JSON at `place`; empty if it holds no sweep
/// of the same file.
std::vector<std::string> changed_heads_since(const std::string& place, const Sweep& sweep) try {
  std::vector<std::string> remarks;
  if (sweep.heads.empty() || place.empty() || place == "-") return {};
  const Sweep kept = parse_sweep(read_file(place, largest_sweep_file), remarks);
  return kept.base.problem.input.file == sweep.base.problem.input.file ? changed_heads(kept, sweep)
                                                                       : std::vector<std::string>();
} catch (const std::exception&) {
  return {};
}

/// Sentences on the tensors that differ from the session's, or from the files that are about to be replaced.
std::vector<std::string> changed_of(const SweepArguments& x, const Sweep& sweep, std::vector<std::string> of_session) {
  std::vector<std::string> places{x.json};
  if (!x.out.empty()) places.push_back((fs::path(x.out) / sweep_file).string());
  if (!x.figure.empty()) places.push_back(fs::path(x.figure).replace_extension(".json").string());
  for (const std::string& place : places)
    if (of_session.empty()) {
      of_session = changed_since(place, sweep.base);
      std::ranges::move(changed_heads_since(place, sweep), std::back_inserter(of_session));
    }
  return of_session;
}

/// Throws if a number for each head is typed beside this option, which changes the head.
void refuse_head_numbers(const SweepArguments& x, const std::string& option) {
  if (const TypedTexts lists = head_number_texts(x.base.typed); !lists.empty())
    refuse("--" + lists.begin()->first, lists.begin()->second,
           "one number beside " + option + ": numbers for each head follow the heads where they lie in the file, " +
               "beside Q, K and V");
}

/// The sweep of the typed parameters.
Sweep sweep_of_axes(const SweepArguments& x, SessionRemarks& about) {
  if (x.vary.empty())
    throw std::invalid_argument("--vary is missing, expected KEY=VALUES once or twice, such as block_k=16:1024:x2");
  Sweep s{.base = {}, .axes = {}, .seeds = seeds_of(x)};
  for (const std::string& axis : x.vary) s.axes.push_back(parse_axis(axis));
  s.base = varied_experiment(x.base, s.axes, about);
  return s;
}

bool varies(const std::vector<Axis>& axes, std::string_view key) {
  return std::ranges::find(axes, key, &Axis::key) != axes.end();
}

/// Sets what the sweep repeats. Throws for typed options that do not fit it.
void set_repetitions(Sweep& s, const SweepArguments& x) {
  if (x.over) s.over = over_of(x);
  if (s.over.kind != ui::SweepOver::seed) {
    const std::string over = "--over " + text(s.over);
    if (seeds_of(x) != 1) refuse("--seeds", *x.seeds, "1 beside " + over);
    s.seeds = repetitions(s.over, s.base);
    refuse_head_numbers(x, over);
    for (const auto& [option, key] : {std::pair{"--n", "n"}, std::pair{"--n-k", "n_k"}})
      if (const std::string* typed = x.base.find(key); typed != nullptr && s.over.kind == ui::SweepOver::window)
        refuse(option, *typed, "no " + std::string(option) + " beside " + over + ", which cuts all tokens into windows");
  } else if (seeds_of(x) > 1) {
    if (const std::string none = why_no_seeds(s); !none.empty())
      refuse("--seeds", *x.seeds, "1, or --over head, layer or window:K: " + none);
  }
  if (varies(s.axes, "head")) refuse_head_numbers(x, "--vary head");
}

/// The kernel of --like if a varied d or mask chooses its tiles; "" if it does not, or both sides are typed.
std::string followed_kernel(const ExperimentOptions& x, const std::vector<Axis>& axes) {
  if (!x.like || kernel_preset(*x.like).tiles.empty() || (!varies(axes, "d") && !varies(axes, "mask"))) return "";
  const auto is_typed = [&](const std::string& side) {
    return x.find(side) != nullptr ||
           std::ranges::any_of(x.set, [&](const std::string& setting) { return setting.starts_with("a." + side + "="); });
  };
  const bool has_rows = is_typed("block_q"), has_keys = is_typed("block_k");
  if (has_rows != has_keys)
    refuse("--like", *x.like, "--block-q and --block-k, or neither: a varied d or mask chooses both sides of its tiles");
  return has_rows ? "" : *x.like;
}

/// Typed settings of the methods that a varied parameter would replace, for `Sweep::set`.
std::vector<std::string> replaced_settings(const ExperimentOptions& x, const std::vector<Axis>& axes) {
  std::vector<std::string> typed;
  for (const auto& [key, path] : {std::pair{"tau", "a.tau"},
                                  {"gradient", "a.gradient"},
                                  {"baseline_gradient", "b.gradient"},
                                  {"gradient_order", "a.grad.order"}})
    if (const std::string* const value = x.find(key)) typed.push_back(path + ("=" + *value));
  typed.insert(typed.end(), x.set.begin(), x.set.end());
  std::erase_if(typed, [&](const std::string& setting) {
    return std::ranges::none_of(axes, [&](const Axis& axis) { return replaces(axis.key, setting); });
  });
  return typed;
}

/// Throws if the figure cannot be the map that is asked for.
void check_heat_map(const SweepArguments& x, const Sweep& s) {
  if (x.heat_map && s.axes.size() < 2)
    throw std::invalid_argument("--heat-map needs two parameters, one across and one down, the sweep varies " +
                                printable(s.axes[0].key) + " alone");
}

/// The sweep that the options describe. Throws as `experiment_of`, `parse_axis`, `parse_measure` and `vary` do, with the
/// option's name for "vary".
Sweep sweep_of(const SweepArguments& x, SessionRemarks& about) try {
  Sweep s = x.vary.empty() && x.base.session ? sweep_of_session(x, about) : sweep_of_axes(x, about);
  s.like = followed_kernel(x.base, s.axes);
  s.set = replaced_settings(x.base, s.axes);
  if (x.measure) s.measure = parse_measure(*x.measure);
  if (is_of_backward(s.measure)) s.base = with_backward(std::move(s.base));
  point_count(s);
  set_repetitions(s, x);
  point_count(s);
  check_heat_map(x, s);
  for (const std::array<int, 2>& at : single_values(s)) with_values(s, at);  // throws for a value that cannot be set
  return s;
} catch (const std::invalid_argument& error) {
  const std::string what = error.what();
  if (!what.starts_with("vary")) throw;
  throw std::invalid_argument("--" + what);
}

/// Sentences on typed options that change nothing at any point: a method uses each or not by one other setting.
std::vector<std::string> unused_options(const SweepArguments& x, const Sweep& s) {
  std::vector<std::string> unused = options_without_effect(x.base, s.base);
  for (const std::array<int, 2>& at : single_values(s)) {
    if (unused.empty()) break;
    keep_common(unused, options_without_effect(x.base, with_values(s, at)));
  }
  return unused;
}

/// Counts points, and shows progress and the time left.
class CountedPoints {
 public:
  CountedPoints(std::ostream* terminal, std::size_t points) : line_(terminal), points_(points) {}

  void finished(const SweepAnswer& answer) {
    ++done_;
    computed_ += answer.summary && !answer.remembered;
    computing_ += answer.seconds;
    line_.show([&] { return fmt::format("{} of {}, {:.0f} s left", done_, counted(points_, "point"), seconds_left()); });
  }
  std::size_t done() const { return done_; }
  /// "125 points, 120 of them computed now: 1.80 s of computing in 0.93 s."
  std::string note() const {
    std::string text = fmt::format("{}, {} of them computed now", counted(points_, "point"), computed_);
    if (computed_ > 0) text += fmt::format(": {:.3g} s of computing in {:.3g} s", computing_, line_.seconds());
    return text + ".";
  }

 private:
  double seconds_left() const {
    return computed_ == 0 ? 0 : line_.seconds() / static_cast<double>(computed_) * static_cast<double>(points_ - done_);
  }

  ProgressLine line_;
  std::size_t points_, done_ = 0, computed_ = 0;
  double computing_ = 0;  ///< sum of the seconds of the points, each of one thread or of all
};

/// A sweep and its answers.
struct Answered {
  Sweep sweep;
  std::vector<SweepAnswer> answers;
  std::string note;       ///< for the report: points from the cache, and failures to keep them
  std::string missing{};  ///< sentence on parts that --merge lacks; "" if it has all
};

/// Number of the points of --shard.
std::size_t points_of_shard(const SweepArguments& x, const Sweep& sweep) {
  const auto [shard, shards] = shard_of(x.shard);
  const std::size_t all = point_count(sweep);
  return all / shards + (shard < all % shards);
}

/// Throws if the figure would be drawn from `points`, a part of the sweep's.
void check_whole_figure(const SweepArguments& x, const Sweep& sweep, std::size_t points) {
  const std::size_t all = point_count(sweep);
  if (!x.figure.empty() && points < all)
    refuse("--figure", x.figure,
           fmt::format("tables alone: a figure needs all {} of the sweep, and here are {}", counted(all, "point"), points));
}

/// Computes the sweep; empty on ranks other than the root.
std::optional<Answered> computed(const SweepArguments& x, const Streams& streams, Ranks& ranks) {
  Answered answered;
  const auto prepare = [&] {
    check_device("--device", x.device);
    SessionRemarks about;
    answered.sweep = sweep_of(x, about);
    tell(about.unread, streams);
    tell(unused_options(x, answered.sweep), streams);
    answered.sweep.heads = used_heads(answered.sweep.over, answered.sweep.base);
    check_whole_figure(x, answered.sweep, points_of_shard(x, answered.sweep));
    tell_changed(changed_of(x, answered.sweep, std::move(about.changed)), x.strict, streams);
    prepare_gpus(x.device, streams);
  };
  if (!ranks.agree(prepare)) return std::nullopt;
  const auto [shard, shards] = shard_of(x.shard);
  const std::size_t mine = points_of_shard(x, answered.sweep);
  PointCache cache(x.no_cache ? "" : default_point_cache());
  const Interrupts interrupts;
  CountedPoints progress(ranks.is_root() ? streams.terminal : nullptr, mine);
  answered.answers = ranks.run(answered.sweep, {.cancelled = [&] { return interrupts.arrived(); },
                                                .cache = &cache,
                                                .threads = thread_option(x.threads),
                                                .device = x.device,
                                                .shard = shard,
                                                .shards = shards,
                                                .finished = [&](const SweepAnswer& a) { progress.finished(a); }});
  if (!ranks.is_root()) return std::nullopt;
  if (progress.done() < mine)
    throw std::runtime_error(fmt::format(
        "stopped after {} of {} points; {}", progress.done(), mine,
        cache.keeps(answered.sweep.base) ? "those are kept, and the same command goes on from there" : "nothing was written"));
  answered.note = progress.note();
  if (ranks.count() > 1) answered.note += fmt::format(" {} ranks.", ranks.count());
  if (const std::string remark = cache.remark(); !remark.empty()) answered.note += " " + remark;
  return answered;
}

Sweep read_sweep(const std::string& directory) {
  const std::string path = (fs::path(directory) / sweep_file).string();
  return named_in_errors(path, [&] {
    std::vector<std::string> remarks;
    Sweep sweep = parse_sweep(read_file(path, largest_sweep_file), remarks);
    if (!remarks.empty()) throw std::runtime_error(without_consequence(remarks[0]));
    return sweep;
  });
}

/// The bits of a point's numbers and digests; every NaN has the same, and both zeros have.
std::vector<std::uint64_t> bits_of(const SweepAnswer& answer) {
  std::vector<std::uint64_t> bits;
  const auto add = [&](const std::string&, auto x) {
    if constexpr (std::is_same_v<decltype(x), double>)
      bits.push_back(std::bit_cast<std::uint64_t>(std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x + 0.0));
    else
      bits.push_back(x);
  };
  if (answer.summary) visit_summary(*answer.summary, add);
  return bits;
}

/// Sentence on points without a part, and the least K/N of --shard that computes them; "" without any. `part_of` numbers the
/// part of each point from 1 on; 0: it is in none.
std::string missing_shards(std::span<const std::size_t> part_of) {
  constexpr std::size_t most_named = 8;
  const auto found = part_of.size() - static_cast<std::size_t>(std::ranges::count(part_of, 0U));
  if (found == part_of.size()) return "";
  std::size_t shards = 1;
  while (!std::ranges::equal(part_of.subspan(shards), part_of.first(part_of.size() - shards))) ++shards;
  std::vector<std::string> named;
  for (std::size_t k = 0; k < shards; ++k)
    if (part_of[k] == 0) named.push_back(fmt::format("{}/{}", k + 1, shards));
  const bool one = named.size() == 1;
  if (named.size() > most_named) {
    const std::size_t more = named.size() - most_named;
    named.resize(most_named);
    named.push_back(std::to_string(more) + " more");
  }
  return fmt::format("the parts hold {} of {} of the sweep: --shard {} {} missing", found,
                     counted(std::ssize(part_of), "point"), listed(named, " and "), one ? "is" : "are");
}

/// The points of several directories as one sweep. Throws if two directories differ in a point.
Answered merged(const std::vector<std::string>& directories) {
  Answered all{read_sweep(directories[0]), {}, ""};
  std::vector<std::size_t> part_of(point_count(all.sweep));
  for (std::size_t part = 0; part < directories.size(); ++part) {
    const std::string& directory = directories[part];
    if (sweep_json(read_sweep(directory)) != sweep_json(all.sweep))
      throw std::runtime_error(directory + " holds another sweep than " + directories[0]);
    const std::string path = (fs::path(directory) / points_file).string();
    std::vector<SweepAnswer> answers =
        named_in_errors(path, [&] { return parse_points_csv(all.sweep, read_file(path, largest_points_file)); });
    for (const SweepAnswer& a : answers) part_of[a.index] = part + 1;
    std::ranges::move(answers, std::back_inserter(all.answers));
  }
  all.missing = missing_shards(part_of);
  std::ranges::stable_sort(all.answers, {}, &SweepAnswer::index);
  const auto differs = std::ranges::adjacent_find(
      all.answers, [](const SweepAnswer& x, const SweepAnswer& y) { return x.index == y.index && bits_of(x) != bits_of(y); });
  if (differs != all.answers.end())
    throw std::runtime_error(fmt::format("point {} differs between two of the directories", differs->index));
  const auto same_point = [](const SweepAnswer& x, const SweepAnswer& y) { return x.index == y.index; };
  all.answers.erase(std::unique(all.answers.begin(), all.answers.end(), same_point), all.answers.end());
  all.note = fmt::format("{} of {} in {}.", all.answers.size(), counted(point_count(all.sweep), "point"),
                         counted(directories.size(), "directory", "directories"));
  return all;
}

std::string json_of(const Answered& x, const std::vector<SweepRow>& table) {
  Json json = sweep_json(x.sweep);
  Json list = Json::array();
  for (const SweepRow& row : table) {
    Json line{{"values", row.values}, {"seeds", row.count}, {"mean", row.mean},
              {"std", row.std},       {"min", row.min},     {"max", row.max}};
    if (!row.error.empty()) line["error"] = row.error;
    list.push_back(std::move(line));
  }
  json["rows"] = std::move(list);
  return json_text(json);
}

ui::SeedSpread spread_of(const SweepArguments& x) {
  const auto found = std::ranges::find(sweep_spread_names, x.spread);
  if (found == sweep_spread_names.end()) refuse("--spread", x.spread, "std or min-max");
  return static_cast<ui::SeedSpread>(found - sweep_spread_names.begin());
}

/// Stages the figure; returns a sentence if there is no picture, else "".
std::string stage_figure(StagedFiles& files, const SweepArguments& x, const Answered& answered) {
  const Sweep& sweep = answered.sweep;
  const auto table = sweep_table(sweep, sweep.measure, answered.answers);
  const SweepStyle style{usual_axes(*table, spread_of(x)), x.heat_map, typed_style(x.style)};
  const Figure figure = sweep_figure(sweep, *table, style);
  return stage_unless_interrupted(files, x.figure, figure,
                                  sweep_reproduction(sweep, style, figure.caption, points_digest(answered.answers)));
}

/// One sentence on points that could not be computed; "" if there are none.
std::string failure_of(const std::vector<SweepAnswer>& answers) {
  const auto failed = [](const SweepAnswer& a) { return !a.summary; };
  const auto first = std::ranges::find_if(answers, failed);
  if (first == answers.end()) return "";
  return fmt::format("{} of {} cannot be computed: {}", std::ranges::count_if(answers, failed),
                     counted(answers.size(), "point"), first->error);
}

/// Says on stderr that the tables of files hold a shard of the sweep's points: only the printed one has the note.
void tell_part(const SweepArguments& x, const Answered& answered, const Streams& streams) {
  const std::size_t found = answered.answers.size(), all = point_count(answered.sweep);
  if (found < all && answered.missing.empty() && !(x.csv + x.json + x.markdown + x.latex).empty())
    tell({fmt::format("the tables hold {} of {} of the sweep", found, counted(all, "point"))}, streams);
}

/// Writes the outputs, but no figure if a point is missing or failed. Throws after that for these, and if there is no picture.
void write(const SweepArguments& x, const Answered& answered, const Streams& streams) {
  const Sweep& sweep = answered.sweep;
  const std::vector<SweepRow> table = rows(sweep, sweep.measure, answered.answers);
  const Table shown = rows_table(sweep, sweep.measure, table);
  StagedFiles files;
  if (!x.out.empty()) {
    files.make_directory(x.out);
    files.add((fs::path(x.out) / sweep_file).string(), json_text(sweep_json(sweep)));
    files.add((fs::path(x.out) / points_file).string(), points_csv(sweep, answered.answers));
  }
  std::string wrong = answered.missing.empty() ? failure_of(answered.answers) : answered.missing;
  if (wrong.empty() && !x.figure.empty()) wrong = stage_figure(files, x, answered);
  write_outputs(
      files,
      {{x.csv, [&] { return csv_text(shown); }},
       {x.json, [&] { return json_of(answered, table); }},
       {x.markdown, [&] { return markdown_text(shown); }},
       {x.latex, [&] { return latex_text(shown); }}},
      [&] { return plain_text(shown) + answered.note + "\n"; }, streams.out);
  tell_part(x, answered, streams);
  if (!wrong.empty()) throw std::runtime_error(wrong);
}

/// Throws if an output file could not be written, or would replace a file of --merge; call it before computing.
void check_places(const SweepArguments& x, const Streams& streams) {
  std::vector<OutputPlace> all, named = streams.files;
  for (const std::string& directory : x.merge)
    for (const char* const file : {sweep_file, points_file})
      named.push_back({"--merge", (fs::path(directory) / file).string()});
  if (!x.figure.empty()) check_bundle_place("--figure", x.figure);
  for (const std::string& file : bundle_files(x.figure)) all.push_back({"--figure", file});
  if (!x.out.empty()) {
    check_directory_place("--out", x.out);
    for (const char* const file : {sweep_file, points_file}) all.push_back({"--out", (fs::path(x.out) / file).string()});
  }
  check_outputs({{"--csv", x.csv}, {"--json", x.json}, {"--markdown", x.markdown}, {"--latex", x.latex}}, named, all);
}

/// The points of the directories of --merge, with the typed measure. Throws for options that would need another computation.
Answered merged(const SweepArguments& x) {
  for (const auto& [option, given] : {std::pair{"--vary", !x.vary.empty()}, std::pair{"--seeds", x.seeds.has_value()},
                                      std::pair{"--over", x.over.has_value()}, std::pair{"--shard", !x.shard.empty()},
                                      std::pair{"options of an experiment", x.base != ExperimentOptions()}})
    if (given)
      throw std::invalid_argument(std::string(option) +
                                  " beside --merge: the sweep is the directories', expected outputs and --measure alone");
  Answered all = merged(x.merge);
  check_heat_map(x, all.sweep);
  if (x.measure) all.sweep.measure = parse_measure(*x.measure);
  if (is_of_backward(all.sweep.measure) && !has_backward(all.sweep))
    refuse("--measure", all.sweep.measure.name, "one of the output: the merged sweep has no backward pass");
  return all;
}

/// Computes the points that are not in the cache and writes the outputs. Points finished before a signal are kept: the same
/// command continues there.
void run_sweep(const SweepArguments& x, const Streams& streams) {
  spread_of(x);
  typed_style(x.style);
  check_places(x, streams);
  if (!x.merge.empty()) return write(x, merged(x), streams);
  Ranks ranks;
  if (const std::optional<Answered> answered = computed(x, streams, ranks)) write(x, *answered, streams);
}

void declare(OptionList& c, SweepArguments& x) {
  c.session(x.base, x.strict).problem(x.base).methods(x.base).backward(x.base).kernel(x.base).group("Sweep");
  std::string axes = "KEY=VALUES, once or twice: V1,V2 or FIRST:LAST:STEP or FIRST:LAST:xFACTOR; KEY is one of ";
  for (const AxisKey& key : axis_keys()) axes += std::string(key.key) + ", ";
  c.add("--vary", x.vary, axes + "a.NAME or b.NAME");
  c.add("--seeds", x.seeds, "how many, from --seed on (1)");
  c.add("--over", x.over,
        "what the spread of a file's tensors is over: head, layer or window:K (tokens), in place of seeds (seed)");
  c.add("--measure", x.measure,
        "a. b. a_minus_b. or ratio. (of gradients then dq. dk. or dv.) and a deviation, perhaps /golden; rescales, ... "
        "(a.mean_abs)");
  c.add("--shard", x.shard, "K/N: only every N-th point, from the K-th on");
  c.add_all("--merge", x.merge, "directories that --out wrote: their points as one sweep, nothing is computed");
  c.add("--no-cache", x.no_cache, "compute every point, and keep none");
  c.device(x.device, x.threads, "what computes: cpu, cuda, cuda:K or a list cuda:0,cuda:1").group("Output");
  c.add("--csv", x.csv, "table of the measure as CSV, - for standard output");
  c.add("--json", x.json, "the same as JSON");
  c.add("--markdown", x.markdown, "the same as a Markdown table");
  c.add("--latex", x.latex, "the same as a LaTeX table");
  c.add("--figure", x.figure, figure_help).style(x.style);
  c.add("--spread", x.spread, "what the figure's bars reach over the seeds: std or min-max");
  c.add("--heat-map", x.heat_map, "draw two parameters as a map: the first across, the second down");
  c.add("--out", x.out, "directory for the sweep and every number of every point").quiet();
}

}  // namespace

Command sweep_command() {
  return command<SweepArguments>("sweep", "Vary one or two parameters of an experiment, over seeds", declare, run_sweep);
}

}  // namespace attoscope::app
