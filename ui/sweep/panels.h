/// The panels of the Sweep workspace.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/sweep_answer.h"
#include "ui/picture/colour_bar.h"
#include "ui/session/session.h"
#include "ui/sweep/sweep_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// All that a panel is drawn from.
struct SweepScene {
  Session& session;
  const PanelInput& input;
  SweepState& state;
  const Palette& colours;
  Requests& requests;

  SweepPlan& plan() const { return session.sweep; }
  const SweepView& sweep() const { return input.sweep; }
};

/// Ready-made plans, what is varied, over what, what is measured.
void draw_sweep_plan(const SweepScene& scene);
/// A plan that answers a question, for the experiment in Explore.
struct ReadyPlan {
  std::string_view name, title, sentence;
  std::string_view key, values, second_key, second_values;
  int seeds;
  std::string_view measure;
  SweepRelation relation;
  bool log_y, heat_map;
};

/// All of them.
std::span<const ReadyPlan> ready_plans();
/// The plan, with the spread shown as before.
SweepPlan plan_of(const ReadyPlan& ready, const SweepPlan& before);
/// A menu of them.
void ready_plans_button(const SweepScene& scene, float width);
/// A list of all parameters, found by typing; true if it changed the choice.
bool pick_parameter(const SweepScene& scene, const char* label, VariedParameter& varied, bool may_be_none, float width);

/// What the numbers say, and how far they are; buttons that run, pause and cancel.
void draw_sweep_head(const SweepScene& scene);
/// The picture that fits the plan, in the rest of the panel.
void draw_sweep_picture(const SweepScene& scene);
/// Each of the three in a box.
void draw_sweep_lines(const SweepScene& scene, const Box& box);
void draw_sweep_bars(const SweepScene& scene, const Box& box);
void draw_sweep_heat_map(const SweepScene& scene, const Box& box);
/// All combinations, one a line.
void draw_sweep_rows(const SweepScene& scene);

/// Makes the box sensitive to the mouse: it shows the numbers of the combination that is there, and a click opens it in
/// Explore.
void point_at(const SweepScene& scene, const std::optional<SweepPlace>& place, const Box& box);

/// Runs, pauses or resumes, whichever comes next; nothing where there is no plan.
SweepRequest next_request(const SweepProgress& progress);

}  // namespace attoscope
