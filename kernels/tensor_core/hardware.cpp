#include "kernels/tensor_core/hardware.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "kernels/arithmetic/exponential.h"
#include "kernels/arithmetic/quoted.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/text.h"
#include "kernels/gpu/device.h"
#include "kernels/parallel/parallel.h"
#include "kernels/tensor_core/products.h"

namespace attoscope {
namespace {

constexpr std::array<HardwareTile, 3> tiles{{{64, 64}, {128, 64}, {128, 128}}};
constexpr std::array<int, 4> head_dimensions{32, 64, 96, 128};

std::string tile_text(const HardwareTile& t) { return std::to_string(t.block_q) + " x " + std::to_string(t.block_k); }

/// "The hardware kernel takes WHAT, and NAME is VALUE."
std::string takes(const std::string& what, const std::string& name, const std::string& value) {
  return "The hardware kernel takes " + what + ", and " + name + " is " + value + ".";
}

int bytes_of(const Format& format) { return format == e4m3 ? 1 : 2; }

/// Encodes the rows `rows` of x (d columns), rounded to `format`, as bytes of codes.
std::vector<std::uint8_t> codes(const std::vector<double>& x, const std::vector<int>& rows, int d, const Format& format,
                                const StopSign& stop) {
  const std::size_t width = static_cast<std::size_t>(d), bytes = static_cast<std::size_t>(bytes_of(format));
  std::vector<std::uint8_t> y = zeros<std::uint8_t>(rows.size() * width * bytes, stop);
  parallel_for(std::size_t{0}, rows.size(), [&](std::size_t i) {
    if (i % 256 == 0) stop.check();
    const double* from = x.data() + static_cast<std::size_t>(rows[i]) * width;
    for (std::size_t c = 0; c < width; ++c) {
      const std::uint32_t code = factor_code(format, round(format, from[c]));
      for (std::size_t b = 0; b < bytes; ++b) y[(i * width + c) * bytes + b] = static_cast<std::uint8_t>(code >> (8 * b));
    }
  });
  return y;
}

/// Position of x in the ordered list of fp32 numbers: adjacent numbers differ by 1; both zeros have the same position.
std::int64_t position(float x) {
  const auto bits = bit_as<std::int32_t>(x);
  return bits >= 0 ? bits : -static_cast<std::int64_t>(bits & 0x7fffffff);
}

/// Mean |x - y| in ulps of `format` at |y|, or at 1 % of y's RMS if |y| is smaller; over elements finite in both.
double mean_ulps(const Matrix& x, const Measured& y, const Format& format, const StopSign& stop) {
  double sum = 0;
  std::int64_t count = 0;
  each_element(x.values.size(), stop, [&](std::size_t i) {
    const double a = x.values[i], b = y.matrix->values[i];
    if (!std::isfinite(a) || !std::isfinite(b)) return;
    sum += std::fabs(a - b) / ulp(format, std::max(std::fabs(b), 0.01 * y.rms));
    ++count;
  });
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
}

/// One sentence: why there is no kernel for head dimension d; empty if there is one.
std::string why_no_hardware_dimension(int d) {
  if (std::find(head_dimensions.begin(), head_dimensions.end(), d) != head_dimensions.end()) return {};
  const std::string known = listed(head_dimensions, ", ", [](int x) { return std::to_string(x); });
  return takes("head dimensions " + known, "d", std::to_string(d));
}

}  // namespace

std::span<const HardwareTile> hardware_tiles() { return tiles; }

std::string hardware_reason(const Problem& problem, const Format& format, const Method& method) {
  const HardwareTile tile = tiles_of(method);
  if (format != bf16 && format != fp16 && format != e4m3) return takes("bf16, fp16 and e4m3", "the main format", name(format));
  if (std::string reason = why_no_hardware_dimension(problem.d); !reason.empty()) return reason;
  if (!shape_of(problem).is_square()) return "The hardware kernel takes as many keys as queries, and d columns of V.";
  if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end())
    return takes("tiles (block_q x block_k) of " + listed(tiles, ", ", tile_text), "this one", tile_text(tile));
  if (problem.mask.kind != Mask::Kind::none && problem.mask.kind != Mask::Kind::causal)
    return takes("no mask or the causal one", "the mask", std::string(mask_names[problem.mask.kind]));
  if (mask_view(problem).rows != nullptr) return "The hardware kernel supports no mask tensor.";
  if (problem.sink) return "The hardware kernel supports no sink logit.";
  if (problem.softcap != 0) return "The hardware kernel supports no soft-capping.";
  if (problem.alibi != 0) return "The hardware kernel supports no ALiBi.";
  if (const Rounding& output = method.precision[Step::output]; output.kind != Rounding::Kind::exact && output.stochastic)
    return takes("outputs rounded to nearest", "this one", rounding_text(output));
  return {};
}

std::string why_no_hardware(std::string_view device, int d, const Format& format) {
  if (cuda_devices().empty()) return "The hardware method needs an NVIDIA GPU. " + why_no_cuda();
  const std::vector<int> gpus = devices_of(device);
  if (gpus.empty()) return "The hardware method needs a GPU, and the device is " + std::string(device) + ".";
  const std::string reason = why_no_hardware(*std::ranges::find(cuda_devices(), gpus.front(), &DeviceInfo::index), format);
  return reason.empty() ? why_no_hardware_dimension(d) : reason;
}

std::string why_no_hardware(const DeviceInfo& gpu, const Format& format) {
  const bool of_8_bits = format == e4m3;
  if (10 * gpu.major + gpu.minor >= (of_8_bits ? 89 : 80)) return {};
  return "The hardware method needs compute capability " + std::string(of_8_bits ? "8.9 for e4m3" : "8.0") + ", and " +
         gpu.name + " has " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor) + ".";
}

Accumulator hardware_sums(const Format& format, int major, int minor) {
  if (format != e4m3) return Accumulator::fma;
  if (major == 8 && minor == 9) return Accumulator::ada;
  return major == 12 ? Accumulator::rtx50 : Accumulator::fma;
}

Method emulation_of(const Method& hardware, Accumulator sums) {
  return {.algorithm = Algorithm::flash2,
          .block_q = hardware.block_q,
          .block_k = hardware.block_k,
          .exponential = ExponentialKind::exp2,
          .p_exponent = hardware.p_exponent,
          .accumulator = {.qk = sums, .pv = sums},
          .precision = [&] {
            Precision p = policy("hw").precision;
            p[Step::output] = hardware.precision[Step::output];
            return p;
          }()};
}

HardwareCheck hardware_check(const HardwareRun& run, const Matrix& emulated, const Format& format, const StopSign& stop) {
  HardwareCheck check{.instruction = bytes_of(format) == 1 ? "mma.sync.m16n8k32" : "mma.sync.m16n8k16",
                      .changed = run.changed,
                      .run_to_run_ulp = run.run_to_run_ulp};
  const Measured x = unsorted(run.output, stop), y = unsorted(emulated, stop);
  check.emulator_max_ulp = deviation(x, y, format, stop).max_ulp;
  check.emulator_mean_ulp = mean_ulps(run.output, y, format, stop);
  return check;
}

HardwareLaunch hardware_launch(const Problem& problem, const Format& format, const Method& method, const Tensors& inputs,
                               const std::vector<int>& rows, const StopSign& stop) {
  if (const std::string reason = hardware_reason(problem, format, method); !reason.empty()) throw std::invalid_argument(reason);
  const std::vector<int> all = numbers(problem.n);
  return {.q = codes(inputs.q, rows, problem.d, format, stop),
          .k = codes(inputs.k, all, problem.d, format, stop),
          .v = codes(inputs.v, all, problem.d, format, stop),
          .rows = rows,
          .n = problem.n,
          .d = problem.d,
          .causal = problem.mask.kind == Mask::Kind::causal,
          .c = static_cast<float>(scale_of(problem) * log2_e<double>),
          .shift = static_cast<float>(method.p_exponent),
          .format = format,
          .tile = {method.block_q, method.block_k}};
}

double rounded_output(const Method& method, const Format& main, float x) {
  const Rounding& output = method.precision[Step::output];
  return output.kind == Rounding::Kind::exact ? x : round(format_of(output, main), static_cast<double>(x));
}

HardwareRun run_hardware(const Problem& problem, const Format& format, const Method& method, const Tensors& inputs,
                         const std::vector<int>& rows, int device, const StopSign& stop) {
  gpu_code().load({device}, hardware_code(format));
  const std::vector<std::vector<float>> runs =
      hardware_outputs(hardware_launch(problem, format, method, inputs, rows, stop), 2, device, stop);
  HardwareRun run{.output = {static_cast<int>(rows.size()), problem.d, zeros<double>(runs[0].size(), stop)}};
  each_element(runs[0].size(), stop, [&](std::size_t i) {
    const float x = runs[0][i], again = runs[1][i];
    run.output.values[i] = rounded_output(method, format, x);
    if (bit_as<std::uint32_t>(x) == bit_as<std::uint32_t>(again) || (x != x && again != again)) return;
    ++run.changed;
    run.run_to_run_ulp = std::max(run.run_to_run_ulp, static_cast<double>(std::abs(position(x) - position(again))));
  });
  return run;
}

LoadCode* hardware_code(const Format& format) {
  return format == bf16 ? hardware_code_bf16 : format == e4m3 ? hardware_code_e4m3 : hardware_code_fp16;
}

#ifndef ATTOSCOPE_CUDA
void hardware_code_bf16(int) {}
void hardware_code_fp16(int) {}
void hardware_code_e4m3(int) {}

std::vector<std::vector<float>> hardware_outputs(const HardwareLaunch&, int, int, const StopSign&, const HardwareCuts&) {
  throw std::runtime_error(why_no_cuda());
}

double hardware_ms(int, int, int, bool, const Format&, const HardwareTile&, int, int) {
  throw std::runtime_error(why_no_cuda());
}
#endif

}  // namespace attoscope
