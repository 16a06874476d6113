#include "kernels/same_bits.h"

#include <tbb/info.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/device.h"
#include "kernels/job.h"

namespace attoscope {
namespace {

/// One way to answer, or why it cannot be gone.
struct Way {
  std::string what;
  Experiment experiment;
  Options options;
  std::string skipped{};
};

void add_instruction_sets(std::vector<Way>& ways, const Experiment& e, const Options& options) {
  for (const char* isa : {"sse2", "avx2", "avx512"}) {
    Way way{isa, e, options};
    way.options.isa = isa;
    way.options.device = "cpu";
    if (!has_instruction_set(isa)) way.skipped = "This machine does not run " + way.what + ".";
    ways.push_back(std::move(way));
  }
}

void add_thread_counts(std::vector<Way>& ways, const Experiment& e, const Options& options) {
  std::vector<int> counts{1, 2, tbb::info::default_concurrency()};
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  for (const int count : counts) {
    Way way{std::to_string(count) + (count == 1 ? " thread" : " threads"), e, options};
    way.options.threads = count;
    way.options.device = "cpu";
    ways.push_back(std::move(way));
  }
}

void add_tiles(std::vector<Way>& ways, const Experiment& e, const Options& options) {
  for (const int rows : {16, 64, 128}) {
    Way way{"block_q " + std::to_string(rows), e, options};
    way.experiment.a.block_q = way.experiment.b.block_q = rows;
    ways.push_back(std::move(way));
  }
}

void add_devices(std::vector<Way>& ways, const Experiment& e, const Options& options) {
  if (cuda_devices().empty()) ways.push_back({"GPU", e, options, why_no_cuda()});
  for (const DeviceInfo& device : cuda_devices()) {
    Way way{"cuda:" + std::to_string(device.index) + " " + device.name, e, options};
    way.options.device = "cuda:" + std::to_string(device.index);
    ways.push_back(std::move(way));
  }
}

SameBitsRun gone(const Way& way, const Answerer& answer) {
  SameBitsRun run{.what = way.what, .skipped = way.skipped};
  if (!run.skipped.empty()) return run;
  const Digests digests = answer(way.experiment, way.options);
  return {way.what, {}, digests.golden, digests.a, digests.b};
}

SameBitsRun gone_or_skipped(const Way& way, const Answerer& answer) {
  try {
    return gone(way, answer);
  } catch (const std::runtime_error& error) {
    return {.what = way.what, .skipped = error.what()};
  } catch (const std::invalid_argument& error) {
    return {.what = way.what, .skipped = error.what()};
  }
}

Digests computed(const Experiment& experiment, const Options& options) { return compute(experiment, options).digests; }

}  // namespace

bool agrees(const SameBitsRun& run, const SameBitsRun& reference) {
  return !run.skipped.empty() || (run.golden == reference.golden && run.a == reference.a && run.b == reference.b);
}

bool SameBits::agree() const {
  return std::ranges::all_of(runs, [&](const SameBitsRun& run) { return agrees(run, runs[0]); });
}

int SameBits::compared() const {
  return static_cast<int>(std::ranges::count_if(runs, [](const SameBitsRun& run) { return run.skipped.empty(); }));
}

SameBits same_bits(const Experiment& experiment, const Options& options, const Answerer& answer) {
  Options fresh = options;
  fresh.memory = nullptr;
  std::vector<Way> ways;
  add_instruction_sets(ways, experiment, fresh);
  add_thread_counts(ways, experiment, fresh);
  add_tiles(ways, experiment, fresh);
  add_devices(ways, experiment, fresh);
  SameBits result{experiment, {gone({device_name(fresh.threads, fresh.isa), experiment, fresh}, answer)}};
  for (const Way& way : ways) result.runs.push_back(gone_or_skipped(way, answer));
  return result;
}

SameBits same_bits(const Experiment& experiment, const Options& options) { return same_bits(experiment, options, computed); }

}  // namespace attoscope
