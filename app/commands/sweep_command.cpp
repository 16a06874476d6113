#include "app/commands/sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "app/commands/first_use.h"
#include "app/commands/progress_line.h"
#include "app/figures/bundle.h"
#include "app/files/files.h"
#include "app/files/interrupts.h"
#include "app/files/paths.h"
#include "app/papers/sweep_figure.h"
#include "app/sweep/point_cache.h"
#include "app/sweep/ranks.h"
#include "app/sweep/runner.h"
#include "app/sweep/sweep_json.h"
#include "app/sweep/table.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/gpu/device.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

constexpr const char *sweep_file = "sweep.json", *points_file = "points.csv";
constexpr std::uint64_t largest_sweep_file = 1 << 20, largest_points_file = std::uint64_t{1} << 30;

/// "K/N" as a zero-based shard and their number.
std::pair<std::size_t, std::size_t> shard_of(const std::string& text) {
  if (text.empty()) return {0, 1};
  const std::size_t slash = text.find('/');
  const auto k = to_number<std::size_t>(std::string_view(text).substr(0, slash));
  const auto n = slash == std::string::npos ? std::nullopt : to_number<std::size_t>(std::string_view(text).substr(slash + 1));
  if (!k || !n || *k < 1 || *n < *k || *n > max_points) refuse("--shard", text, "K/N with K from 1 to N, such as 2/8");
  return {*k - 1, *n};
}

/// Counts points, and shows how far the sweep is and how long it will take.
class CountedPoints {
 public:
  CountedPoints(std::ostream* terminal, std::size_t points) : line_(terminal), points_(points) {}

  void finished(const SweepAnswer& answer) {
    ++done_;
    computed_ += !answer.remembered;
    computing_ += answer.seconds;
    line_.show([&] { return fmt::format("{} of {} points, {:.0f} s left", done_, points_, seconds_left()); });
  }
  std::size_t done() const { return done_; }
  /// "125 points, 120 of them computed now: 1.80 s of computing in 0.93 s."
  std::string note() const {
    std::string text = fmt::format("{} points, {} of them computed now", points_, computed_);
    if (computed_ > 0) text += fmt::format(": {:.3g} s of computing in {:.3g} s", computing_, seconds());
    return text + ".";
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double seconds_left() const {
    return computed_ == 0 ? 0 : seconds() / static_cast<double>(computed_) * static_cast<double>(points_ - done_);
  }

  ProgressLine line_;
  std::size_t points_, done_ = 0, computed_ = 0;
  double computing_ = 0;  ///< seconds that the points took, of one thread or of all
  Clock::time_point start_ = Clock::now();
};

/// A sweep and what is known of it.
struct Answered {
  Sweep sweep;
  std::vector<SweepAnswer> answers;
  std::string note;  ///< what a person should know: how many came from the cache, what could not be kept
};

/// Nothing where this is not the root of several ranks.
std::optional<Answered> computed(const SweepArguments& x, std::ostream* terminal, Ranks& ranks) {
  Answered answered;
  const auto prepare = [&] {
    check_device("--device", x.device);
    answered.sweep = sweep_of(x);
    compile_code(devices_of(x.device));
  };
  if (!ranks.agree(prepare)) return std::nullopt;
  const auto [shard, shards] = shard_of(x.shard);
  const std::size_t all = point_count(answered.sweep), mine = all / shards + (shard < all % shards);
  PointCache cache(x.no_cache ? "" : default_point_cache());
  const Interrupts interrupts;
  CountedPoints progress(ranks.is_root() ? terminal : nullptr, mine);
  answered.answers = ranks.run(answered.sweep, {.cancelled = [&] { return interrupts.arrived(); },
                                                .cache = &cache,
                                                .threads = whole_number("--threads", x.threads, 0, 4096),
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
  std::vector<std::string> remarks;
  try {
    Sweep sweep = parse_sweep(read_file(path, largest_sweep_file), remarks);
    if (!remarks.empty()) throw std::runtime_error(remarks[0]);
    return sweep;
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    throw std::runtime_error(what.starts_with(path) ? what : path + ": " + what);
  }
}

/// The points of several directories as one sweep; a point that two of them have must be the same in both.
Answered merged(const std::vector<std::string>& directories) {
  Answered all{read_sweep(directories[0]), {}, ""};
  for (const std::string& directory : directories) {
    if (sweep_json(read_sweep(directory)) != sweep_json(all.sweep))
      throw std::runtime_error(directory + " holds another sweep than " + directories[0]);
    const std::string path = (fs::path(directory) / points_file).string();
    try {
      for (SweepAnswer& a : parse_points_csv(all.sweep, read_file(path, largest_points_file)))
        all.answers.push_back(std::move(a));
    } catch (const std::runtime_error& error) {
      const std::string what = error.what();
      throw std::runtime_error(what.starts_with(path) ? what : path + ": " + what);
    }
  }
  std::ranges::stable_sort(all.answers, {}, &SweepAnswer::index);
  const auto differs = std::ranges::adjacent_find(
      all.answers, [](const SweepAnswer& x, const SweepAnswer& y) { return x.index == y.index && x.summary != y.summary; });
  if (differs != all.answers.end())
    throw std::runtime_error(fmt::format("point {} differs between two of the directories", differs->index));
  const auto same_point = [](const SweepAnswer& x, const SweepAnswer& y) { return x.index == y.index; };
  all.answers.erase(std::unique(all.answers.begin(), all.answers.end(), same_point), all.answers.end());
  all.note = fmt::format("{} of {} points in {} directories.", all.answers.size(), point_count(all.sweep), directories.size());
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

SweepStyle style_of(const SweepArguments& x) {
  const auto found = std::ranges::find(sweep_spread_names, x.spread);
  if (found == sweep_spread_names.end()) refuse("--spread", x.spread, "std or min-max");
  return {.spread = static_cast<SweepSpread>(found - sweep_spread_names.begin()), .heat_map = x.heat_map};
}

/// What goes to standard output, and all files together. Throws where there is no picture, once everything else is there.
void write(const SweepArguments& x, const Answered& answered, std::ostream& out) {
  const std::vector<SweepRow> table = rows(answered.sweep, answered.sweep.measure, answered.answers);
  StagedFiles files;
  std::string shown;
  const auto put = [&](const std::string& place, const std::string& text) {
    if (place == "-")
      shown += text;
    else if (!place.empty())
      files.add(place, text);
  };
  put(x.csv, rows_csv(answered.sweep, answered.sweep.measure, table));
  put(x.json, json_of(answered, table));
  put(x.markdown, markdown_table(answered.sweep, answered.sweep.measure, table));
  put(x.latex, latex_table(answered.sweep, answered.sweep.measure, table));
  if (!x.out.empty()) {
    files.make_directory(x.out);
    files.add((fs::path(x.out) / sweep_file).string(), json_text(sweep_json(answered.sweep)));
    files.add((fs::path(x.out) / points_file).string(), points_csv(answered.sweep, answered.answers));
  }
  std::string no_picture;
  if (const SweepStyle style = style_of(x); !x.figure.empty())
    no_picture = stage_bundle(files, x.figure, sweep_figure("sweep", answered.sweep, answered.sweep.measure, table, style),
                              sweep_reproduction(answered.sweep, style));
  files.commit();
  out << (shown.empty() ? plain_table(answered.sweep, answered.sweep.measure, table) + answered.note + "\n" : shown)
      << std::flush;
  if (!no_picture.empty()) throw std::runtime_error(no_picture);
}

/// Before anything is computed: could the files be written at all?
void check_places(const SweepArguments& x) {
  std::vector<OutputPlace> all{{"--csv", x.csv}, {"--json", x.json}, {"--markdown", x.markdown}, {"--latex", x.latex}};
  for (const OutputPlace& p : all)
    if (!p.file.empty() && p.file != "-") check_place(p.option, p.file);
  if (!x.figure.empty()) check_bundle_place("--figure", x.figure);
  for (const std::string& file : bundle_files(x.figure)) all.push_back({"--figure", file});
  if (!x.out.empty()) {
    check_directory_place("--out", x.out);
    for (const char* const file : {sweep_file, points_file}) all.push_back({"--out", (fs::path(x.out) / file).string()});
  }
  check_distinct(all);
}

/// The experiment that is varied. Where n is, the traced row must be one of every n, and of no other.
Experiment varied_experiment(ExperimentOptions options, const std::vector<Axis>& axes) {
  const auto varied = std::ranges::find(axes, "n", &Axis::key);
  if (varied == axes.end() || options.find("traced_row") == nullptr) return experiment_of(options);
  const std::string row = options.typed.extract("traced_row").mapped();
  Experiment base = experiment_of(options);
  for (const std::string& n : varied->values) {
    Experiment e = base;
    vary(e, "n", n);
    base.problem.traced_row = row_of(row, e.problem.n);
  }
  return base;
}

}  // namespace

Sweep sweep_of(const SweepArguments& x) {
  if (x.vary.empty())
    throw std::invalid_argument("--vary is missing, expected KEY=VALUES once or twice, such as block_k=16:1024:x2");
  std::vector<Axis> axes;
  for (const std::string& axis : x.vary) axes.push_back(parse_axis(axis));
  Sweep s{.base = varied_experiment(x.base, axes),
          .axes = axes,
          .seeds = whole_number("--seeds", x.seeds, 1, max_seeds),
          .measure = parse_measure(x.measure)};
  point_count(s);
  return s;
}

void sweep(const SweepArguments& x, std::ostream& out, std::ostream* terminal) {
  style_of(x);
  check_places(x);
  if (!x.merge.empty()) return write(x, merged(x.merge), out);
  Ranks ranks;
  if (const std::optional<Answered> answered = computed(x, terminal, ranks)) write(x, *answered, out);
}

}  // namespace attoscope
