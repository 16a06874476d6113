// Mistakes in the loop over tiles: rescaling, exp, formats of l, P and O.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/questions/planted_loop.h"

namespace attoscope::planted {
namespace {

/// Softmax of whole rows with weights in `weight`; rounds scores and weights to `eager` before, if given.
auto softmax_of_rows(const Format& weight, const std::optional<Format>& eager) {
  const auto first = [eager](double x) { return eager ? round(*eager, x) : x; };
  return loop([=](Loop& x, const Call&) {
    x.tile = x.t.n_k;
    x.S = [&x, first](int i, int j) { return first(x.right_S(i, j)); };
    x.round_P = [](double e) { return e; };
    x.in_O = [&x, weight, first, row = -1, l = 0.0](int i, int, double e) mutable {
      double m = -std::numeric_limits<double>::infinity();
      for (int k = 0; row != i && k < x.t.n_k; ++k) m = std::max(m, x.S(i, k));
      if (row != i) l = 0;
      for (int k = 0; row != i && k < x.t.n_k; ++k) l += std::exp(x.S(i, k) - m);
      row = i;
      return l * round(weight, first(e / l));
    };
  });
}

}  // namespace

std::vector<PlantedFault> faults_of_loops() {
  const auto splits = [](int boundary, double power) {  // a prefix and a suffix, merged by exp(power LSE)
    return [=](const Call& call) { return merged({call.own(), call.p}, boundary, power, call.f); };
  };
  const auto skipping = [](const std::function<bool(int tile, double alpha)>& skips) {
    return loop([skips](Loop& x, const Call&) {
      x.alpha_of_O = x.alpha_of_l = [skips](int, int tile, double alpha) { return skips(tile, alpha) ? 1 : alpha; };
    });
  };
  const auto exponential = [](const std::function<double(double)>& of) {
    return loop([of](Loop& x, const Call&) { x.tile = 1024, x.exp = [of](double y) { return of(y * std::numbers::log2e); }; });
  };
  const auto polynomial = [](Values a) {
    return [a](double x) {
      const double whole = std::floor(x);
      double y = 0, power = 1;
      for (const double b : a) y += b * power, power *= x - whole;
      return std::ldexp(y, static_cast<int>(whole));
    };
  };
  const auto rounds = [](const Format& of_l, const Format& of_O) {
    return loop([of_l, of_O](Loop& x, const Call&) {
      x.tile = 16;
      x.round_l = [of_l](double y) { return round(of_l, y); };
      x.round_O = [of_O](double y) { return round(of_O, y); };
    });
  };
  return {
      {"LSE bases of a suffix", "base-(2|e) log-sum-exp", "", call_of(one_head), splits(208, std::numbers::log2e)},
      {"LSE bases of two splits", "base-(2|e) log-sum-exp", "", call_of(one_head), splits(120, std::numbers::ln2)},
      {"NaN of empty splits", "(split|part).*no key|no key.*(split|part)", "0 to 1", call_of(masked_by(causal)),
       written([](Values& o, const Call&) { std::fill_n(o.begin(), 180 * 64, std::nan("")); })},
      {"last rescale missing", "(last tile|last rescal|last .*alpha)", "", call_of({.deviation = 2}),
       loop(
           [](Loop& x, const Call&) { x.alpha_of_O = [](int t, int tile, double a) { return tile == 3 ? t * 0.0 + 1 : a; }; })},
      {"conditional rescale that corrects nothing", "rescale.*(small|less|grow)", "", call_of({.deviation = 3}),
       skipping([](int, double alpha) { return alpha > 0.25; })},
      {"neither O nor l rescaled", "neither O nor l rescaled", "", call_of({.deviation = 2}),
       skipping([](int, double) { return true; })},
      {"only the last tile is kept", "last tile counts|alpha is 0", "", call_of({.deviation = 2}),
       loop([](Loop& x, const Call&) { x.alpha_of_O = x.alpha_of_l = [](int, int, double) { return 0.0; }; })},
      {"alpha of the neighbour row", "alpha .*(row|neighbour)", "", call_of({.deviation = 2}), loop([](Loop& x, const Call&) {
         x.alpha_of_O = [&x](int i, int tile, double a) {
           const auto top = [&](int end) {
             double m = -infinity;
             for (int j = 0; j < std::min(end, x.t.n_k); ++j) m = std::max(m, x.right_S(i ^ 1, j));
             return m;
           };
           return tile == 0 ? a : std::exp(top(tile * 64) - top(tile * 64 + 64));
         };
       })},
      {"l of the neighbour row", "l .*(another|neighbour|row)", "", call_of(one_head), loop([](Loop& x, const Call&) {
         x.sum = [&x](int i, double, double m) {
           double l = 0, top = -infinity;
           for (int j = 0; j < x.t.n_k; ++j) top = std::max(top, x.right_S(i ^ 1, j));
           for (int j = 0; j < x.t.n_k; ++j) l += std::exp(x.right_S(i ^ 1, j) - top);
           return l + 0 * m;
         };
       })},
      {"l of a quarter of the lanes", "(l |multiple|factor|times)", "", call_of(one_head),
       loop([](Loop& x, const Call&) { x.in_l = [](int, int j, double e) { return j % 4 == 0 ? e : 0; }; })},
      {"accumulator not set to 0", "accumulator", "", call_of(one_head), loop([](Loop& x, const Call&) {
         x.first_O = 4;
         x.alpha_of_O = [](int, int, double a) { return a; };
       })},
      {"exp by Schraudolph's bits", "exp", "", call_of(one_head), exponential(polynomial({1 - 0.0436, 1}))},
      {"exp2 of degree 1", "exp.*(degree 1|linear)", "", call_of(one_head), exponential(polynomial({1, 1}))},
      {"exp2 of degree 2", "exp.*degree 2", "", call_of({.f = fp16}), exponential(polynomial({1, 0.6565, 0.3435}))},
      {"exp 3 % off", "exp", "", call_of(one_head),
       exponential([](double x) { return std::exp2(x) * (1 + 0.03 * std::sin(2 * std::numbers::pi * x)); })},
      {"O accumulated in bf16", "O .*bf16|bf16 .*O", "", call_of(one_head), rounds(fp64, bf16)},
      {"O accumulated in fp16", "O .*fp16|fp16 .*O", "", call_of({.f = fp16}), rounds(fp64, fp16)},
      {"l in bf16", "\\bl .*bf16", "", call_of(one_head), rounds(bf16, fp64)},
      {"l in fp16, each addition", "\\bl is wrong|\\bl .*fp16", "", call_of({.f = fp16}), loop([](Loop& x, const Call&) {
         x.tile = 1;
         x.round_l = [](double y) { return round(fp16, y); };
       })},
      {"P in e4m3", "P .*e4m3", "", call_of(one_head),
       loop([](Loop& x, const Call&) { x.round_P = [](double e) { return round(e4m3, e); }; })},
      {"P in e5m2", "P .*e5m2", "", call_of(one_head),
       loop([](Loop& x, const Call&) { x.round_P = [](double e) { return round(e5m2, e); }; })},
      {"weights of softmax in e4m3", "softmax's weights .*e4m3", "", call_of(one_head), softmax_of_rows(e4m3, {})},
      {"weights of eager attention in e4m3", "softmax's weights .*e4m3", "", call_of(one_head), softmax_of_rows(e4m3, bf16)},
      {"P in bf16 where D is fp16", "P .*bf16", "", call_of({.f = fp16}),
       loop([](Loop& x, const Call&) { x.round_P = [](double e) { return round(bf16, e); }; })},
      {"scores in e5m2", "(S|scores) .*e5m2", "", call_of(one_head),
       loop([](Loop& x, const Call&) { x.S = [&x](int i, int j) { return round(e5m2, x.right_S(i, j)); }; })},
      {"max over half the keys", "", "", call_of(one_head), loop([](Loop&, const Call&) {}), false},
  };
}

}  // namespace attoscope::planted
