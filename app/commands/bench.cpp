#include "app/commands/bench.h"

#include <fmt/core.h>
#include <tbb/info.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

#include "app/commands/device_bench.h"
#include "app/commands/first_use.h"
#include "app/files/files.h"
#include "app/words/devices.h"
#include "kernels/bench/stages.h"
#include "kernels/gpu/device.h"

namespace attoscope {
namespace {

double elapsed_ms(const Stage& s) {
  const auto start = std::chrono::steady_clock::now();
  s.call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// The best of as many calls as fit into a second, of three at least unless they take many.
double best_ms(const Stage& s) {
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int i = 0; (i < 3 && spent < 4000) || (spent < 1000 && i < 400); ++i) {
    const double ms = elapsed_ms(s);
    best = std::min(best, ms);
    spent += ms;
  }
  return best;
}

BenchRow measure(const Stage& s, const MachineLimits& limits) {
  BenchRow r{.name = s.name, .ms = best_ms(s)};
  r.gflops = s.flops() / r.ms * 1e-6;
  r.percent = 100 * limit_ms(s, limits) / r.ms;
  if (s.items > 0) r.ns = r.ms * 1e6 / s.items;
  if (r.percent > 0) r.limit = std::string(s.bytes > 0 ? "copy" : "FMA") + (s.one_core ? ", one core" : "");
  return r;
}

std::vector<Stage> growth_stages() {
  std::vector<Stage> all;
  for (const int rows : {64, 0})
    for (int n = 256; n <= 65536; n *= 4) all.push_back(growth(n, 64, rows));
  return all;
}

/// The parts of an update, which follow each other.
std::vector<std::pair<const char*, double>> parts_of(const Timing& t) {
  return {{"inputs", t.inputs}, {"golden", t.golden}, {"a", t.a}, {"b", t.b}, {"deviation", t.deviation}};
}

/// f(name, ms) for what the threads did in an update, each on all of them, and for the rest: until the last block of rows is
/// done, threads wait.
template <class F>
void each_part(const Timing& t, int threads, F f) {
  double rest = t.total;
  for (std::size_t i = 0; i < t.busy.size(); ++i) {
    f(std::string(update_part_names[i]), t.busy[i] / threads);
    rest -= t.busy[i] / threads;
  }
  f("threads that wait, and what no row names", rest);
}

std::string where_time_goes(const Timing& t, int threads) {
  std::string text = fmt::format("\nWhere a full update at N = 1024 goes, {:.2f} ms on {} threads\n", t.total, threads);
  each_part(t, threads, [&](const std::string& name, double ms) {
    text += fmt::format("{:<42}{:>10.3f}{:>8.1f} %\n", name, ms, 100 * ms / t.total);
  });
  return text;
}

std::string table(const BenchReport& r) {
  const bool tera = r.float_peak >= 10000;
  const double unit = tera ? 1000 : 1;
  const char* const unit_name = tera ? "TFLOP/s" : "GFLOP/s";
  const auto amount = [&](double gflops) { return fmt::format("{:.{}f}", gflops / unit, tera ? 2 : 0); };
  std::string text = fmt::format("{}; FMA peak {} {} in float, {} in double\n\n", r.device, amount(r.float_peak), unit_name,
                                 amount(r.double_peak));
  text += fmt::format("{:<44}{:>10}{:>10}{:>9}{:>10}  {}\n", "stage", "ms", unit_name, "ns", "of limit", "limit");
  for (const BenchRow& row : r.rows) {
    const std::string gflops = row.gflops > 0 ? amount(row.gflops) : "";
    const std::string percent = row.percent > 0 ? fmt::format("{:.1f} %", row.percent) : "";
    const std::string ns = row.ns > 0 ? fmt::format("{:.3f}", row.ns) : "";
    text += fmt::format("{:<44}{:>10.3f}{:>10}{:>9}{:>10}  {}\n", row.name, row.ms, gflops, ns, percent, row.limit);
  }
  if (r.update) text += where_time_goes(*r.update, r.threads);
  return text;
}

std::string json_text(const BenchReport& r) {
  nlohmann::ordered_json j{{"schema", "attoscope.bench/1"},
                           {"device", r.device},
                           {"fma_peak_gflops", {{"float", r.float_peak}, {"double", r.double_peak}}}};
  for (const BenchRow& row : r.rows) {
    nlohmann::ordered_json entry{{"stage", row.name}, {"ms", row.ms}};
    if (row.gflops > 0) entry["gflops"] = row.gflops;
    if (row.percent > 0) entry["percent_of_limit"] = row.percent;
    if (row.ns > 0) entry["ns"] = row.ns;
    if (!row.limit.empty()) entry["limit"] = row.limit;
    j["rows"].push_back(entry);
  }
  if (r.update) {
    j["update_ms"]["total"] = r.update->total;
    for (const auto& [name, ms] : parts_of(*r.update)) j["update_ms"][name] = ms;
    each_part(*r.update, r.threads, [&](const std::string& name, double ms) { j["update_ms"]["parts"][name] = ms; });
  }
  return j.dump(2) + "\n";
}

}  // namespace

BenchReport bench(const BenchArguments& arguments) {
  check_device("--device", arguments.device);
  if (const std::vector<int> gpus = devices_of(arguments.device); !gpus.empty()) {
    compile_code(gpus);
    return device_bench(gpus.front());
  }
  const int threads = tbb::info::default_concurrency();
  const MachineLimits limits = cpu_limits(threads);
  BenchReport r{device_name(), limits.float_fma * 1e-9, limits.double_fma * 1e-9, {}, {}, threads};
  const auto add = [&](const std::vector<Stage>& all) {
    for (const Stage& s : all)
      if (s.name.find(arguments.only) != std::string::npos) r.rows.push_back(measure(s, limits));
  };
  add(stages(1024));
  add({full_update(1024), full_update(2048), tensor_core_update(1024)});
  add(scaled_updates(1024));
  add(updates_of_controls(1024));
  add(decode_updates(131072));
  if (arguments.growth) add(growth_stages());
  if (r.rows.empty()) throw std::invalid_argument("--only: no stage's name contains \"" + arguments.only + "\"");
  if (arguments.only.empty()) r.update = parts_of_update(1024);
  return r;
}

void run_bench(const BenchArguments& arguments, std::ostream& out) {
  if (!arguments.json.empty() && arguments.json != "-") check_place("--json", arguments.json);
  const BenchReport r = bench(arguments);
  if (arguments.json == "-") {
    out << json_text(r);
    return;
  }
  out << table(r);
  if (!arguments.json.empty()) write_file(arguments.json, json_text(r));
}

}  // namespace attoscope
