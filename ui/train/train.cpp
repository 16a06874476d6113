
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "implot.h"
#include "ui/frame/frame.h"
#include "ui/picture/picture_frame.h"
#include "ui/train/panels.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// The places of the panels; in a narrow window the numbers share their place with the plan.
struct TrainLayout {
  Box plan, middle, numbers;
  bool narrow = false;
};

TrainLayout layout() {
  const auto& [from, to] = between_bars();
  const float width = to.x - from.x;
  if (width < px(1160)) {
    const float left = std::floor(from.x + std::min(px(364), 0.45f * width));
    return {{from, {left, to.y}}, {{left, from.y}, to}, {from, {left, to.y}}, true};
  }
  const float left = std::floor(from.x + px(316)), right = std::floor(to.x - std::clamp(0.27f * width, px(390), px(430)));
  return {{from, {left, to.y}}, {{left, from.y}, {right, to.y}}, {{right, from.y}, to}};
}

/// The three pictures under each other, with one axis of steps.
void draw_pictures(const TrainScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = std::max(ImGui::GetContentRegionAvail().y, px(360)),
              gap = px(12);
  const Box all{at, {at.x + width, at.y + height}};
  if (s.record() == nullptr) return draw_train_invitation(s, {at, {all.max.x, at.y + ImGui::GetContentRegionAvail().y}});
  const float first = std::floor(0.40f * (height - 2 * gap)), second = std::floor(0.30f * (height - 2 * gap));
  const Box top{at, {all.max.x, at.y + first}}, low{{at.x, top.max.y + gap}, {all.max.x, top.max.y + gap + second}},
      picture{{at.x, low.max.y + gap}, {all.max.x, all.max.y - px(4)}};
  if (ImPlot::BeginAlignedPlots("steps", true)) {
    draw_train_deviation(s, top);
    draw_train_runs(s, low);
    draw_train_picture(s, picture);
    ImPlot::EndAlignedPlots();
  }
  take_room({at.x, all.max.y}, {0, 0});
}

void draw_tabs(const TrainScene& s) {
  constexpr std::array<Choice, 2> tabs{{{"plan", "The models, their methods, the recipe and the text."},
                                        {"numbers", "Tensors and heads at the selected step."}}};
  segmented("plan or numbers", tabs, s.state.shows_numbers);
}

/// Updates the curves of abandoned branches and extends the axis of steps to them.
void refresh_branches(TrainPanelState& m, const TrainLook& look) {
  for (TrainBranch& b : m.branches.left) {
    refresh(b.drawing, b.record, look);
    m.drawing.last = std::max(m.drawing.last, static_cast<double>(b.record->step));
  }
}

/// Notes that the next record is another training if it begins with its first step, even under the same plan.
void note_beginning(TrainPanelState& m, const TrainView& train, TrainRequest::Act act) {
  using Act = TrainRequest::Act;
  const bool begins = act == Act::restart || act == Act::open;
  const bool continues = (act == Act::run || act == Act::one_step) && !train.progress.stale;
  if (act == Act::none || act == Act::pause || act == Act::save || act == Act::explore || continues) return;
  m.branches.begins_anew = begins || act == Act::run || act == Act::one_step;
}

}  // namespace

void draw_train_numbers(const TrainScene& s) {
  if (s.record() == nullptr) {
    wrapped(Face::label, colours().faint,
            "The numbers of every tensor and head at the step selected in the curves appear here.",
            ImGui::GetContentRegionAvail().x);
    return;
  }
  const TrainRecord& r = *s.record();
  const float gap = px(12);
  float room = ImGui::GetContentRegionAvail().y - px(56) - gap;  // the button stands below
  const auto height_of = [](std::size_t rows) { return px(44 + 21 * static_cast<float>(rows)); };
  const auto draw = [&](void (*table)(const TrainScene&, float), float height) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    table(s, height);
    ImGui::SetCursorScreenPos({at.x, at.y + height + gap});
    room -= height + gap;
  };
  if (const std::size_t seeds = s.state.drawing.seeds.size(); seeds > 0)
    draw(draw_train_seeds, std::min(height_of(seeds + 1), 0.2f * room));
  if (r.plan.kind == TrainKind::bisect) draw(draw_train_suspects, std::min(height_of(r.pairs.size()), 0.3f * room));
  if (r.plan.kind == TrainKind::replay) draw([](const TrainScene& scene, float) { draw_train_replay(scene); }, px(5 * 18 + 4));
  const float all_heads = height_of(static_cast<std::size_t>(2 * r.plan.model.layers * r.plan.model.heads)),
              heads = std::clamp(room - gap - height_of(r.parameters.tensors.size() + 1), std::min(0.42f * room, all_heads),
                                 all_heads);
  draw(draw_train_tensors, std::max(px(80), room - gap - heads));
  draw(draw_train_heads, heads);
  draw_train_explore(s);
}

void draw_train(const Frame& frame) {
  if (!frame.state.train) frame.state.train = std::make_shared<TrainPanelState>();
  TrainPanelState& m = *frame.state.train;
  const bool anew = follow(m.branches, frame.input.train.record);
  refresh(m.drawing, frame.input.train.record, frame.session.train_look, frame.input.train.seeds);
  refresh_branches(m, frame.session.train_look);
  if (anew || m.zoom1 > m.drawing.last) m.zoom0 = m.zoom1 = 0;
  m.pointed = std::exchange(m.pointing, std::nullopt);
  const TrainScene scene{frame.session, frame.input, m, frame.requests};
  const TrainLayout at = layout();
  constexpr ImGuiWindowFlags still = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  const bool numbers = at.narrow && m.shows_numbers;
  if (!numbers)
    panel("Train plan", at.plan, ImGuiWindowFlags_None, [&] {
      if (at.narrow) draw_tabs(scene);
      draw_train_plan(scene);
    });
  panel("Train", at.middle, ImGuiWindowFlags_None, [&] {
    draw_edges(at.middle, false);
    draw_train_header(scene);
    draw_pictures(scene);
  });
  if (!at.narrow || numbers)
    panel("Train numbers", at.numbers, still, [&] {
      draw_edges(at.numbers, false);
      if (at.narrow) draw_tabs(scene);
      draw_train_numbers(scene);
    });
  note_beginning(m, frame.input.train, frame.requests.train.act);
}

}  // namespace attoscope::ui
