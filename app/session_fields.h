/// The fields of a session beside its experiment's, listed once: the same list writes a file and reads it back.
#pragma once

#include "kernels/experiment_fields.h"
#include "kernels/fields.h"
#include "ui/session.h"

namespace attoscope {

inline constexpr std::array<std::string_view, 2> value_scale_names{"linear", "log"};

/// A visitor V has what kernels/experiment_fields.h says, and field(key, x).
template <class V, class R>
void visit_rect(V& v, R& rect) {
  constexpr RealRange far{.min = -4.0 * max_n, .max = 4.0 * max_n};
  v.real("row0", rect.row0, far);
  v.real("col0", rect.col0, far);
  v.real("row1", rect.row1, far);
  v.real("col1", rect.col1, far);
}

template <class V, class W>
void visit_view(V& v, W& view) {
  v.field("field", view.field);
  v.choice("scale", view.scale, value_scale_names);
  v.flag("range_pinned", view.range_pinned);
  v.real("range", view.range, RealRange{.min = 0, .above_min = true});
  v.flag("show_tiles", view.show_tiles);
  v.object("zoom", [&](auto& inner) { visit_rect(inner, view.zoom); });
  v.integer("cell_row", view.cell_row, -1, max_n - 1);
  v.integer("cell_col", view.cell_col, -1, max_d - 1);
  v.integer("scrubbed_tile", view.scrubbed_tile, -1, max_n - 1);
  v.flag("square_tiles", view.square_tiles);
  v.flag("light", view.light);
  v.real("ui_scale", view.ui_scale, RealRange{.min = 0.5, .max = 4});
}

template <class V, class S>
void visit_session(V& v, S& session) {
  v.object("experiment", [&](auto& inner) { visit_experiment(inner, session.experiment); });
  v.object("view", [&](auto& inner) { visit_view(inner, session.view); });
}

}  // namespace attoscope
