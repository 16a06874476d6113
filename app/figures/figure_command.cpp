#include "app/figures/figure_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/field_reader.h"
#include "app/field_setter.h"
#include "app/figures/bundle.h"
#include "app/figures/gnuplot.h"
#include "app/figures/named.h"
#include "app/files.h"
#include "app/interrupts.h"
#include "app/json.h"
#include "app/sweep/point_cache.h"
#include "kernels/presets.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view schema = "attoscope.figure/1";
constexpr std::uint64_t largest_bundle = 1 << 20;
constexpr int most_n = 65536;

/// What is drawn, by which settings.
struct Asked {
  std::string name;
  FigureSettings settings;
};

Json figure_json(const Asked& asked) {
  const FigureSettings& s = asked.settings;
  return {{"schema", schema},    {"version", ATTOSCOPE_VERSION}, {"figure", asked.name}, {"policy", s.policy},
          {"all_policies", s.all_policies}, {"n", s.n}, {"d", s.d}, {"seeds", s.seeds}};
}

/// Never fatal but where it is no figure at all: the first thing that cannot be used is thrown with its path.
Asked parse_figure(const std::string& text) {
  const nlohmann::json json = parse_json(text, 8);
  check_schema(json, schema);
  Asked asked;
  std::vector<std::string> remarks;
  FieldReader reader(json, "", remarks);
  for (const char* const key : {"schema", "version", "caption"}) reader.know(key);
  reader.text("figure", asked.name);
  reader.text("policy", asked.settings.policy);
  reader.flag("all_policies", asked.settings.all_policies);
  reader.integer("n", asked.settings.n, 1, most_n);
  reader.integer("d", asked.settings.d, 1, max_d);
  reader.integer("seeds", asked.settings.seeds, 1, max_seeds);
  reader.remark_unknown();
  if (!remarks.empty()) throw std::runtime_error(remarks[0]);
  return asked;
}

Asked read_figure(const std::string& path) {
  try {
    return parse_figure(read_file(path, largest_bundle));
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    throw std::runtime_error(what.starts_with(path) ? what : path + ": " + what);
  }
}

Asked asked_for(const FigureArguments& x) {
  Asked asked = x.what.ends_with(".json") ? read_figure(x.what) : Asked{x.what, {}};
  FigureSettings& s = asked.settings;
  if (!x.policy.empty()) s.policy = x.policy;
  if (policy(s.policy).algorithm != Algorithm::flash2) refuse("--policy", s.policy, "a policy of Flash Attention, such as hw or eager");
  s.all_policies |= x.all_policies;
  if (!x.n.empty()) s.n = whole_number("--n", x.n, 1, most_n);
  if (!x.d.empty()) s.d = whole_number("--d", x.d, 1, max_d);
  if (!x.seeds.empty()) s.seeds = whole_number("--seeds", x.seeds, 1, max_seeds);
  named_figure(asked.name);
  return asked;
}

/// Answers sweeps from the cache and by computing, telling how far it is.
class Answering {
 public:
  Answering(const FigureArguments& x, std::ostream& progress) : progress_(progress), quiet_(x.quiet), cache_(x.no_cache ? "" : default_point_cache()) {}
  ~Answering() {
    if (printed_) progress_ << "\r\x1b[K" << std::flush;
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  std::vector<SweepAnswer> operator()(const Sweep& sweep) {
    std::size_t done = 0;
    const std::size_t all = point_count(sweep);
    std::vector<SweepAnswer> answers = run_sweep(sweep, {.cancelled = [this] { return interrupts_.arrived(); },
                                                         .cache = &cache_,
                                                         .finished = [&](const SweepAnswer&) { show(++done, all); }});
    if (answers.size() < all) throw std::runtime_error("stopped before the figure was complete; its points are kept, and the same command goes on from there");
    for (const SweepAnswer& a : answers)
      if (!a.summary) throw std::runtime_error("a point of the figure cannot be computed: " + a.error);
    return answers;
  }

 private:
  void show(std::size_t done, std::size_t all) {
    if (quiet_) return;
    progress_ << fmt::format("\r{} of {} points\x1b[K", done, all) << std::flush;
    printed_ = true;
  }
  std::ostream& progress_;
  bool quiet_, printed_ = false;
  const Interrupts interrupts_;
  PointCache cache_;
};

std::string list_text() {
  std::string text;
  for (const NamedFigure& f : named_figures()) text += fmt::format("{:<18} {}\n", f.name, f.what);
  return text;
}

}  // namespace

void figure(const FigureArguments& x, std::ostream& out, std::ostream& progress) {
  if (x.list) {
    out << list_text();
    return;
  }
  const Asked asked = asked_for(x);
  picture_format(x.out);  // before anything is computed
  Answering answering(x, progress);
  const Figure made = named_figure(asked.name).make(asked.settings, [&](const Sweep& s) { return answering(s); });
  Json reproduction = figure_json(asked);
  reproduction["caption"] = made.caption;
  write_bundle(x.out, made, reproduction);
  out << made.caption << "\n" << x.out << "\n";
}

}  // namespace attoscope
