#include "kernels/questions/same_bits.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
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

std::vector<Variant> variants_of(const Experiment& e, const Options& options) {
  std::vector<Variant> variants;
  const auto add = [&](const std::string& what) -> Variant& {
    variants.push_back({what, e, options});
    return variants.back();
  };
  for (const char* isa : {"sse2", "avx2", "avx512"}) {
    Variant& variant = add(isa);
    variant.options.isa = isa;
    variant.options.device = "cpu";
    if (!has_instruction_set(isa)) variant.skipped = "This machine does not run " + variant.what + ".";
  }
  for (const int count : std::set{1, 2, default_concurrency()}) {
    Variant& variant = add(counted(count, "thread"));
    variant.options.threads = count;
    variant.options.device = "cpu";
  }
  for (const int rows : {16, 64, 128}) add("block_q " + std::to_string(rows)).experiment = with_block_q(e, rows);
  if (cuda_devices().empty()) add("GPU").skipped = why_no_cuda();
  for (const DeviceInfo& device : cuda_devices()) {
    const std::string spec = "cuda:" + std::to_string(device.index);
    add(spec + " " + device.name).options.device = spec;
  }
  return variants;
}

SameBitsRun run_or_skipped(const Variant& variant, const Answerer& answer) {
  SameBitsRun run{.what = variant.what, .skipped = variant.skipped};
  try {
    if (run.skipped.empty()) run.digests = answer(variant.experiment, variant.options);
  } catch (const std::runtime_error& error) {
    run.skipped = error.what();
  } catch (const std::invalid_argument& error) {
    run.skipped = error.what();
  }
  return run;
}

/// The experiment without its backward pass, which no digest is of; with it, if only its formats make the work double.
Experiment without_gradients(const Experiment& e) {
  Experiment forward = e;
  forward.backward.on = false;
  forward.backward.on = works_in_double(forward) != works_in_double(e);
  return forward;
}

Digests computed(const Experiment& experiment, const Options& options) { return compute(experiment, options).digests; }

}  // namespace

std::string differing(const Digests& x, const Digests& y) {
  std::string names;
  for (const auto& [name, same] : {std::pair{"golden", x.golden == y.golden}, {"a", x.a == y.a}, {"b", x.b == y.b}})
    if (!same) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

bool agrees(const SameBitsRun& run, const SameBitsRun& reference) {
  return !run.skipped.empty() || differing(run.digests, reference.digests).empty();
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
  const Experiment asked = without_gradients(experiment);
  SameBits result{experiment, {{device_name(fresh.threads, fresh.isa), "", answer(asked, fresh)}}};
  for (const Variant& variant : variants_of(asked, fresh)) result.runs.push_back(run_or_skipped(variant, answer));
  return result;
}

SameBits same_bits(const Experiment& experiment, const Options& options) {
  SameBits result = same_bits(experiment, options, computed);
  result.methods = methods_apart(compute(without_gradients(experiment), options), options);
  return result;
}

Table same_bits_table(const SameBits& bits) {
  using Run = SameBitsRun;
  const auto digest = [](std::uint64_t Digests::* of) { return [of](const Run& run) { return hex16(run.digests.*of); }; };
  const auto told = [&bits](const Run& run) -> std::string {
    if (!run.skipped.empty()) return "not run";
    if (&run == &bits.runs[0]) return hex16(run.digests.a);
    const std::string names = differing(run.digests, bits.runs[0].digests);
    if (names.empty()) return "same bits";
    return names + (names.find(',') == std::string::npos ? " differs" : " differ");
  };
  const std::vector<TableColumn<Run>> columns{
      table_column<Run>({.key = "run"}, &Run::what),
      table_column<Run>({.key = "golden", .shown = ColumnFor::files}, digest(&Digests::golden)),
      table_column<Run>({.key = "a", .shown = ColumnFor::files}, digest(&Digests::a)),
      table_column<Run>({.key = "b", .shown = ColumnFor::files}, digest(&Digests::b)),
      table_column<Run>({.key = "skipped", .shown = ColumnFor::files}, &Run::skipped),
      table_column<Run>({.key = "bits", .meaning = "Compared with the first run.", .shown = ColumnFor::people}, told)};
  return table_of(columns, std::span<const Run>(bits.runs));
}

}  // namespace attoscope
