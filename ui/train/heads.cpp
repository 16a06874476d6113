// The button that opens a head's Q, K, V in Explore.
#include <fmt/format.h>

#include <algorithm>

#include "imgui.h"
#include "ui/train/panels.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

/// A menu of the trained models.
void pick_run(const TrainScene& s, float width) {
  const TrainRecord& r = *s.record();
  const auto shown = std::min(r.runs.size() - 1, static_cast<std::size_t>(s.look().run));
  const WithField f(Face::label, 22);
  if (!begin_combo("##run", r.runs[shown].run.name, width)) return explain("The model whose Q, K, V are opened.");
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    if (ImGui::Selectable((r.runs[i].run.name + "###run " + std::to_string(i)).c_str(), i == shown))
      s.look().run = static_cast<int>(i);
    explain("The model with this name.");
  }
  ImGui::EndCombo();
}

}  // namespace

void draw_train_explore(const TrainScene& s) {
  const TrainRecord& r = *s.record();
  if (r.runs.empty()) return;
  const float width = ImGui::GetContentRegionAvail().x, run = px(84), place = px(76);
  TrainLook& look = s.look();
  const int layer = std::min(look.layer, r.plan.model.layers - 1), head = std::min(look.head, r.plan.model.heads - 1),
            sequence = std::min(look.sequence, r.plan.recipe.batch - 1);
  pick_run(s, run);
  const ImVec2 at{ImGui::GetItemRectMax().x + px(10), ImGui::GetItemRectMin().y};
  draw_text({at.x, at.y + (px(22) - line_height(Face::mono_small)) / 2}, Face::mono_small, colours().text,
            fmt::format("head {}.{}", layer, head));
  ImGui::SetCursorScreenPos({at.x + place, at.y - px(1)});
  draw_text({at.x + place, at.y + (px(22) - line_height(Face::label)) / 2}, Face::label, colours().secondary, "sequence");
  const float left = place + text_width(Face::label, "sequence") + px(8);
  ImGui::SetCursorScreenPos({at.x + left, at.y - px(1)});
  whole_field("##sequence", look.sequence, 0, std::max(0, r.plan.recipe.batch - 1), (width - run - px(10) - left) / px(1));
  explain("The sequence in the step's batch.");
  const int step = look.step >= 0 ? look.step : r.step;
  if (push_button(fmt::format("open its Q, K, V of step {} in Explore###open head", step).c_str(), false, {width, 0}))
    s.requests.train = {.act = TrainRequest::Act::explore,
                        .step = step,
                        .run = std::min(look.run, static_cast<int>(r.runs.size()) - 1),
                        .layer = layer,
                        .head = head,
                        .sequence = sequence};
  explain(
      "The input of this head in the batch after the selected step: rounded inputs and a causal mask, with the methods of the "
      "training. States in between are trained again from the last kept one, with the same bits.");
}

}  // namespace attoscope
