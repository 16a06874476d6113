/// Check of a user's GPU: compares experiments computed on it and on the CPU, and sums of its tensor cores with the rules of
/// all known GPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/gpu/device.h"
#include "kernels/questions/same_bits.h"
#include "kernels/tensor_core/product_rules.h"

namespace attoscope {

inline constexpr int usual_product_count = 100'000, most_products = 1'000'000;

/// Settings of a check.
struct GpuCheckQuestion {
  std::string device = "cuda";      ///< cuda or cuda:K
  int count = usual_product_count;  ///< sums per kind: half take one instruction each, half take four
  std::uint64_t seed = 1;
  std::vector<ProductKind> kinds{product_kinds.begin(), product_kinds.end()};

  friend bool operator==(const GpuCheckQuestion&, const GpuCheckQuestion&) = default;
};

/// The same experiments on the CPU and on the GPU.
struct DigestsCheck {
  int count = 0, agree = 0;
  std::string first{};  ///< the first experiment that differs: "flash2 hw, bf16, causal: golden, a"; empty: none
};

struct GpuCheck {
  GpuCheckQuestion question;
  DeviceInfo gpu;
  DigestsCheck digests;
  std::vector<ProductsCheck> kinds{};  ///< in the order of the question; fewer while the check runs

  /// True if every digest equals the CPU's, and every kind that was compared has a rule that gives all its sums.
  bool as_written() const;
};

/// The GPU to check, or a mock of one.
struct CheckedGpu {
  DeviceInfo info;
  Answerer digests;                                                     ///< digests of an experiment computed on it
  std::function<std::vector<float>(const ProductQuestions&)> products;  ///< sums computed by its tensor cores
};

/// Callbacks of a running check.
struct GpuCheckWatch {
  Cancelled cancelled{};                                ///< none: never
  std::function<void(const std::string&)> doing{};      ///< receives the name of the current part: "fp16"
  std::function<void(const GpuCheck& so_far)> known{};  ///< receives the results after the digests and after every kind
};

/// Experiments whose digests are compared, with their names.
struct NamedExperiment {
  std::string name;
  Experiment experiment;
};
std::vector<NamedExperiment> digest_experiments();

/// The GPU called `device`. Throws as `devices_of` does; std::invalid_argument if `device` is the CPU or several GPUs.
CheckedGpu checked_gpu(const std::string& device);

/// Checks `gpu`. Throws Stopped when cancelled, and what the GPU throws if it fails.
GpuCheck gpu_check(const GpuCheckQuestion& question, const CheckedGpu& gpu, const GpuCheckWatch& watch = {});

/// "digests: 40 of 40 experiments have the CPU's bits".
std::string digests_line(const DigestsCheck& check);

/// "fp16: adds as h100, h200 and b200: 100,000 of 100,000"; if no rule gives all sums, the nearest rule and its first
/// difference in bits; if the kind was not compared, the reason.
std::string products_line(const ProductsCheck& check);

/// The first sum that the rule does not give, in bits of fp32: "sum 17 (cancellation): c 0x3f800000, expected 0x40000000, got
/// 0x3fffffff"; "" if it gives all.
std::string difference_text(const RuleAgreement& rule);

/// Conclusion of the check: one sentence or two.
std::string gpu_check_sentence(const GpuCheck& check);

}  // namespace attoscope
