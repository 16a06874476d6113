/// The Model workspace and its panels.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ui/frame/frame.h"
#include "ui/frame/model_answer.h"
#include "ui/picture/picture_frame.h"

namespace attoscope::ui {

/// Typed texts, and the chosen token.
struct ModelPanelState {
  std::string typed_checkpoint, typed_file, typed_text, typed_only, typed_against;
  std::optional<std::size_t> chosen;  ///< index of the clicked token
  bool shows_numbers = false;         ///< narrow window: tokens instead of the plan
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
/// Table of the measures of all runs.
void draw_model_runs(const ModelScene& scene, const Box& box);
/// The difference from the exact model after each layer.
void draw_model_growth(const ModelScene& scene, const Box& box);
/// Shares of layers, heads or steps; before an attribution the grid of heads. A click opens a head's Q, K and V.
void draw_model_shares(const ModelScene& scene, const Box& box);
/// Largest share of a's colour behind a token.
inline constexpr float token_fill = 0.5f;
/// The text, coloured by |difference of log p| of a.
void draw_model_text(const ModelScene& scene, const Box& box);
/// Table of the targets, the most moved first.
void draw_model_targets(const ModelScene& scene, const Box& box);

/// "about 8 min"; empty: unknown.
std::string about_seconds(double seconds);
/// Action of the run button; none without a model or a text.
ModelRequest::Act next_model_act(const ModelView& model);

/// Draws the Model workspace between the bars.
void draw_model(const Frame& frame);

}  // namespace attoscope::ui
