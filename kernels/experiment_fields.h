/// The fields of an experiment and what each may hold, listed once: `validate`, session files and the command line read this.
#pragma once

#include <climits>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>

#include "kernels/experiment.h"

namespace attoscope {

/// The numbers that a field may hold: min .. max, without min itself where `above_min`, and 0 where that has a meaning of its
/// own.
struct RealRange {
  double min = std::numeric_limits<double>::lowest(), max = std::numeric_limits<double>::max();
  bool above_min = false;
  std::string_view zero{};  ///< what 0 means: "off"; empty: nothing special
};
bool contains(const RealRange& range, double x);

/// "a number from 0 to 64", "a whole number from 1 to 1024": what a message says was expected.
std::string text(const RealRange& range);
template <std::integral T>
std::string whole_range_text(T min, T max) {
  return "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
}

/// "none, causal or window"
template <class Names>
std::string listed(const Names& names) {
  std::string text;
  const std::size_t count = std::size(names);
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : i + 1 == count ? " or " : ", ") + std::string(names[i]);
  return text;
}

/// A visitor V has: integer(key, x, min, max), real(key, x, range), optional_real(key, x, range), flag(key, x), text(key, x),
/// hex(key, x), choice(key, x, names), format(key, x), rounding(key, x), policy(key, precision), object(key, function).
/// The second parameter is the value or, for a visitor that only looks, the const value.
template <class V, class I>
void visit_input(V& v, I& input) {
  v.choice("kind", input.kind, input_names);
  v.real("value", input.value, RealRange{});
  v.text("file", input.file);
  v.integer("index", input.index, 0, INT_MAX);
  v.hex("digest", input.digest);
}

template <class V, class M>
void visit_mask(V& v, M& mask) {
  v.choice("kind", mask.kind, mask_names);
  v.integer("window", mask.window, 1, max_tile);
}

template <class V, class P>
void visit_problem(V& v, P& problem) {
  v.object("input", [&](auto& inner) { visit_input(inner, problem.input); });
  v.integer("seed", problem.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  v.integer("n", problem.n, 1, max_n);
  v.integer("d", problem.d, 1, max_d);
  v.real("scale", problem.scale, RealRange{.min = 0, .above_min = true, .zero = "1/sqrt(d)"});
  v.object("mask", [&](auto& inner) { visit_mask(inner, problem.mask); });
  v.optional_real("sink", problem.sink, RealRange{});
  v.real("softcap", problem.softcap, RealRange{.min = 0, .above_min = true, .zero = "off"});
  v.real("alibi", problem.alibi, RealRange{.min = -max_alibi, .max = max_alibi});
  v.integer("rows", problem.rows, 0, max_n);
  v.integer("traced_row", problem.traced_row, -max_n, max_n - 1);
}

template <class V, class P>
void visit_precision(V& v, P& precision) {
  for (int i = 0; i < step_count; ++i) v.rounding(name(static_cast<Step>(i)), precision[static_cast<Step>(i)]);
  v.flag("sum_rounded_P", precision.sum_rounded_P);
  v.flag("accumulate_in_O", precision.accumulate_in_O);
}

template <class V, class M>
void visit_method(V& v, M& method) {
  v.choice("algorithm", method.algorithm, algorithm_names);
  v.integer("block_q", method.block_q, 1, max_tile);
  v.integer("block_k", method.block_k, 1, max_tile);
  v.integer("splits", method.splits, 1, max_splits);
  v.real("tau", method.tau, RealRange{.min = 0, .max = max_tau});
  v.real("tie_beta", method.tie_beta, RealRange{.min = 1, .max = max_tie_beta, .above_min = true, .zero = "off"});
  v.choice("exponential", method.exponential, exponential_names);
  v.integer("exp2_degree", method.exp2_degree, 0, max_exp2_degree);
  v.integer("p_exponent", method.p_exponent, -max_p_exponent, max_p_exponent);
  v.flag("kahan_l", method.kahan_l);
  v.choice("order", method.order, sum_order_names);
  v.integer("sum_lanes", method.sum_lanes, 1, max_sum_lanes);
  v.flag("reverse_keys", method.reverse_keys);
  v.policy("policy", method.precision);
  v.object("precision", [&](auto& inner) { visit_precision(inner, method.precision); });
}

template <class V, class K>
void visit_kernel_output(V& v, K& loaded) {
  v.text("file", loaded.file);
  v.integer("index", loaded.index, 0, INT_MAX);
  v.hex("digest", loaded.digest);
}

template <class V, class E>
void visit_experiment(V& v, E& experiment) {
  v.object("problem", [&](auto& inner) { visit_problem(inner, experiment.problem); });
  v.format("format", experiment.format);
  v.object("a", [&](auto& inner) { visit_method(inner, experiment.a); });
  v.object("b", [&](auto& inner) { visit_method(inner, experiment.b); });
  v.object("loaded", [&](auto& inner) { visit_kernel_output(inner, experiment.loaded); });
}

}  // namespace attoscope
