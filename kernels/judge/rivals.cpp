#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/tolerance.h"

namespace attoscope {
namespace {

/// Tile size and summation order of a rival.
struct Schedule {
  const char* text;
  int tile;
  SumOrder order;
  bool reversed;
};
constexpr Schedule schedules[]{{"tiles of 64", 64, SumOrder::sequential, false},
                               {"tiles of 128, sums in eight chains", 128, SumOrder::interleaved, false},
                               {"tiles of 32, last key first", 32, SumOrder::sequential, true},
                               {"tiles of 16, sums in pairs", 16, SumOrder::pairwise, false}};

Method scheduled(Method m, const Schedule& s) {
  m.block_q = m.block_k = s.tile;
  m.order = s.order;
  m.reverse_keys = s.reversed;
  return m;
}

Method named(const char* policy_name, Algorithm algorithm) {
  return {.algorithm = algorithm, .precision = policy(policy_name).precision};
}

bool has_tensor_cores(const Format& f) { return f == fp16 || f == bf16 || f == e4m3 || f == e5m2; }

/// Kernels that keep scores, max and sums in fp32 and round P, or nothing. If P's rounding hides the order of fp32 sums,
/// sequential sums forwards and backwards and a tensor core's sums are enough; the other orders would take half of the time.
std::vector<Rival> with_fp32_softmax(const Format& format) {
  std::vector<Rival> all;
  const bool orders_show = significand_bits(format) > 16;
  const Method hw = named("hw", Algorithm::flash2);
  for (const Schedule& s : schedules) {
    all.push_back({std::string("hw, ") + s.text, scheduled(hw, s)});
    if (s.order == SumOrder::sequential || orders_show) continue;
    all.back().name = "hw, tiles of " + std::to_string(s.tile);
    all.back().method.order = SumOrder::sequential;
  }
  all[1].method.exponential = ExponentialKind::exp2;
  all[1].name += ", exp2";
  all.push_back({"hw with a stale max (FlashAttention-4)", scheduled(named("hw", Algorithm::flash4), schedules[0])});
  all.back().method.tau = usual_tau(format);
  all.push_back({"hw over 4 splits", scheduled(named("hw", Algorithm::split_kv), schedules[2])});
  all.back().method.splits = 4;
  all.back().method.reverse_keys = false;
  Method paired = named("base_hw", Algorithm::three_pass);
  all.push_back({"base_hw", paired});
  paired.order = SumOrder::pairwise;
  if (orders_show) all.push_back({"base_hw, sums in pairs", paired});
  all.push_back({"base_floor", named("base_floor", Algorithm::three_pass)});
  if (!has_tensor_cores(format)) return all;
  all.push_back({"hw, sums of an H100", hw});
  all.back().method.accumulator = {Accumulator::h100, Accumulator::h100};
  return all;
}

std::vector<Rival> as_declared(const Method& declared) {
  std::vector<Rival> all{{"as declared", declared}};
  if (is_tensor_core(declared.accumulator.qk)) return all;
  for (const Schedule& s : schedules) all.push_back({std::string("as declared, ") + s.text, scheduled(declared, s)});
  return all;
}

}  // namespace

bool is_slow(const Rival& rival, const KernelClaim& claim) {
  return !claim.declared && is_tensor_core(rival.method.accumulator.qk);
}

std::string stored_text(const KernelClaim& claim) {
  if (!claim.scale) return name(claim.stored);
  return (claim.whole ? "int8" : name(claim.stored)) + " with a scale";
}

std::vector<Rival> rivals_of(const KernelClaim& claim, const Problem& problem) {
  std::vector<Rival> all = claim.declared ? as_declared(*claim.declared) : with_fp32_softmax(claim.format);
  for (Rival& r : all) {
    r.method.precision[Step::input] = exact;
    r.method.precision[Step::output] = exact;
    r.method.block_q = std::min(r.method.block_k, problem.n);
    r.method.block_k = std::min(r.method.block_k, key_count(problem));
  }
  return all;
}

}  // namespace attoscope
