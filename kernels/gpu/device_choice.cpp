#include "kernels/gpu/device_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/result.h"

namespace attoscope {
namespace {

/// Sizes within 25 % share one timing.
constexpr double about = 1.25;
/// Switch only for a 20 % gain: the other device's cache is cold, and times vary.
constexpr double clearly = 0.8;
/// Most multiply-adds a millisecond of a core: half the peak of two units of 16 lanes at 4 GHz.
constexpr double most_of_a_core = 6.4e7;
/// The golden value in double costs two methods in float, or eight of those in double.
double golden_methods(const QuestionSize& size) { return size.in_double ? 8 : 2; }

std::string milliseconds(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, ms < 10 ? "%.1f ms" : "%.0f ms", ms);
  return text;
}

}  // namespace

void DeviceTimes::add(double work, double ms) {
  if (!(work > 0) || !(ms > 0)) return;
  std::erase_if(points_, [&](const Point& p) { return p.work < work * about && p.work * about > work; });
  points_.insert(std::ranges::lower_bound(points_, work, {}, &Point::work), {work, ms});
}

std::optional<double> DeviceTimes::at(double work) const {
  if (points_.empty()) return std::nullopt;
  const auto above = std::ranges::lower_bound(points_, work, {}, &Point::work);
  if (above == points_.begin()) return above->ms;
  const Point& below = *std::prev(above);
  if (above == points_.end()) return below.ms * work / below.work;
  const double share = std::log(work / below.work) / std::log(above->work / below.work);
  return below.ms * std::pow(above->ms / below.ms, share);
}

QuestionSize size_of(const Experiment& e) {
  double keys = 0;
  for (const int row : computed_rows(e.problem)) {
    const Keys seen = visible_keys(e.problem, row);
    keys += std::max(0, seen.end - seen.first);
  }
  const auto rounds = [](const Method& m) {
    return m.precision[Step::qk_step].kind != Rounding::Kind::exact ||
           m.precision[Step::pv_step].kind != Rounding::Kind::exact || m.accumulator != Accumulators{};
  };
  return {keys * (e.problem.d + value_columns(e.problem)), works_in_double(e), rounds(e.a) || rounds(e.b)};
}

void MeasuredTimes::took(bool gpu, const QuestionSize& size, const Timing& timing, bool fresh) {
  Times& times = times_[{gpu, size.in_double, size.rounds_steps}];
  times.methods.add(size.work, timing.a + timing.b + timing.deviation);
  if (fresh) times.golden.add(size.work, timing.golden);
}

std::optional<double> MeasuredTimes::expected(bool gpu, const QuestionSize& size, bool fresh) const {
  const auto times = times_.find({gpu, size.in_double, size.rounds_steps});
  if (times == times_.end()) return std::nullopt;
  const std::optional<double> methods = times->second.methods.at(size.work), golden = times->second.golden.at(size.work);
  if (!methods || (fresh && !golden)) return std::nullopt;
  return *methods + (fresh ? *golden : 0);
}

DeviceChoice choose_device(const ChoiceInput& in) {
  if (!in.gpu_ms) return {true, "not yet measured"};
  const std::string gpu = milliseconds(*in.gpu_ms);
  if (!in.cpu_ms && in.cpu_at_best_ms < *in.gpu_ms) return {false, "to be measured beside " + gpu};
  if (!in.cpu_ms) return {true, gpu + ", which no CPU could reach"};
  const std::string cpu = milliseconds(*in.cpu_ms);
  const bool chooses_gpu = in.on_gpu ? *in.cpu_ms >= clearly * *in.gpu_ms : *in.gpu_ms < clearly * *in.cpu_ms;
  return {chooses_gpu, chooses_gpu ? gpu + " instead of " + cpu + " on the CPU" : cpu + " instead of " + gpu + " on the GPU"};
}

double cpu_at_best(const QuestionSize& size, bool fresh, int threads) {
  const double methods = 2 + (fresh ? golden_methods(size) : 0), slower = size.in_double ? 2 : 1;
  return methods * slower * size.work / (most_of_a_core * std::max(1, threads));
}

int preferred_gpu(std::span<const DeviceInfo> gpus) {
  const auto drawing = std::ranges::find_if(gpus, &DeviceInfo::draws);
  return drawing != gpus.end() ? drawing->index : gpus.front().index;
}

int rows_at_a_time(std::span<const DeviceInfo> gpus) {
  constexpr int rows_of_a_multiprocessor = 64;  // two thread blocks of 32 rows
  int rows = 0;
  for (const DeviceInfo& gpu : gpus) rows += std::max(1, gpu.multiprocessors) * rows_of_a_multiprocessor;
  return rows;
}

}  // namespace attoscope
