#include "kernels/questions/gpu_check.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/cancelled_sign.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"

namespace attoscope {
namespace {

/// Instructions that the longer sums take: the second one starts from the first one's result.
constexpr int long_steps = 4;

Experiment small_experiment(Algorithm algorithm, const Format& format, Mask::Kind mask) {
  Experiment e = default_experiment();
  e.problem.n = 97;
  e.problem.d = 32;
  e.problem.mask.kind = mask;
  e.format = format;
  e.a.algorithm = algorithm;
  e.a.block_k = 32;
  e.a.precision = policy(normalises_P(algorithm) ? "base_eager" : "hw").precision;
  return e;
}

std::string text(const Experiment& e) {
  return std::string(name(e.a.algorithm)) + ", " + name(e.format) + ", mask " +
         std::string(mask_names[static_cast<std::size_t>(e.problem.mask.kind)]);
}

/// The names of the digests that differ: "golden, a".
std::string differing(const Digests& x, const Digests& y) {
  std::string names;
  for (const auto& [name, same] : {std::pair{"golden", x.golden == y.golden}, {"a", x.a == y.a}, {"b", x.b == y.b}})
    if (!same) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

DigestsCheck digests_check(const CheckedGpu& gpu, const GpuCheckWatch& watch) {
  DigestsCheck check;
  const Options options{.cancelled = watch.cancelled};
  for (const NamedExperiment& e : digest_experiments()) {
    const std::string differs = differing(compute(e.experiment, options).digests, gpu.digests(e.experiment, options));
    ++check.count;
    if (differs.empty())
      ++check.agree;
    else if (check.first.empty())
      check.first = e.name + ": " + differs;
  }
  return check;
}

ProductsCheck left_out(const ProductKind& kind, const std::string& why) {
  ProductsCheck check = no_products_yet(kind);
  check.left_out = why;
  check.rules.clear();
  return check;
}

ProductsCheck products_check(const GpuCheckQuestion& q, const ProductKind& kind, const CheckedGpu& gpu, const StopSign& stop) {
  if (const std::string why = why_no_products(kind, gpu.info.major, gpu.info.minor); !why.empty()) return left_out(kind, why);
  ProductsCheck check = no_products_yet(kind);
  const auto ask = [&](int steps, int count, ProductCase first) {
    if (count == 0) return;
    stop.check();
    const ProductQuestions questions = product_questions(kind, steps, count, q.seed, first);
    compare(check, questions, gpu.products(questions), stop);
  };
  try {
    ask(1, q.count - q.count / 2, ProductCase::random);
    ask(long_steps, q.count / 2, ProductCase::zeros);
  } catch (const NoProducts& error) {
    return left_out(kind, error.what());
  }
  return check;
}

/// The GPU's failure in a remark, without the sentence that the CPU took over: here it does not.
std::string failure_in(const std::string& remark) { return remark.substr(0, remark.find(" The CPU took over")); }

Digests digests_on(const std::string& device, const Experiment& e, Options options) {
  options.device = device;
  const Result r = compute(e, options);
  if (r.device.starts_with("cpu")) throw DeviceFailure(failure_in(r.remark));
  return r.digests;
}

}  // namespace

bool GpuCheck::as_written() const {
  return digests.agree == digests.count &&
         std::ranges::all_of(kinds, [](const ProductsCheck& k) { return !k.left_out.empty() || !k.fitting().empty(); });
}

std::vector<NamedExperiment> digest_experiments() {
  std::vector<NamedExperiment> all;
  for (const Algorithm algorithm : emulated_algorithms)
    for (const Format& format : {bf16, fp16, e4m3})
      for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal}) {
        const Experiment e = small_experiment(algorithm, format, mask);
        all.push_back({text(e), e});
      }
  for (const Accumulator sums : {Accumulator::v100, Accumulator::a100, Accumulator::h100, Accumulator::b200}) {
    Experiment e = small_experiment(Algorithm::flash2, fp16, Mask::Kind::causal);
    e.a.accumulator = {sums, sums};
    all.push_back({text(e) + ", sums of " + std::string(name(sums)), e});
  }
  return all;
}

CheckedGpu checked_gpu(const std::string& device) {
  const std::vector<int> gpus = devices_of(device);
  if (gpus.size() != 1) throw std::invalid_argument("device is " + device + ", expected cuda or cuda:K");
  const int gpu = gpus[0];
  return {.info = *std::ranges::find(cuda_devices(), gpu, &DeviceInfo::index),
          .digests = [spec = "cuda:" + std::to_string(gpu)](const Experiment& e,
                                                            const Options& options) { return digests_on(spec, e, options); },
          .products = [gpu](const ProductQuestions& q) { return device_products(q, gpu); }};
}

GpuCheck gpu_check(const GpuCheckQuestion& question, const CheckedGpu& gpu, const GpuCheckWatch& watch) {
  const CancelledSign stop(watch.cancelled);
  const auto doing = [&](const std::string& what) {
    stop.check();
    if (watch.doing) watch.doing(what);
  };
  GpuCheck check{.question = question, .gpu = gpu.info, .digests = {}};
  doing("digests");
  check.digests = digests_check(gpu, watch);
  if (watch.known) watch.known(check);
  for (const ProductKind& kind : question.kinds) {
    doing(name(kind));
    check.kinds.push_back(products_check(question, kind, gpu, stop));
    if (watch.known) watch.known(check);
  }
  return check;
}

}  // namespace attoscope
