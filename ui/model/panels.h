/// The Model workspace and its panels.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ui/frame/frame.h"
#include "ui/frame/model_answer.h"
#include "ui/picture/picture_frame.h"

namespace attoscope::ui {

/// Typed texts, and places under the mouse.
struct ModelPanelState {
  std::string typed_checkpoint, typed_file, typed_text, typed_only, typed_against;
  std::optional<std::size_t> chosen;  ///< place of the token that a click chose
  bool shows_numbers = false;         ///< numbers in place of the plan, in a narrow window
  std::shared_ptr<const ModelFound> seen{};
};

/// The data that a panel draws and changes.
struct ModelScene {
  Session& session;
  const PanelInput& input;
  ModelPanelState& state;
  Requests& requests;

  ModelPlan& plan() const { return session.model; }
  const ModelView& model() const { return input.model; }
  const ModelFound* found() const { return input.model.found.get(); }
  void ask(ModelRequest request) const { requests.model = request; }
};

/// Checkpoint, text, methods, surroundings.
void draw_model_plan(const ModelScene& scene);
/// The measures of all runs, as high as the table is.
void draw_model_runs(const ModelScene& scene, const Box& box);
/// The difference from the exact model after each layer.
void draw_model_growth(const ModelScene& scene, const Box& box);
/// Shares of layers, heads or steps, or all heads before they are asked for; a click opens a head's Q, K and V.
void draw_model_shares(const ModelScene& scene, const Box& box);
/// The text, coloured by |difference of log p| of a.
void draw_model_text(const ModelScene& scene, const Box& box);
/// The targets, those that move most first.
void draw_model_targets(const ModelScene& scene, const Box& box);

/// Next action of the run button; none while there is no model or no text.
ModelRequest::Act next_model_act(const ModelView& model);

/// Everything between the bars.
void draw_model(const Frame& frame);

}  // namespace attoscope::ui
