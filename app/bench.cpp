#include "app/bench.h"

#include <fmt/core.h>
#include <tbb/info.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

#include "app/device_bench.h"
#include "app/devices.h"
#include "app/files.h"
#include "kernels/device.h"
#include "kernels/stages.h"

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

/// "65 %", "3 ms", "0.35 ns", or nothing.
std::string goal_text(const Stage& s) {
  if (s.goal_percent > 0) return fmt::format("{} %", s.goal_percent);
  if (s.goal_ms > 0) return fmt::format("{} ms", s.goal_ms);
  return s.goal_ns > 0 ? fmt::format("{} ns", s.goal_ns) : "";
}

BenchRow measure(const Stage& s, double peak) {
  BenchRow r{.name = s.name, .ms = best_ms(s), .goal = goal_text(s)};
  if (s.flops > 0) {
    r.gflops = s.flops / r.ms * 1e-6;
    r.percent = 100 * r.gflops / peak;
  }
  if (s.items > 0) r.ns = r.ms * 1e6 / s.items;
  r.met = (s.goal_percent == 0 || r.percent >= s.goal_percent) && (s.goal_ms == 0 || r.ms <= s.goal_ms) &&
          (s.goal_ns == 0 || r.ns <= s.goal_ns);
  return r;
}

void append_growth(BenchReport& report) {
  for (int n = 256; n <= 65536; n *= 4) report.rows.push_back(measure(growth(n, 64, 64), report.float_peak));
  for (int n = 256; n <= 65536; n *= 4) report.rows.push_back(measure(growth(n, 64, 0), report.float_peak));
}

std::string table(const BenchReport& r) {
  const bool tera = r.float_peak >= 10000;
  const double unit = tera ? 1000 : 1;
  const char* const unit_name = tera ? "TFLOP/s" : "GFLOP/s";
  const auto amount = [&](double gflops) { return fmt::format("{:.{}f}", gflops / unit, tera ? 2 : 0); };
  std::string text = fmt::format("{}; FMA peak {} {} in float, {} in double\n\n", r.device, amount(r.float_peak), unit_name,
                                 amount(r.double_peak));
  text += fmt::format("{:<38}{:>10}{:>10}{:>9}{:>9}   {:<9}\n", "stage", "ms", unit_name, "of peak", "ns", "goal");
  for (const BenchRow& row : r.rows) {
    const std::string gflops = row.gflops > 0 ? amount(row.gflops) : "";
    const std::string percent = row.percent > 0 ? fmt::format("{:.1f} %", row.percent) : "";
    const std::string ns = row.ns > 0 ? fmt::format("{:.3f}", row.ns) : "";
    text += fmt::format("{:<38}{:>10.3f}{:>10}{:>9}{:>9}   {:<9}{}\n", row.name, row.ms, gflops, percent, ns, row.goal,
                        row.goal.empty() ? "" : (row.met ? "met" : "missed"));
  }
  return text;
}

std::string json_text(const BenchReport& r) {
  nlohmann::ordered_json j{{"schema", "attoscope.bench/1"},
                           {"device", r.device},
                           {"fma_peak_gflops", {{"float", r.float_peak}, {"double", r.double_peak}}}};
  for (const BenchRow& row : r.rows) {
    nlohmann::ordered_json entry{{"stage", row.name}, {"ms", row.ms}};
    if (row.gflops > 0) entry["gflops"] = row.gflops;
    if (row.percent > 0) entry["percent_of_peak"] = row.percent;
    if (row.ns > 0) entry["ns"] = row.ns;
    if (!row.goal.empty()) entry.update({{"goal", row.goal}, {"met", row.met}});
    j["rows"].push_back(entry);
  }
  return j.dump(2) + "\n";
}

}  // namespace

BenchReport bench(const BenchArguments& arguments) {
  check_device("--device", arguments.device);
  if (const std::vector<int> gpus = devices_of(arguments.device); !gpus.empty()) return device_bench(gpus.front());
  const int threads = tbb::info::default_concurrency();
  BenchReport r{device_name(), fma_peak(false, threads) * 1e-9, fma_peak(true, threads) * 1e-9, {}};
  for (const Stage& s : stages(1024)) r.rows.push_back(measure(s, s.in_double ? r.double_peak : r.float_peak));
  for (const int n : {1024, 2048}) r.rows.push_back(measure(full_update(n), r.float_peak));
  if (arguments.growth) append_growth(r);
  return r;
}

void run_bench(const BenchArguments& arguments, std::ostream& out) {
  const BenchReport r = bench(arguments);
  if (arguments.json == "-") {
    out << json_text(r);
    return;
  }
  out << table(r);
  if (!arguments.json.empty()) write_file(arguments.json, json_text(r));
}

}  // namespace attoscope
