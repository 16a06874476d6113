// Mistakes in numbers: ALiBi, scale, sink, soft cap, scales of FP8.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/questions/planted_loop.h"

namespace attoscope::planted {

std::vector<PlantedFault> faults_of_numbers() {
  const auto scaled = [](double factor) {
    return loop([factor](Loop& x, const Call&) { x.S = [&x, factor](int i, int j) { return factor * x.right_S(i, j); }; });
  };
  const auto sink_of = [](double sink) { return loop([sink](Loop& x, const Call&) { x.p.sink = sink; }); };
  const auto has_sink = [](Call& call) { call.p.sink = 2; };
  const auto has_slope = [](Call& call) { call.p.alibi = 0.0625; };
  const Format e4m3_ = e4m3;
  return {
      {"ALiBi missing", "missing ALiBi", "", call_of(masked_by(causal), has_slope),
       loop([](Loop& x, const Call&) { x.p.alibi = 0; })},
      {"ALiBi slope of another head", "slope of 0.125", "", call_of(masked_by(causal), has_slope),
       loop([](Loop& x, const Call&) { x.p.alibi = 0.125; })},
      {"K's FP8 scale twice", "scores were multiplied|scale", "", call_of(one_head), scaled(1.625)},
      {"K's and V's FP8 scales exchanged", "scores were multiplied by .*(output|O)|K's and V's", "", call_of(one_head),
       loop([](Loop& x, const Call&) {
         x.S = [&x](int i, int j) { return 1.3 * x.right_S(i, j); };
         x.value = [&x](int, int j, int c) { return x.t.v[at(j * x.t.d_v + c)] / 1.3; };
       })},
      {"V's FP8 scale forgotten", "output .* times golden|V's scale", "", call_of(one_head),
       written([](Values& o, const Call&) { std::ranges::for_each(o, [](double& x) { x *= 3.5; }); })},
      {"FP8 scale of K of another head", "scores were multiplied", "", call_of(masked_by(causal)), scaled(1.3)},
      {"FP8 scale of V of another head", "output .* times golden", "", call_of(masked_by(causal)),
       written([](Values& o, const Call&) { std::ranges::for_each(o, [](double& x) { x *= 0.8; }); })},
      {"MLA's scale", "1/sqrt\\((d_v|64)\\)", "", call_of({.d = 96, .d_v = 64}), scaled(std::sqrt(96.0 / 64))},
      {"scale 5 % too large", "scores were multiplied by 0.13", "", call_of(one_head), scaled(1.05)},
      {"log2 e in bf16", "log2 e", "", call_of({.f = fp16, .deviation = 2}), scaled(1.4453125 / std::numbers::log2e)},
      {"sink scaled", "a sink of 0.25", "", call_of(masked_by(causal), has_sink), sink_of(0.25)},
      {"sink times log2 e", "a sink of 2.88", "", call_of(masked_by(causal), has_sink), sink_of(2 * std::numbers::log2e)},
      {"sink of another head", "a sink of 0.7", "", call_of(masked_by(causal), has_sink), sink_of(0.7)},
      {"sink in each of 4 splits", "sink .*4 (times|splits)", "", call_of(masked_by(causal), has_sink),
       sink_of(2 + std::log(4.0))},
      {"scores clamped at 1.5", "(clamped|at most|cut) .*1.5", "", call_of(one_head),
       loop([](Loop& x, const Call&) { x.S = [&x](int i, int j) { return std::min(1.5, x.right_S(i, j)); }; })},
      {"FP8 P saturated", "P .*(saturat|clamp|at most)", "", call_of({.f = e4m3_}),
       loop([](Loop& x, const Call&) { x.in_O = [](int, int, double e) { return std::min(e, 0.4375); }; })},
      {"a soft cap where none is wanted", "soft cap of 3, where none", "", call_of(one_head),
       loop([](Loop& x, const Call&) { x.S = [&x](int i, int j) { return 3 * std::tanh(x.right_S(i, j) / 3); }; })},
      {"soft cap of 30 after the mask", "", "", call_of(masked_by(causal), [](Call& call) { call.p.softcap = 30; }),
       loop([](Loop& x, const Call&) {
         x.sees = [](int, int) { return true; };
         x.S = [&x](int i, int j) { return x.right_sees(i, j) ? x.right_S(i, j) : -30.0; };
       }),
       false},
      {"soft cap of 5 after the mask", "soft cap .*mask|hidden keys", "",
       call_of(masked_by(causal), [](Call& call) { call.p.softcap = 5; }), loop([](Loop& x, const Call&) {
         x.sees = [](int, int) { return true; };
         x.S = [&x](int i, int j) { return x.right_sees(i, j) ? x.right_S(i, j) : -5.0; };
       })},
      {"per-token FP8 scales of the neighbour, K", "(scale|scores) .*key|key.* (scale|scores)", "", call_of(one_head),
       loop([](Loop& x, const Call&) {
         for (int j = 0; j < x.t.n_k; ++j)
           for (int c = 0; c < x.t.d; ++c) x.t.k[at(j * x.t.d + c)] *= 1 + 0.1 * ((j * 7 + 3) % 5 - 2);
       })},
      {"per-token FP8 scales ignored, K", "(scale|scores) .*key|key.* (scale|scores)", "", call_of(one_head),
       loop([](Loop& x, const Call&) {
         for (int j = 0; j < x.t.n_k; ++j)
           for (int c = 0; c < x.t.d; ++c) x.t.k[at(j * x.t.d + c)] *= std::exp2(((j * 5 + 1) % 7 - 3) / 6.0);
       })},
      {"per-token FP8 scales of the neighbour, V", "(scale|value) .*key|key.* (scale|value|count)", "", call_of(one_head),
       loop([](Loop& x, const Call&) {
         x.value = [&x](int, int j, int c) { return x.t.v[at(j * x.t.d_v + c)] * (1 + 0.1 * ((j * 7 + 3) % 5 - 2)); };
       })},
      {"a 0/1 mask added to the scores", "mask .*added|added .*mask", "", call_of(masked_by(causal)),
       loop([](Loop& x, const Call&) {
         x.sees = [](int, int) { return true; };
         x.S = [&x](int i, int j) { return x.right_S(i, j) + (x.right_sees(i, j) ? 1 : 0); };
       })},
  };
}

}  // namespace attoscope::planted
