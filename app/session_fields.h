/// The fields of a session, listed once: the same list writes a file and reads it back.
#pragma once

#include <climits>
#include <limits>

#include "kernels/fields.h"
#include "ui/session.h"

namespace attoscope {

inline constexpr std::array<std::string_view, 2> value_scale_names{"linear", "log"};

/// A visitor V has: integer(key, x, min, max), real(key, x, min, max), flag(key, x), text(key, x), hex(key, x),
/// choice(key, x, names), format(key, x), rounding(key, x), policy(key, precision), object(key, function).
/// The second parameter is the value or, for a visitor that only looks, the const value.
template <class V, class I>
void visit_input(V& v, I& input) {
  v.choice("kind", input.kind, input_names);
  v.real("value", input.value, -std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
  v.text("file", input.file);
  v.integer("index", input.index, 0, INT_MAX);
  v.hex("digest", input.digest);
}

template <class V, class M>
void visit_mask(V& v, M& mask) {
  v.choice("kind", mask.kind, mask_names);
  v.integer("window", mask.window, 1, max_n);
}

template <class V, class P>
void visit_problem(V& v, P& problem) {
  v.object("input", [&](auto& inner) { visit_input(inner, problem.input); });
  v.integer("seed", problem.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  v.integer("n", problem.n, 1, max_n);
  v.integer("d", problem.d, 1, max_d);
  v.real("scale", problem.scale, 0.0, std::numeric_limits<double>::max());
  v.object("mask", [&](auto& inner) { visit_mask(inner, problem.mask); });
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
  v.integer("block_q", method.block_q, 1, max_n);
  v.integer("block_k", method.block_k, 1, max_n);
  v.policy("policy", method.precision);
  v.object("precision", [&](auto& inner) { visit_precision(inner, method.precision); });
}

template <class V, class E>
void visit_experiment(V& v, E& experiment) {
  v.object("problem", [&](auto& inner) { visit_problem(inner, experiment.problem); });
  v.format("format", experiment.format);
  v.object("a", [&](auto& inner) { visit_method(inner, experiment.a); });
  v.object("b", [&](auto& inner) { visit_method(inner, experiment.b); });
}

template <class V, class R>
void visit_rect(V& v, R& rect) {
  constexpr double far = 4.0 * max_n;
  v.real("row0", rect.row0, -far, far);
  v.real("col0", rect.col0, -far, far);
  v.real("row1", rect.row1, -far, far);
  v.real("col1", rect.col1, -far, far);
}

template <class V, class W>
void visit_view(V& v, W& view) {
  v.field("field", view.field);
  v.choice("scale", view.scale, value_scale_names);
  v.flag("range_pinned", view.range_pinned);
  v.real("range", view.range, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
  v.flag("show_tiles", view.show_tiles);
  v.object("zoom", [&](auto& inner) { visit_rect(inner, view.zoom); });
  v.integer("cell_row", view.cell_row, -1, max_n - 1);
  v.integer("cell_col", view.cell_col, -1, max_d - 1);
  v.integer("scrubbed_tile", view.scrubbed_tile, -1, max_n - 1);
  v.flag("square_tiles", view.square_tiles);
  v.flag("light", view.light);
  v.real("ui_scale", view.ui_scale, 0.5, 4);
}

template <class V, class S>
void visit_session(V& v, S& session) {
  v.object("experiment", [&](auto& inner) { visit_experiment(inner, session.experiment); });
  v.object("view", [&](auto& inner) { visit_view(inner, session.view); });
}

}  // namespace attoscope
