#include "kernels/questions/same_bits.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/gpu/device.h"
#include "kernels/lanes/job.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

/// One variant to run, or the reason that it cannot be run.
struct Variant {
  std::string what;
  Experiment experiment;
  Options options;
  std::string skipped{};
};

void add_instruction_sets(std::vector<Variant>& variants, const Experiment& e, const Options& options) {
  for (const char* isa : {"sse2", "avx2", "avx512"}) {
    Variant variant{isa, e, options};
    variant.options.isa = isa;
    variant.options.device = "cpu";
    if (!has_instruction_set(isa)) variant.skipped = "This machine does not run " + variant.what + ".";
    variants.push_back(std::move(variant));
  }
}

void add_thread_counts(std::vector<Variant>& variants, const Experiment& e, const Options& options) {
  std::vector<int> counts{1, 2, default_concurrency()};
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  for (const int count : counts) {
    Variant variant{std::to_string(count) + (count == 1 ? " thread" : " threads"), e, options};
    variant.options.threads = count;
    variant.options.device = "cpu";
    variants.push_back(std::move(variant));
  }
}

void add_tiles(std::vector<Variant>& variants, const Experiment& e, const Options& options) {
  for (const int rows : {16, 64, 128}) {
    Variant variant{"block_q " + std::to_string(rows), e, options};
    variant.experiment = with_block_q(variant.experiment, rows);
    variants.push_back(std::move(variant));
  }
}

void add_devices(std::vector<Variant>& variants, const Experiment& e, const Options& options) {
  if (cuda_devices().empty()) variants.push_back({"GPU", e, options, why_no_cuda()});
  for (const DeviceInfo& device : cuda_devices()) {
    Variant variant{"cuda:" + std::to_string(device.index) + " " + device.name, e, options};
    variant.options.device = "cuda:" + std::to_string(device.index);
    variants.push_back(std::move(variant));
  }
}

SameBitsRun run_of(const Variant& variant, const Answerer& answer) {
  SameBitsRun run{.what = variant.what, .skipped = variant.skipped};
  if (!run.skipped.empty()) return run;
  const Digests digests = answer(variant.experiment, variant.options);
  return {variant.what, {}, digests.golden, digests.a, digests.b};
}

SameBitsRun run_or_skipped(const Variant& variant, const Answerer& answer) {
  try {
    return run_of(variant, answer);
  } catch (const std::runtime_error& error) {
    return {.what = variant.what, .skipped = error.what()};
  } catch (const std::invalid_argument& error) {
    return {.what = variant.what, .skipped = error.what()};
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
  fresh.cache = nullptr;
  std::vector<Variant> variants;
  add_instruction_sets(variants, experiment, fresh);
  add_thread_counts(variants, experiment, fresh);
  add_tiles(variants, experiment, fresh);
  add_devices(variants, experiment, fresh);
  SameBits result{experiment, {run_of({device_name(fresh.threads, fresh.isa), experiment, fresh}, answer)}};
  for (const Variant& variant : variants) result.runs.push_back(run_or_skipped(variant, answer));
  return result;
}

SameBits same_bits(const Experiment& experiment, const Options& options) {
  SameBits result = same_bits(experiment, options, computed);
  result.methods = methods_apart(compute(experiment, options), options);
  return result;
}

}  // namespace attoscope
