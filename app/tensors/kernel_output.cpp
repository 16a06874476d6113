#include "app/tensors/kernel_output.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <stdexcept>

#include "app/tensors/npy.h"
#include "app/tensors/safetensors.h"
#include "app/tensors/tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

constexpr std::string_view npy = ".npy", safetensors = ".safetensors";

bool names_output(std::string_view file) { return file.ends_with(npy) || file.ends_with(safetensors); }

/// How the tensor's dimensions are to be read.
struct Reading {
  int heads = 1, n = 0, d = 0;
  bool tokens_first = false;  ///< n x heads x d, as kernels of variable length and FlashAttention's own have it
};

std::string expected_shape(int n, int d) {
  const std::string rows = n > 0 ? std::to_string(n) : "n", columns = d > 0 ? std::to_string(d) : "d",
                    both = rows + ", " + columns + "]";
  return "[" + both + ", [heads, " + both + " or [" + rows + ", heads, " + columns + "]";
}

[[noreturn]] void refuse_shape(const StoredTensor& t, int n, int d) {
  const bool turned = t.shape.size() >= 2 && n != d && t.shape.back() == static_cast<std::uint64_t>(n) &&
                      t.shape[t.shape.size() - 2] == static_cast<std::uint64_t>(d);
  throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) + ", expected " + expected_shape(n, d) +
                           (turned ? "; it is transposed" : ""));
}

Reading reading_of(const StoredTensor& t, int n, int d) {
  const std::size_t rank = t.shape.size();
  if (rank < 2 || rank > 4) refuse_shape(t, n, d);
  const std::uint64_t elements = byte_count(t.shape, bytes_of(t.type), t.label) / static_cast<std::uint64_t>(bytes_of(t.type));
  const std::uint64_t last = t.shape[rank - 1], before = t.shape[rank - 2];
  const auto is = [](std::uint64_t size, int wanted) { return wanted > 0 && size == static_cast<std::uint64_t>(wanted); };
  const bool rows_last = n == 0 || is(before, n), tokens_first = !rows_last && rank >= 3 && is(t.shape[rank - 3], n);
  const std::uint64_t tokens = tokens_first ? t.shape[rank - 3] : before;
  const bool sized =
      last >= 1 && last <= static_cast<std::uint64_t>(max_d) && tokens >= 1 && tokens <= static_cast<std::uint64_t>(max_n);
  if (elements == 0 || !sized || (!rows_last && !tokens_first) || (d > 0 && !is(last, d)) ||
      elements / tokens / last > 1U << 20)
    refuse_shape(t, n, d);
  return {static_cast<int>(elements / tokens / last), static_cast<int>(tokens), static_cast<int>(last), tokens_first};
}

StoredTensor open_output(const InputFile& file) {
  return file.path().ends_with(npy) ? read_npy(file) : read_output_tensor(file);
}

/// The heads of the input's file beside its own.
OtherHeads heads_of(const Input& input) {
  if (input.kind != InputKind::tensors) return {};
  return {describe_tensors(input.file).heads, [input](int head) {
            Input other = input;
            other.index = head;
            other.tensors.reset();
            load_tensors(other);
            return other.tensors;
          }};
}

}  // namespace

KernelOutput parse_kernel_output(std::string_view spec) {
  KernelOutput output;
  output.file = spec;
  if (names_output(spec)) return output;
  const std::size_t colon = spec.rfind(':');
  if (colon == std::string_view::npos || !names_output(spec.substr(0, colon)))
    throw std::invalid_argument("kernel output " + in_quotes(spec) + " is not understood, expected " +
                                std::string(kernel_output_specs));
  const std::string_view text = spec.substr(colon + 1);
  const auto index = to_number<int>(text);
  if (!index || *index < 0)
    throw std::invalid_argument("kernel output " + in_quotes(spec) + " has head index " + in_quotes(text) +
                                ", expected a whole number from 0 on");
  output.file = spec.substr(0, colon);
  output.index = *index;
  return output;
}

std::string kernel_output_spec(const KernelOutput& output) {
  return output.index > 0 ? output.file + ":" + std::to_string(output.index) : output.file;
}

void load_kernel_output(KernelOutput& output, int n, int d, const ReadWatch& watch) {
  if (output.file.empty() || output.values) return;
  if (!names_output(output.file))
    throw std::runtime_error("kernel output " + in_quotes(output.file) +
                             " is not understood, expected a .npy or .safetensors file");
  const InputFile file(output.file);
  const StoredTensor t = open_output(file);
  const Reading r = reading_of(t, n, d);
  if (output.index < 0 || output.index >= r.heads)
    throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) + ": head index is " + std::to_string(output.index) +
                             ", expected 0 to " + std::to_string(r.heads - 1));
  check_memory(output.file, 1, r.n, r.d);
  auto values = std::make_shared<const std::vector<double>>(
      r.tokens_first ? read_across(file, t, output.index, watch)
                     : read_matrix(file, t, {r.heads, r.n, r.d}, output.index, watch));
  output.n = r.n;
  output.d = r.d;
  output.type = type_name(t.type);
  output.digest = XXH3_64bits_withSeed(values->data(), values->size() * sizeof(double),
                                       static_cast<std::uint64_t>(r.n) << 32 | static_cast<std::uint64_t>(r.d));
  output.values = std::move(values);
}

int kernel_output_heads(const std::string& file, int n, int d) {
  const InputFile opened(file);
  return reading_of(open_output(opened), n, d).heads;
}

KernelOutput read_kernel_output(const std::string& spec, const Problem& problem, int n, int d, const ReadWatch& watch) {
  KernelOutput output = parse_kernel_output(spec);
  const bool names_head = output.file != spec;
  const int head = problem.input.kind == InputKind::tensors ? problem.input.index : 0;
  if (!names_head && head > 0 && head < kernel_output_heads(output.file, n, d)) output.index = head;
  load_kernel_output(output, n, d, watch);
  return output;
}

bool is_kernel_output(const std::string& file) {
  if (file.ends_with(npy)) return file.find(".npy,") == std::string::npos;
  if (!file.ends_with(safetensors)) return false;
  const TensorRoles roles = tensor_roles(InputFile(file));
  return roles.output && !roles.inputs;
}

bool holds_kernel_output(const std::string& file) {
  return file.ends_with(safetensors) && tensor_roles(InputFile(file)).output;
}

bool holds_whole_call(const std::string& file) {
  if (!file.ends_with(safetensors)) return false;
  try {
    const TensorRoles roles = tensor_roles(InputFile(file));
    return roles.inputs && roles.output;
  } catch (const std::exception&) {  // the sentence about it comes from who reads
    return false;
  }
}

Diagnosis diagnose_with_heads(const Result& result, const Options& options) {
  return diagnose(result, heads_of(result.experiment.problem.input), options);
}

std::shared_ptr<const Result> slip_output_with_heads(const Result& result, const Slip& slip, const Options& options) {
  return with_slip_output(result, slip, heads_of(result.experiment.problem.input), options);
}

void use_kernel_output(Experiment& experiment, KernelOutput output, bool as_b) {
  experiment.loaded = std::move(output);
  Method& replaced = as_b ? experiment.b : experiment.a;
  replaced = with_algorithm(replaced, Algorithm::loaded);
}

}  // namespace attoscope
