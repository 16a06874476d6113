/// Check of a user's own GPU: experiments computed on it and on the CPU, and sums of its tensor cores against the rule of every
/// GPU.
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
  int count = usual_product_count;  ///< sums of each kind: half of one instruction each, half of four
  std::uint64_t seed = 1;
  std::vector<ProductKind> kinds{product_kinds.begin(), product_kinds.end()};

  friend bool operator==(const GpuCheckQuestion&, const GpuCheckQuestion&) = default;
};

/// The same experiments on the CPU and on the GPU.
struct DigestsCheck {
  int count = 0, agree = 0;
  std::string first{};  ///< the first that differs: "flash2 hw, bf16, causal: golden, a"; empty: none does
};

struct GpuCheck {
  GpuCheckQuestion question;
  DeviceInfo gpu;
  DigestsCheck digests;
  std::vector<ProductsCheck> kinds{};  ///< in the order of the question; fewer while the check is under way

  /// True if every digest is the CPU's, and a rule gives all sums of every kind that was compared.
  bool as_written() const;
};

/// The GPU that is checked, or a stand-in for one.
struct CheckedGpu {
  DeviceInfo info;
  Answerer digests;                                                     ///< of an experiment, computed on it
  std::function<std::vector<float>(const ProductQuestions&)> products;  ///< answers of its tensor cores
};

/// Callbacks while a check is under way.
struct GpuCheckWatch {
  Cancelled cancelled{};                                ///< none: never
  std::function<void(const std::string&)> doing{};      ///< name of the present part: "fp16"; none: not told
  std::function<void(const GpuCheck& so_far)> known{};  ///< after the digests, and after every kind; none: not told
};

/// The experiments whose digests are compared, with their names.
struct NamedExperiment {
  std::string name;
  Experiment experiment;
};
std::vector<NamedExperiment> digest_experiments();

/// The GPU that `device` names. Throws as `devices_of` does; std::invalid_argument if it names the CPU, or several GPUs.
CheckedGpu checked_gpu(const std::string& device);

/// Checks `gpu`. Throws Stopped when cancelled, and what the GPU throws if it fails.
GpuCheck gpu_check(const GpuCheckQuestion& question, const CheckedGpu& gpu, const GpuCheckWatch& watch = {});

/// "100,000".
std::string grouped(std::int64_t x);

/// "digests: 40 of 40 experiments have the CPU's bits".
std::string digests_line(const DigestsCheck& check);

/// "fp16: adds as h100, h200 and b200: 100,000 of 100,000"; if no rule gives all, the nearest one and its first difference in
/// bits; or the reason if it was not compared.
std::string products_line(const ProductsCheck& check);

/// The first sum that the rule does not give, in bits of fp32: "sum 17 (cancellation): c 0x3f800000, expected 0x40000000, got
/// 0x3fffffff"; "": it gives all.
std::string difference_text(const RuleAgreement& rule);

/// Conclusion from all of it: one sentence or two.
std::string gpu_check_sentence(const GpuCheck& check);

}  // namespace attoscope
