/// The Train workspace and its panels.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/frame/train_answer.h"
#include "ui/picture/picture_frame.h"
#include "ui/train/series.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// The part of an earlier record that the present record abandoned.
struct TrainBranch {
  std::shared_ptr<const TrainRecord> record;
  int from = 0;       ///< the last step that both records share
  bool fork = false;  ///< true: a fork under another plan; false: a return to a kept step
  TrainDrawing drawing{};
};

/// The branches of the training on show, oldest first.
struct TrainBranches {
  static constexpr std::size_t most = 4;

  std::shared_ptr<const TrainRecord> seen;  ///< the newest record
  bool begins_anew = false;                 ///< the first step was requested: the next record is another training
  std::vector<TrainBranch> left;
};

/// Updates the branches for a new record. True if the record is another training's.
bool follow(TrainBranches& branches, const std::shared_ptr<const TrainRecord>& now);

struct TrainPanelState {
  TrainDrawing drawing;
  TrainBranches branches;
  CellPicture picture;  ///< picture of the weights
  /// The record, gap, look and steps of `picture`.
  std::tuple<std::shared_ptr<const TrainRecord>, std::shared_ptr<const WeightGap>, TrainLook, double, double> picture_of{};
  std::optional<int> pointed, pointing;  ///< the step under the mouse in the frame before, and in this one
  double zoom0 = 0, zoom1 = 0;           ///< the steps that are shown; both 0: all
  bool shows_numbers = false;            ///< numbers instead of the plan, in a narrow window
  bool shows_gradient = false;           ///< the steps of the backward pass
  std::string typed_format, typed_text, typed_checkpoint;
};

/// The data that a panel draws and changes.
struct TrainScene {
  Session& session;
  const PanelInput& input;
  TrainPanelState& state;
  Requests& requests;

  TrainPlan& plan() const { return session.train; }
  TrainLook& look() const { return session.train_look; }
  const TrainRecord* record() const { return input.train.record.get(); }
  const TrainProgress& progress() const { return input.train.progress; }
};

/// The plan: models, methods, recipe and text.
void draw_train_plan(const TrainScene& scene);
/// Draws the rows of both methods: format, algorithm, options, policies, the steps of the backward pass, exact heads.
void edit_train_methods(const TrainScene& scene, float width);
/// The part of the plan that `TrainProgress::wrong` is about.
enum class PlanPart { kind, methods, model, recipe, text };
PlanPart part_of(std::string_view wrong);
/// Draws `TrainProgress::wrong` if it is about this part.
void complain(const TrainScene& scene, PlanPart part, float width);

/// The common look of plots over steps: their shown steps, and room for numbers at the right.
PanelLook step_look(TrainPanelState& state, const char* id);
/// The measured step of the panel's first curve under the mouse, which a click selects; -1: there is none.
int point_at_step(const TrainScene& scene, const PanelMouse& mouse, const FigurePanel& panel);
/// Lines at the selected step and the one under the mouse, in the current plot.
void draw_picked(const TrainScene& scene);

/// The comparisons over steps.
void draw_train_deviation(const TrainScene& scene, const Box& box);
/// A number of each run over steps.
void draw_train_runs(const TrainScene& scene, const Box& box);
/// |dW| of a tensor as a picture.
void draw_train_picture(const TrainScene& scene, const Box& box);

/// The parts of the panel of numbers, at the picked step: seeds, suspects, replay, tensors, heads, and the way to Explore.
void draw_train_seeds(const TrainScene& scene, float height);
void draw_train_suspects(const TrainScene& scene, float height);
void draw_train_replay(const TrainScene& scene);
void draw_train_tensors(const TrainScene& scene, float height);
void draw_train_heads(const TrainScene& scene, float height);
void draw_train_explore(const TrainScene& scene);

/// The next action of the run button; none if it cannot be pressed.
TrainRequest::Act next_train_act(const TrainView& train);

/// Plan, curves, picture of the weights and numbers, between the bars.
void draw_train(const Frame& frame);

}  // namespace attoscope::ui
