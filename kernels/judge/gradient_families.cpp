#include <algorithm>
#include <cmath>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/gradient_group.h"

namespace attoscope {
namespace {

bool has_alibi(const Problem& p) { return p.alibi != 0; }
/// True if scores are not just q.k times the scale.
bool has_cap_or_bias(const Problem& p) { return p.softcap != 0 || p.alibi != 0; }
/// True if a product with the scale's root has a rounding error.
bool root_rounds(const Problem& p) {
  int unused = 0;
  const double root = std::sqrt(scale_of(p));
  return root > 0 && std::frexp(root, &unused) != 0.5;
}

/// A forward pass whose stored O gives delta.
Method forward_pass(const JudgedGradients& given, const char* policy_name, int tile) {
  const Policy& p = policy(policy_name);
  tile = std::min(tile, key_count(given.problem));
  Method m{.algorithm = p.algorithm, .block_q = tile, .block_k = tile, .precision = p.precision};
  m.precision[Step::input] = exact;
  m.precision[Step::output] = to_format(given.stored_o);
  return m;
}

GradMethod backward_pass(std::initializer_list<GradStep> steps, int block_q, int block_k, GradExponential exponential) {
  GradMethod g{.exponential = exponential, .block_q = block_q, .block_k = block_k};
  for (const GradStep s : steps) g.precision[s] = to_main;
  return g;
}

using enum GradStep;

/// FlashAttention-2 and 3, memory-efficient attention and FlexAttention.
std::vector<GradientFamily::Rival> fused_rivals(const JudgedGradients& given) {
  std::vector<GradientFamily::Rival> all;
  const auto hw = [&](int tile) { return forward_pass(given, "hw", tile); };
  all.push_back({"hw, tiles of 64", hw(64), backward_pass({P, dS}, 64, 64, GradExponential::natural)});
  GradMethod fa2 = backward_pass({P, dS}, 64, 128, GradExponential::exp2);
  fa2.order = GradOrder::shuffled;
  fa2.last_queries_first = true;
  all.push_back({"FlashAttention-2, dQ in any order", hw(128), fa2, true});
  GradMethod efficient = backward_pass({probability, P, dS}, 64, 64, GradExponential::natural);
  efficient.scale_at = ScaleAt::dS;
  all.push_back({"memory-efficient attention, P cast first", hw(64), efficient});
  GradMethod flex = backward_pass({P, dS}, 32, 32, GradExponential::exp2_twice);
  flex.order = GradOrder::descending;
  all.push_back({"FlexAttention, keys descending", hw(32), flex});
  all.push_back({"hw, tiles of 16", hw(16), backward_pass({P, dS}, 16, 16, GradExponential::exp2)});
  return all;
}

GradientFamily prescaled_family(const JudgedGradients& given) {
  GradientFamily f{{{"K times the scale and log2 e is rounded to " + name(given.format) + ", as in Triton's tutorial",
                     {given.format, given.stored_o}}}};
  GradMethod triton = backward_pass({scaled_K, P, dS}, 32, 128, GradExponential::natural);
  triton.scale_at = ScaleAt::K;
  f.rivals.push_back({"Triton's tutorial", forward_pass(given, "hw", 64), triton});
  triton.block_q = 128;
  triton.block_k = 32;
  f.rivals.push_back({"Triton's tutorial, other tiles", forward_pass(given, "hw", 32), triton});
  return f;
}

GradientFamily eager_family(const JudgedGradients& given) {
  const std::string to = "rounded to " + name(given.format);
  GradientRounding rounding{.format = given.format, .stored_o = given.stored_o, .stores_dP = true};
  const bool is_narrow = significand_bits(given.format) <= 16;
  const bool knows_scores = is_narrow && !given.any_head(has_cap_or_bias);
  if (knows_scores) rounding.stored.scores = given.format;
  GradientFamily f{{{"its scores, P, dP and dS are " + to + ", op by op", rounding}}};
  if (is_narrow && !knows_scores) {
    rounding.stored.scores = given.format;
    f.forms.push_back({"its scores before the soft cap and the bias, P, dP and dS are " + to + ", op by op", rounding});
  }
  rounding.stored.products = given.format;
  if (knows_scores)
    f.forms.push_back(
        {"its q.k, its scores, P, dP, dS and dS times the scale are " + to + ", as in PyTorch's eager attention", rounding});
  if (is_narrow && given.any_head(has_alibi)) {
    rounding.stored.biased = given.format;
    f.forms.push_back({"its q.k, its scores, also with ALiBi's bias, P, dP and dS are " + to + ", op by op", rounding});
    rounding.stored.biased.reset();
  }
  if (knows_scores) {
    GradientRounding each = rounding;
    each.stored.softmax = each.stored.divisor = given.format;
    f.forms.push_back({"its q.k, its scores, each operation of its softmax, P, dP and dS are " + to + ", as in JAX", each});
  }
  if (is_narrow && given.any_head(root_rounds)) {
    rounding.stored.products.reset();
    f.forms.push_back(
        {"its Q and K times the scale's root, scores, P, dP and dS are " + to + ", as in PyTorch's math attention", rounding,
         true});
  }
  GradMethod math = backward_pass({probability, P, dP, dS}, 64, 64, GradExponential::natural);
  math.precision.delta_from = DeltaFrom::probabilities;
  f.rivals.push_back({"autograd of attention op by op", forward_pass(given, "base_eager", 64), math, true});
  f.rivals.push_back({"op by op, delta from O", forward_pass(given, "base_eager", 64),
                      backward_pass({delta, probability, P, dP, centred, dS}, 64, 64, GradExponential::natural), true});
  GradMethod fused = backward_pass({dP, dS}, 64, 64, GradExponential::natural);
  fused.precision.delta_from = DeltaFrom::probabilities;
  f.rivals.push_back({"PyTorch's baseline", forward_pass(given, "base_eager", 64), fused, true});
  return f;
}

GradientFamily stored_tiles_family(const JudgedGradients& given) {
  GradientRounding rounding{.format = given.format, .stored_o = given.stored_o, .stores_tiles = true};
  GradientFamily f{
      {{"its dQ, dK and dV are rounded to " + name(given.format) + " after every tile, as in PyTorch's kernel for CPUs",
        rounding}}};
  if (!given.any_head(has_cap_or_bias)) {  // products of that kernel that a BLAS without bf16 and fp16 rounds
    const std::string as = "the scores and dP of its backward pass are rounded to " + name(given.format) +
                           ", and its dQ, dK and dV after every tile, as in PyTorch's kernel for CPUs with a generic BLAS";
    rounding.stores_dP = true;
    rounding.stored.scores = given.format;
    rounding.forward = StoredScores{};
    f.forms.push_back({as, rounding});
    rounding.forward->products = given.format;
    f.forms.push_back({"the q.k of its forward pass, " + as, rounding});
  }
  GradMethod cpu = backward_pass({P, dS, dq_sum}, 32, std::min(512, key_count(given.problem)), GradExponential::natural);
  cpu.scale_at = ScaleAt::dS;
  f.rivals.push_back({"PyTorch's kernel for CPUs", forward_pass(given, "hw", 512), cpu, false, true});
  return f;
}

}  // namespace

std::vector<GradientFamily> gradient_families(const JudgedGradients& given) {
  std::vector<GradientFamily> all{{.forms = {{"", {given.format, given.stored_o}}}, .rivals = fused_rivals(given)}};
  all.push_back(eager_family(given));
  if (significand_bits(given.format) <= 16) all.push_back(stored_tiles_family(given));
  if (!given.any_head(has_cap_or_bias)) all.push_back(prescaled_family(given));
  return all;
}

}  // namespace attoscope
