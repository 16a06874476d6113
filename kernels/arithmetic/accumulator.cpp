#include "kernels/arithmetic/accumulator.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "kernels/arithmetic/quoted.h"

namespace attoscope {
namespace {

/// Block length of each format on one GPU; 0: its tensor cores do not multiply this format.
struct Lengths {
  int fp16, bf16, tf32, fp8;
};

/// Parameters of one GPU's rule. Sources: M. Fasi et al., 2021 (doi 10.7717/peerj-cs.330); X. Li et al., FTTN, arXiv
/// 2403.00232; MMA-Sim, arXiv 2511.10909; F. A. Khattak, M. Mikaitis, arXiv 2512.07004.
struct Row {
  TensorCore gpu;
  Lengths block;
  int aligned_bits, aligned_bits_of_fp8;
  SumRounding rounding_of_fp8;
};
constexpr std::array<Row, tensor_core_texts.size()> rows{{
    {TensorCore::v100, {4, 0, 0, 0}, 23, 0, {}},
    {TensorCore::a100, {8, 8, 4, 0}, 24, 0, {}},
    {TensorCore::a2, {8, 8, 4, 0}, 24, 0, {}},
    {TensorCore::ada, {8, 8, 4, 16}, 24, 13, SumRounding::e8m13_towards_zero},
    {TensorCore::l40s, {8, 8, 4, 16}, 24, 13, SumRounding::e8m13_towards_zero},
    {TensorCore::h100, {16, 16, 8, 32}, 25, 13, SumRounding::e8m13_towards_zero},
    {TensorCore::h200, {16, 16, 8, 32}, 25, 13, SumRounding::e8m13_towards_zero},
    {TensorCore::b200, {16, 16, 8, 32}, 25, 25, SumRounding::fp32_towards_zero},
    {TensorCore::rtx50, {16, 16, 8, 32}, 25, 25, SumRounding::fp32_towards_zero},
}};
static_assert(is_in_order(rows, &Row::gpu));

const Row& row_of(TensorCore gpu) { return rows[static_cast<std::size_t>(gpu)]; }

/// A format of factors and its member of Lengths.
struct Factors {
  Format format;
  int Lengths::* block;
};
constexpr std::array<Factors, 5> all_factors{
    {{fp16, &Lengths::fp16}, {bf16, &Lengths::bf16}, {tf32, &Lengths::tf32}, {e4m3, &Lengths::fp8}, {e5m2, &Lengths::fp8}}};

bool is_fp8(const Format& f) { return f == e4m3 || f == e5m2; }

int block_length(TensorCore gpu, const Format& factors) {
  for (const Factors& f : all_factors)
    if (f.format == factors) return row_of(gpu).block.*f.block;
  return 0;
}

/// True for fp16 and the 8-bit formats: only their products can be summed in fp16.
bool has_fp16_sums(const Format& factors) { return factors == fp16 || is_fp8(factors); }

/// Lists the names of all formats for which `has` returns true.
template <class Has>
std::string formats_that(Has has) {
  std::vector<std::string> names;
  for (const Factors& f : all_factors)
    if (has(f.format)) names.push_back(name(f.format));
  return listed(names);
}

std::string gpus_with(const Format& factors) {
  std::vector<std::string> names;
  for (const Row& r : rows)
    if (block_length(r.gpu, factors) > 0) names.emplace_back(name(r.gpu));
  return listed(names);
}

/// True if the GPU multiplies 8-bit factors with fp16 sums as two halves of fp16.
bool adds_halves(TensorCore gpu, const Format& factors, SumType sums) {
  const bool recorded = gpu == TensorCore::h100 || gpu == TensorCore::h200 || gpu == TensorCore::b200;
  return recorded && is_fp8(factors) && sums == SumType::f16;
}

SumEvidence evidence_of(TensorCore gpu, const Format& factors, SumType sums) {
  const bool hopper = gpu == TensorCore::h100 || gpu == TensorCore::h200;
  if (gpu == TensorCore::rtx50) return SumEvidence::model;
  if (factors == tf32 && block_length(gpu, factors) > 4) return SumEvidence::recorded_to_4;
  if (!is_fp8(factors)) return SumEvidence::recorded;
  if (adds_halves(gpu, factors, sums)) return SumEvidence::recorded_to_32;
  if (sums == SumType::f16) return gpu == TensorCore::ada ? SumEvidence::recorded : SumEvidence::model;
  return hopper ? SumEvidence::recorded_without_c : SumEvidence::recorded;
}

[[noreturn]] void refuse_name(const char* what, std::string_view text, const std::string& expected) {
  throw std::invalid_argument(std::string(what) + " " + in_quotes(text) + " is unknown: expected " + expected);
}

}  // namespace

TensorCore parse_tensor_core(std::string_view text) {
  const auto* const found = std::ranges::find(tensor_core_texts, text, &TensorCoreText::name);
  if (found == tensor_core_texts.end()) refuse_name("GPU", text, listed(tensor_core_texts, " or ", &TensorCoreText::name));
  return static_cast<TensorCore>(found - tensor_core_texts.begin());
}

Accumulator parse_accumulator(std::string_view text) {
  if (const std::optional<Accumulator> found = accumulator_names.value_of(text)) return *found;
  refuse_name("accumulator", text, listed(accumulator_names));
}

SumType parse_sum_type(std::string_view text) {
  if (const std::optional<SumType> found = sum_type_names.value_of(text)) return *found;
  refuse_name("type of sums", text, listed(sum_type_names));
}

std::string why_no_tensor_core(TensorCore gpu, const Format& factors, SumType sums) {
  const std::string gpu_name(name(gpu)), format = name(factors), elsewhere = gpus_with(factors);
  if (elsewhere.empty())
    return "tensor cores multiply no " + format + " here, expected " + formats_that([](const Format&) { return true; });
  if (block_length(gpu, factors) == 0)
    return gpu_name + " multiplies no " + format + ", expected " +
           formats_that([&](const Format& f) { return block_length(gpu, f) > 0; }) + ", or for " + format + " " + elsewhere;
  if (sums == SumType::f16 && !has_fp16_sums(factors))
    return gpu_name + " adds products of " + format + " in f32 alone, expected f32, or for f16 products of " +
           formats_that([&](const Format& f) { return block_length(gpu, f) > 0 && has_fp16_sums(f); });
  return "";
}

TensorCoreRule tensor_core_rule(TensorCore gpu, const Format& factors, SumType sums) {
  if (const std::string why = why_no_tensor_core(gpu, factors, sums); !why.empty()) throw std::invalid_argument(why);
  const Row& row = row_of(gpu);
  const bool fp8 = is_fp8(factors);
  TensorCoreRule rule{.factors = factors,
                      .block = block_length(gpu, factors),
                      .aligned_bits = fp8 ? row.aligned_bits_of_fp8 : row.aligned_bits,
                      .evidence = evidence_of(gpu, factors, sums)};
  if (sums == SumType::f16) {
    rule.rounding = SumRounding::fp16_nearest_even;
    if (adds_halves(gpu, factors, sums)) {
      rule.carry = CarryPlace::after_the_halves;
      rule.aligned_bits = row.aligned_bits;
    }
  } else if (fp8) {
    rule.rounding = row.rounding_of_fp8;
    if (gpu == TensorCore::b200) rule.carry = CarryPlace::after_the_block;
  }
  return rule;
}

std::string_view text(SumRounding r) {
  constexpr EnumArray<SumRounding> texts{"towards zero to fp32", "towards zero to e8m13", "to nearest even in fp16"};
  return texts[r];
}

std::string_view text(CarryPlace c) {
  constexpr EnumArray<CarryPlace> texts{"in the block", "after the block, in fp32 to nearest even",
                                        "after both halves of the block, in fp16 to nearest even"};
  return texts[c];
}

std::string rule_text(const TensorCoreRule& r) {
  const std::string carry = r.carry == CarryPlace::in_the_block ? "" : ", c " + std::string(text(r.carry));
  const std::string halves = r.carry == CarryPlace::after_the_halves ? " in halves" : "";
  return "blocks of " + std::to_string(r.block) + halves + ", " + std::to_string(r.aligned_bits) + " bits, " +
         std::string(text(r.rounding)) + carry + "; " + std::string(text(r.evidence));
}

std::string_view text(SumEvidence e) {
  constexpr EnumArray<SumEvidence> texts{"recorded", "recorded for K up to 32; beyond, model, not recorded",
                                         "recorded for K up to 4; beyond, model, not recorded",
                                         "recorded for c = 0; with another c, model, not recorded", "model, not recorded"};
  return texts[e];
}

}  // namespace attoscope
