#include "tests/gpu/tensor_kernel.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "kernels/cpu/inputs.h"
#include "kernels/experiment/experiment.h"
#include "kernels/gpu/device.h"
#include "kernels/system_memory.h"
#include "kernels/tensor_core/hardware.h"
#include "tests/reference/plain_hardware.h"

namespace attoscope::gpu_check {
namespace {

constexpr HardwareCuts uncut{.limit_ms = 1e9F, .first_work = std::int64_t{1} << 50},
    tile_by_tile{.limit_ms = 1e-9F, .first_work = 1};

/// A launch of `count` rows, spread from the first to the last of n, on N(0,1) inputs.
HardwareLaunch question(int n, int d, int count, bool causal, const Format& format) {
  Problem problem;
  problem.n = n;
  problem.d = d;
  problem.mask.kind = causal ? Mask::Kind::causal : Mask::Kind::none;
  std::vector<int> rows;
  for (int i = 0; i < count; ++i) rows.push_back(static_cast<int>(static_cast<std::int64_t>(n - 1) * i / (count - 1)));
  const HardwareTile tile = hardware_tiles().front();
  return hardware_launch(problem, format,
                         Method{.algorithm = Algorithm::hardware, .block_q = tile.block_q, .block_k = tile.block_k},
                         *raw_inputs(problem), rows, StopSign{});
}

/// The difference between two outputs; empty: they have the same bits.
std::string difference(std::span<const float> x, std::span<const float> y) {
  std::int64_t differing = 0, nans = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    differing += std::memcmp(&x[i], &y[i], sizeof(float)) != 0;
    nans += x[i] != x[i];
  }
  if (nans > 0) return std::to_string(nans) + " numbers of O are NaN";
  return differing == 0 ? "" : std::to_string(differing) + " of " + std::to_string(x.size()) + " numbers of O differ";
}

std::string words(int n, int d, const Format& format, bool causal) {
  return "N = " + std::to_string(n) + ", d = " + std::to_string(d) + ", " + name(format) + (causal ? ", causal" : "");
}

/// The first head's numbers, copied for all heads.
std::vector<std::uint8_t> repeated(const std::vector<std::uint8_t>& head, int heads) {
  std::vector<std::uint8_t> all;
  all.reserve(head.size() * static_cast<std::size_t>(heads));
  for (int i = 0; i < heads; ++i) all.insert(all.end(), head.begin(), head.end());
  return all;
}

}  // namespace

void compare_cut_launches(int device, std::span<const Format> formats, bool quick, Tally& tally) {
  const int n = quick ? 512 : 16384, rows = quick ? 80 : 512;
  for (const Format& format : formats)
    for (const int d : {64, 128})
      for (const bool causal : {false, true}) {
        if (quick && (format == fp16 || d != 64)) continue;
        const HardwareLaunch x = question(n, d, rows, causal, format);
        const std::vector<float> whole = hardware_outputs(x, 1, device, {}, uncut)[0];
        tally.note(difference(whole, hardware_outputs(x, 1, device, {}, tile_by_tile)[0]), words(n, d, format, causal));
      }
}

void compare_with_the_rule(int device, const Format& format, bool quick, Tally& tally) {
  const ProductQuestions products = product_questions({format}, 2, 4096, 1);
  ProductsCheck check = no_products_yet(products.kind);
  compare(check, products, device_products(products, device), {});
  const std::string kernel = "the tensor-core kernel, " + name(format);
  if (check.fitting().empty()) {
    std::printf("%s: not compared, since its products are added by no rule that is written here\n", kernel.c_str());
    return;
  }
  const ProductRule& fits = check.fitting().front()->rule;
  std::printf("%s: products are added as %s\n", kernel.c_str(), name(fits).c_str());
  int i = -1;
  for (const int d : {32, 64, 96, 128})
    for (const HardwareTile& tile : hardware_tiles())
      for (const bool causal : {false, true}) {
        if (++i >= 6 && quick) return;
        const plain::IntegerScores question{.format = format,
                                            .n = 1 + (i + 3) * 137 % 311,
                                            .d = quick ? 32 * (1 + i % 4) : d,
                                            .tile = tile,
                                            .causal = causal,
                                            .p_exponent = i % 2 * 8,
                                            .seed = static_cast<std::uint64_t>(i)};
        const HardwareLaunch x = plain::integer_scores(question);
        tally.note(difference(plain::hardware_output(x, fits), hardware_outputs(x, 1, device, {})[0]),
                   words(question.n, question.d, format, causal));
      }
}

void compare_many_heads(int device, Tally& tally) {
  constexpr int n = 65536, d = 128, rows = 64;
  constexpr int heads = (std::int64_t{1} << 31) / (n * d) + 1;
  constexpr double bytes = 2.0 * heads * n * d * sizeof(std::uint16_t), spare = 2e9;
  const auto gpu = std::ranges::find(cuda_devices(), device, &DeviceInfo::index);
  if (static_cast<double>(gpu->memory) < bytes + spare || available_bytes() < bytes + spare) {
    std::printf("the tensor-core kernel, many heads: skipped, %d GB of memory are needed on the machine and on the GPU\n",
                static_cast<int>((bytes + spare) / 1e9));
    return;
  }
  tally.section("the tensor-core kernel, many heads");
  HardwareLaunch x = question(n, d, rows, true, bf16);
  for (int i = 0; i < rows; ++i) x.rows[static_cast<std::size_t>(i)] = i;  // the first rows see few keys, which is fast
  const std::vector<float> alone = hardware_outputs(x, 1, device, {})[0];
  x.heads = heads;
  for (std::vector<std::uint8_t>* part : {&x.q, &x.k, &x.v}) *part = repeated(*part, heads);
  const std::vector<float> all = hardware_outputs(x, 1, device, {})[0];
  for (const int head : {0, 1, heads / 2, heads - 1})
    tally.note(difference(alone, std::span(all).subspan(static_cast<std::size_t>(head) * alone.size(), alone.size())),
               "head " + std::to_string(head) + " of " + std::to_string(heads));
}

}  // namespace attoscope::gpu_check
