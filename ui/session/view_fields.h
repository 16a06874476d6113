/// Fields of a view, listed once, for session files and the command palette.
#pragma once

#include "kernels/deviation/fields.h"
#include "kernels/experiment/experiment_fields.h"
#include "ui/session/session.h"

namespace attoscope {

inline constexpr std::array<std::string_view, 2> value_scale_names{"linear", "log"};

/// Visits the fields. V has the functions listed in kernels/experiment/experiment_fields.h, and field(key, x).
template <class V, class R>
void visit_rect(V& v, R& rect) {
  constexpr RealRange far{.min = -4.0 * max_n, .max = 4.0 * max_n};
  v.real("row0", rect.row0, far);
  v.real("col0", rect.col0, far);
  v.real("row1", rect.row1, far);
  v.real("col1", rect.col1, far);
}

template <class V, class T>
void visit_tiles(V& v, T& tiles) {
  constexpr RealRange far{.min = -0.5, .max = max_n};
  v.real("from", tiles.from, far);
  v.real("to", tiles.to, far);
}

template <class V, class P>
void visit_panels(V& v, P& panels) {
  constexpr RealRange pixels{.min = 64, .max = 8192};
  v.real("left", panels.left, pixels);
  v.real("right", panels.right, pixels);
  v.real("bottom", panels.bottom, pixels);
  v.real("pins", panels.pins, pixels);
}

template <class V, class L>
void visit_look(V& v, L& look) {
  v.object("zoom", [&](auto& inner) { visit_rect(inner, look.zoom); });
  v.flag("range_pinned", look.range_pinned);
  v.real("range", look.range, RealRange{.min = 0, .above_min = true});
}

template <class V, class C>
void visit_figure_choice(V& v, C& choice) {
  v.choice("as", choice.as, export_as_names);
  v.flag("two_columns", choice.two_columns);
  v.flag("zip", choice.zip);
  v.flag("shown_tiles", choice.shown_tiles);
}

template <class V, class S>
void visit_figure_settings(V& v, S& settings) {
  v.text("policy", settings.policy);
  v.flag("all_policies", settings.all_policies);
  v.integer("n", settings.n, 1, most_figure_n);
  v.integer("d", settings.d, 1, max_d);
  v.integer("seeds", settings.seeds, 1, most_figure_seeds);
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
  v.object("tiles", [&](auto& inner) { visit_tiles(inner, view.tiles); });
  v.flag("square_tiles", view.square_tiles);
  v.choice("theme", view.theme, theme_names);
  v.real("ui_scale", view.ui_scale, RealRange{.min = 0.5, .max = 4});
  v.choice("picture", view.picture, picture_names);
  v.choice("comparison", view.comparison, comparison_names);
  v.field("second_field", view.second_field);
  v.flag("second_slip", view.second_slip);
  v.text("slip", view.slip);
  v.real("swipe", view.swipe, RealRange{.min = 0, .max = 1});
  v.choice("rescale_show", view.rescale_show, rescale_names);
  v.choice("score_show", view.score_show, score_names);
  v.choice("heads_show", view.heads_show, heads_show_names);
  v.object("rescale_look", [&](auto& inner) { visit_look(inner, view.rescale_look); });
  v.object("score_look", [&](auto& inner) { visit_look(inner, view.score_look); });
  v.flag("profiles", view.profiles);
  v.flag("show_sum", view.show_sum);
  v.choice("detail", view.detail, detail_names);
  v.choice("bits_show", view.bits_show, bits_show_names);
  v.integer("hidden_curves", view.hidden_curves, 0U, ~0U);
  v.integer("on_chip_elements", view.on_chip_elements, 1, 1 << 30);
  v.choice("machine", view.machine, machine_names);
  v.choice("workspace", view.workspace, workspace_names);
  v.object("panels", [&](auto& inner) { visit_panels(inner, view.panels); });
  v.flag("show_pins", view.show_pins);
  v.flag("welcome", view.welcome);
  v.object("figure", [&](auto& inner) { visit_figure_choice(inner, view.figure); });
  v.object("named_figure", [&](auto& inner) { visit_figure_settings(inner, view.named_figure); });
}

}  // namespace attoscope
