/// The fields of an experiment with their ranges, listed once: `validate`, session files and the command line read this.
#pragma once

#include <climits>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernels/experiment/experiment_parameters.h"

namespace attoscope {

bool contains(const RealRange& range, double x);

/// "a number from 0 to 64", "a whole number from 1 to 1024": the expected value in a message.
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

/// Shows a number to a visitor by the name and the range of its parameter.
template <class V, class T>
void visit_whole(V& v, const ExperimentParameter& p, T& x) {
  using Whole = std::remove_const_t<T>;
  v.integer(field_of(p), x, static_cast<Whole>(p.range.min), static_cast<Whole>(p.range.max));
}
template <class V, class T>
void visit_real(V& v, const ExperimentParameter& p, T& x) {
  v.real(field_of(p), x, p.range);
}

/// A visitor V has: integer(key, x, min, max), real(key, x, range), optional_real(key, x, range), flag(key, x), text(key, x),
/// hex(key, x), choice(key, x, names), format(key, x), rounding(key, x), scaling(key, x), policy(key, precision), object(key,
/// function). The second parameter is the value or, for a visitor that only looks, the const value.
template <class V, class I>
void visit_input(V& v, I& input) {
  v.choice("kind", input.kind, input_names);
  visit_real(v, parameter("value"), input.value);
  v.text("file", input.file);
  visit_whole(v, parameter("head"), input.index);
  v.hex("digest", input.digest);
}

template <class V, class M>
void visit_mask(V& v, M& mask) {
  v.choice("kind", mask.kind, mask_names);
  visit_whole(v, parameter("window"), mask.window);
  v.flag("top_left", mask.top_left);
}

template <class V, class P>
void visit_problem(V& v, P& problem) {
  v.object("input", [&](auto& inner) { visit_input(inner, problem.input); });
  v.integer("seed", problem.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  visit_whole(v, parameter("n"), problem.n);
  visit_whole(v, parameter("n_k"), problem.n_k);
  visit_whole(v, parameter("d"), problem.d);
  visit_whole(v, parameter("d_v"), problem.d_v);
  visit_real(v, parameter("scale"), problem.scale);
  v.object("mask", [&](auto& inner) { visit_mask(inner, problem.mask); });
  v.optional_real("sink", problem.sink, parameter("sink").range);
  visit_real(v, parameter("softcap"), problem.softcap);
  visit_real(v, parameter("alibi"), problem.alibi);
  visit_whole(v, parameter("rows"), problem.rows);
  visit_whole(v, parameter("traced_row"), problem.traced_row);
}

template <class V, class P>
void visit_precision(V& v, P& precision) {
  for (int i = 0; i < step_count; ++i) v.rounding(name(static_cast<Step>(i)), precision[static_cast<Step>(i)]);
  v.flag("sum_rounded_P", precision.sum_rounded_P);
  v.flag("accumulate_in_O", precision.accumulate_in_O);
}

template <class V, class S>
void visit_scalings(V& v, S& s) {
  v.scaling("Q", s.Q);
  v.scaling("K", s.K);
  v.scaling("V", s.V);
  v.scaling("P", s.P);
  v.flag("hadamard", s.hadamard);
  v.flag("smooth_K", s.smooth_K);
  visit_whole(v, parameter("scaling.smooth_Q"), s.smooth_Q);
  v.flag("smooth_V", s.smooth_V);
  v.rounding("smoothed", s.smoothed);
}

template <class V, class M>
void visit_method(V& v, M& method) {
  v.choice("algorithm", method.algorithm, algorithm_names);
  visit_whole(v, parameter("block_q"), method.block_q);
  visit_whole(v, parameter("block_k"), method.block_k);
  visit_whole(v, parameter("splits"), method.splits);
  visit_real(v, parameter("tau"), method.tau);
  visit_real(v, parameter("tie_beta"), method.tie_beta);
  v.choice("exponential", method.exponential, exponential_names);
  visit_whole(v, parameter("exp2_degree"), method.exp2_degree);
  visit_whole(v, parameter("p_exponent"), method.p_exponent);
  v.flag("kahan_l", method.kahan_l);
  v.choice("order", method.order, sum_order_names);
  visit_whole(v, parameter("sum_lanes"), method.sum_lanes);
  v.flag("reverse_keys", method.reverse_keys);
  v.object("accumulator", [&](auto& inner) {
    inner.choice("qk", method.accumulator.qk, accumulator_names);
    inner.choice("pv", method.accumulator.pv, accumulator_names);
  });
  visit_whole(v, parameter("flush"), method.flush);
  v.object("scaling", [&](auto& inner) { visit_scalings(inner, method.scaling); });
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
