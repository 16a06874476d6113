#include "kernels/train/plan/plan_settings.h"
#include "ui/session/settings.h"

namespace attoscope::ui {

static Settings settings(CellRect& rect) {
  constexpr RealRange far{.min = -4.0 * max_n, .max = 4.0 * max_n};
  return {{"row0", &rect.row0, far}, {"col0", &rect.col0, far}, {"row1", &rect.row1, far}, {"col1", &rect.col1, far}};
}

static Settings settings(TileRange& tiles) { return {{"from", &tiles.from, {-0.5, max_n}}, {"to", &tiles.to, {-0.5, max_n}}}; }

static Settings settings(PanelSizes& panels) {
  constexpr RealRange pixels{.min = 64, .max = 8192};
  return {{"left", &panels.left, pixels},
          {"right", &panels.right, pixels},
          {"bottom", &panels.bottom, pixels},
          {"pins", &panels.pins, pixels}};
}

constexpr static RealRange above_zero{.min = 0, .above_min = true};

static Settings settings(Look& look) {
  return {{"zoom", settings(look.zoom)}, {"range_pinned", &look.range_pinned}, {"range", &look.range, above_zero}};
}

static Settings settings(FigureChoice& choice) {
  return {{"as", named(choice.as, export_as_names)},
          {"two_columns", &choice.two_columns},
          {"slide", &choice.slide},
          {"font", &choice.font},
          {"font_size", &choice.font_size, {0, 72}},
          {"zip", &choice.zip},
          {"shown_tiles", &choice.shown_tiles}};
}

Settings settings(FigureSettings& figure) {
  return {{"policy", &figure.policy},
          {"all_policies", &figure.all_policies},
          {"n", &figure.n, {1, most_figure_n}},
          {"d", &figure.d, {1, max_d}},
          {"seeds", &figure.seeds, {1, most_figure_seeds}}};
}

static NamedValue named(Field& field) {
  static const auto names = [] {
    std::array<std::string_view, field_count> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = field_texts[i].name;
    return all;
  }();
  return named(field, names);
}

static Settings settings(View& view) {
  static constexpr EnumArray<ValueScale> value_scale_names{"linear", "log"};
  return {{"field", named(view.field)},
          {"scale", named(view.scale, value_scale_names)},
          {"range_pinned", &view.range_pinned},
          {"range", &view.range, above_zero},
          {"show_tiles", &view.show_tiles},
          {"zoom", settings(view.zoom)},
          {"cell_row", &view.cell_row, {-1, max_n - 1}},
          {"cell_col", &view.cell_col, {-1, max_d - 1}},
          {"scrubbed_tile", &view.scrubbed_tile, {-1, max_n - 1}},
          {"tiles", settings(view.tiles)},
          {"square_tiles", &view.square_tiles},
          {"theme", named(view.theme, theme_names)},
          {"ui_scale", &view.ui_scale, {min_ui_scale, max_ui_scale}},
          Setting{"reduced_motion", &view.reduced_motion}.kept_if(view.reduced_motion),
          {"picture", named(view.picture, picture_names)},
          {"comparison", named(view.comparison, comparison_names)},
          {"second_field", named(view.second_field)},
          {"second_slip", &view.second_slip},
          {"slip", &view.slip},
          {"swipe", &view.swipe, {0, 1}},
          {"rescale_show", named(view.rescale_show, rescale_names)},
          {"score_show", named(view.score_show, score_names)},
          {"pair_show", named(view.pair_show, pair_show_names)},
          {"tensor", named(view.tensor, answer_tensor_names)},
          {"traced_key", &view.traced_key, {-1, max_n - 1}},
          {"follows_key", &view.follows_key},
          {"follows_forward", &view.follows_forward},
          {"heads_show", named(view.heads_show, heads_show_names)},
          {"heads_range", named(view.heads_range, heads_range_names)},
          {"rescale_look", settings(view.rescale_look)},
          {"score_look", settings(view.score_look)},
          {"profiles", &view.profiles},
          {"show_sum", &view.show_sum},
          {"detail", named(view.detail, detail_names)},
          {"bits_show", named(view.bits_show, bits_show_names)},
          {"hidden_curves", &view.hidden_curves},
          {"on_chip_elements", &view.on_chip_elements, {1, 1 << 30}},
          {"machine", named(view.machine, machine_names)},
          {"workspace", named(view.workspace, workspace_names)},
          {"panels", settings(view.panels)},
          {"show_pins", &view.show_pins},
          Setting{"show_tensors", &view.show_tensors}.kept_if(view.show_tensors),
          Setting{"listed_file", &view.listed_file}.kept_if(!view.listed_file.empty()),
          {"welcome", &view.welcome},
          {"figure", settings(view.figure)},
          {"named_figure", settings(view.named_figure)}};
}

static Settings settings(TrainLook& look) {
  return {{"measure", named(look.measure, train_measure_names)},
          {"of_runs", named(look.of_runs, run_measure_names)},
          {"picture", named(look.picture, weight_picture_names)},
          {"relative", &look.relative},
          {"log_y", &look.log_y},
          {"log_runs", &look.log_runs},
          {"hidden", &look.hidden},
          {"hidden_runs", &look.hidden_runs},
          {"worst", &look.worst},
          {"pair", &look.pair, {0, 1000}},
          {"tensor", &look.tensor, {-1, 1000}},
          {"run", &look.run, {0, 1000}},
          {"layer", &look.layer, {0, max_layers - 1}},
          {"head", &look.head, {0, max_heads - 1}},
          {"sequence", &look.sequence, {0, max_batch - 1}},
          {"step", &look.step, {-1, max_train_steps}},
          {"seeds", &look.seeds, {1, max_train_seeds}}};
}

static Settings settings(ModelPlan& plan) {
  return {{"checkpoint", &plan.checkpoint},
          {"text", named(plan.text, model_text_names)},
          {"typed", &plan.typed},
          {"file", &plan.file},
          {"limit", &plan.limit, {0, most_model_tokens}},
          {"around", &plan.around},
          {"only", &plan.only},
          {"against", &plan.against},
          {"yardsticks", &plan.yardsticks}};
}

static Settings settings(Pin& pin) {
  constexpr RealRange error{.min = -1};
  return {{"name", &pin.name},
          {"experiment", settings(pin.experiment)},
          {"a_mean", &pin.a_mean, error},
          {"b_mean", &pin.b_mean, error},
          {"a_max", &pin.a_max, error},
          {"b_max", &pin.b_max, error},
          {"digest", HexValue{&pin.digest}},
          {"thumbnail", PixelsValue{&pin.thumbnail, pin_width * pin_height}}};
}

static Settings settings(VariedParameter& parameter) { return {{"key", &parameter.key}, {"values", &parameter.values}}; }

static Settings settings(SweepPlan& plan) {
  return {{"first", settings(plan.first)},
          {"second", settings(plan.second)},
          {"seeds", &plan.seeds, {1, most_plan_seeds}},
          {"over", named(plan.over, sweep_over_names)},
          {"window", &plan.window, {1, max_n}},
          {"measure", &plan.measure},
          {"subject", named(plan.subject, sweep_subject_names)},
          {"relation", named(plan.relation, sweep_relation_names)},
          {"spread", named(plan.spread, seed_spread_names)},
          {"log_x", &plan.log_x},
          {"log_y", &plan.log_y},
          {"heat_map", &plan.heat_map}};
}

static Settings settings(LessonParameter& change) { return {{"key", &change.key}, {"value", &change.value}}; }

static Settings settings(LessonViewEdits& view) {
  return {{"lesson", &view.lesson},
          {"view", &view.view, {0, max_lesson_views}},
          {"changes", list_of(view.changes, max_lesson_changes)}};
}

static Settings settings(LessonProgress& progress) {
  return {{"lesson", &progress.lesson}, {"steps_seen", &progress.steps_seen, {0, max_lesson_steps}}};
}

static Settings settings(LessonState& lesson) {
  return {{"name", &lesson.name},
          {"step", &lesson.step, {0, max_lesson_steps}},
          {"presenting", &lesson.presenting},
          {"views", list_of(lesson.views, max_lesson_views)},
          {"progress", list_of(lesson.progress, max_lesson_views)}};
}

static Settings settings(KernelGradients& files) { return {{"dq", &files.dq}, {"dk", &files.dk}, {"dv", &files.dv}}; }

Settings settings(Session& session) {
  return {{"experiment", settings(session.experiment)},
          {"view", settings(session.view)},
          Setting{"kernel_gradients", settings(session.kernel_gradients)}.kept_if(session.kernel_gradients.any()),
          {"device", &session.device},
          {"pins", list_of(session.pins, max_pins)},
          {"lesson", settings(session.lesson)},
          {"sweep", settings(session.sweep)},
          {"train", settings(session.train)},
          {"train_look", settings(session.train_look)},
          Setting{"model", settings(session.model)}.kept_if(session.model != ModelPlan())};
}

}  // namespace attoscope::ui
