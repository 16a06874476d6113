// Blocks of queries times tiles of keys between HBM and the chip, moved by a slider.
#include <algorithm>

#include "ui/learn/views/plots.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr int farthest = 1 << 20;  ///< step that a session may name; beyond the end is the end

/// The tiles' sizes, as sliders.
void choose_tiles(LessonScene& scene) {
  const WithWidth half(std::min(scene.width, px(400)));
  const int n = scene.experiment.problem.n;
  int block_q = std::min(scene.experiment.a.block_q, n), block_k = std::min(scene.experiment.a.block_k, n);
  if (slider({"block_q", std::min(8, n), n, 1, n, true}, scene.colours, block_q))
    change(scene, "block_q", std::to_string(block_q));
  explain("Query rows of a block: how many share one reading of K and V.", "K, V read ceil(N / block_q) times");
  if (slider({"block_k", std::min(8, n), n, 1, n, true}, scene.colours, block_k))
    change(scene, "block_k", std::to_string(block_k));
  explain("Keys of a tile: how many scores of a row are on chip at once.", "T = ceil(N / block_k) tiles");
}

}  // namespace

std::string draw_loop_plot(LessonScene& scene, LoopState& state, float height) {
  std::string problem;
  const int wanted = whole_of(scene, "at", 0, 0, farthest, problem);
  if (!problem.empty()) return problem;
  refresh_loop(state.picture, scene.experiment, loop_order(scene.experiment.a.algorithm));
  if (!is_on_page(scene)) choose_tiles(scene);
  int at = shown_step(scene, wanted, static_cast<int>(state.picture.steps.size()) - 1);
  draw_said(scene, scene.colours.secondary, loop_sentence(state.picture, at));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  draw_loop_picture(state.picture, at, from, {scene.width, height}, scene.colours);
  ImGui::SetCursorScreenPos(from);
  ImGui::Dummy({scene.width, height});
  if (is_on_page(scene)) return "";
  if (draw_loop_transport(state.picture, at, state.playing, state.next, scene.width, scene.colours))
    change(scene, "at", std::to_string(at));
  if (state.playing) scene.requests.animate = true;
  return "";
}

}  // namespace attoscope
