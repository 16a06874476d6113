/// The panels of the Sweep workspace.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/experiment/table.h"
#include "ui/frame/frame.h"
#include "ui/frame/sweep_answer.h"
#include "ui/picture/picture_frame.h"
#include "ui/session/session.h"
#include "ui/sweep/series.h"

namespace attoscope::ui {

/// Drawing of the sweep, and typed texts.
struct SweepState {
  SweepDrawing drawing;
  CellPicture heat;  ///< one cell for each combination: the first parameter across, the second upwards
  std::shared_ptr<const SweepTable> heat_table;
  std::array<std::string, 2> typed, typed_from;  ///< typed values, and the plan's values that they began with
  Table rows;                                    ///< of all combinations
  std::shared_ptr<const SweepTable> rows_of;
  std::string search;
  VariedParameter zoomed;                       ///< the first parameter, whose axis is zoomed
  double zoom_from = 0, zoom_to = 0;            ///< the shown part of the first parameter's axis; both 0: all
  std::optional<SweepPlace> pointed, pointing;  ///< combination under the mouse in the last frame, and in this one
};

/// Parameters of all panels.
struct SweepScene {
  Session& session;
  const PanelInput& input;
  SweepState& state;
  Requests& requests;
  bool opens = true;  ///< a click on a combination opens it in Explore

  SweepPlan& plan() const { return session.sweep; }
  const SweepView& sweep() const { return input.sweep; }
};

/// Ready-made plans, varied parameters, measure.
void draw_sweep_plan(const SweepScene& scene);
/// A ready-made plan for the experiment in Explore.
struct ReadyPlan {
  std::string_view name, title, sentence;
  std::string_view key, values, second_key, second_values;
  int seeds;
  std::string_view measure;
  SweepRelation relation;
  bool log_y, heat_map;
};

/// All ready-made plans.
std::span<const ReadyPlan> ready_plans();
/// The plan, with the spread of the current one.
SweepPlan plan_of(const ReadyPlan& ready, const SweepPlan& before);
/// A button with a menu of the ready-made plans.
void ready_plans_button(const SweepScene& scene, float width);
/// A searchable list of all parameters; true if it changed the choice.
bool pick_parameter(const SweepScene& scene, const char* label, VariedParameter& varied, bool may_be_none, float width);

/// Result in words, progress, and buttons that run, pause and cancel.
void draw_sweep_header(const SweepScene& scene);
/// The picture of the plan, in the rest of the panel.
void draw_sweep_picture(const SweepScene& scene);
/// The two kinds of picture, each in a box.
void draw_sweep_lines(const SweepScene& scene, const Box& box);
void draw_sweep_heat_map(const SweepScene& scene, const Box& box);
/// All combinations, one line each.
void draw_sweep_rows(const SweepScene& scene);

/// Shows the numbers of the combination that the mouse is `over` within the box; a click opens it in Explore, where it may.
void point_at(const SweepScene& scene, const std::optional<SweepPlace>& place, bool over, bool clicked, const Box& box);

/// Next action of the run button; none without a valid plan.
SweepRequest next_request(const SweepProgress& progress);

/// Everything between the bars.
void draw_sweep(const Frame& frame);

}  // namespace attoscope::ui
