// What each seed ended with: skipped steps, and the loss on text that was held out.
#include <algorithm>
#include <array>

#include "imgui.h"
#include "ui/train/panels.h"
#include "ui/train/words.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr float seed_row_height = 18;
constexpr std::array<const char*, 4> seed_columns{"skipped a", "b", "held-out a", "b"};
constexpr std::array<float, 4> seed_column_ends{0.5f, 0.6f, 0.86f, 1};  ///< right edges, as shares of the width

void draw_seed(const TrainScene& s, const TrainRecord& r, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string seed = std::to_string(r.plan.recipe.seed);
  ImGui::InvisibleButton(("##seed " + seed).c_str(), {width, px(seed_row_height)});
  explain("Seed " + seed + ": " + runs_text(r) + ".", "loss = -mean log P(next character)");
  const std::array<std::string, 4> cells = seed_cells(r);
  draw_text({at.x, at.y + px(3)}, Face::mono_small, s.colours.text, fitted(Face::mono_small, seed, 0.2f * width));
  for (std::size_t i = 0; i < cells.size(); ++i)
    draw_text({at.x + seed_column_ends[i] * width, at.y + px(3)}, Face::mono_small, s.colours.secondary, cells[i], 1);
}

}  // namespace

void draw_train_seeds(const TrainScene& s, float height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - px(10);
  draw_text(at, Face::label, s.colours.text, "Seed");
  for (std::size_t i = 0; i < seed_columns.size(); ++i)
    draw_text({at.x + seed_column_ends[i] * width, at.y + px(2)}, Face::small, s.colours.faint, seed_columns[i], 1);
  ImGui::SetCursorScreenPos({at.x, at.y + px(20)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  if (ImGui::BeginChild("seeds", {0, whole_rows(height - px(20), px(seed_row_height))}, ImGuiChildFlags_NavFlattened)) {
    draw_seed(s, *s.record(), width);
    for (const auto& seed : s.state.drawing.seeds) draw_seed(s, *seed, width);
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::SetCursorScreenPos({at.x, at.y + height});
  ImGui::Dummy({0, 0});
  offer_export({Plot::window, "seeds", at, {at.x + width, at.y + height}, [&] { return seeds_csv(s.state.drawing); }},
               s.session.view, s.colours, s.requests);
}

}  // namespace attoscope
