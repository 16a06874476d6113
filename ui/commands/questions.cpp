// Questions that the window answers; a click on a question opens the answer.
#include <algorithm>
#include <array>
#include <utility>

#include "kernels/experiment/rules.h"
#include "ui/commands/bars.h"
#include "ui/commands/commands.h"
#include "ui/controls/controls.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/heatmap_view.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// Opens Explore with this panel at the lower right, in front of other tabs.
void show_detail(const Frame& t, Detail detail) {
  t.session.view.workspace = Workspace::explore;
  t.session.view.detail = detail;
  t.state.popups.numbers_wanted_for = 3;
}

void show_heads(const Frame& t, HeadsShow shown) {
  View& view = t.session.view;
  view.workspace = Workspace::explore;
  view.picture = PictureKind::heads;
  view.heads_show = shown;
}

void worst_head(const Frame& t) {
  const bool judged = has_several_outputs(t.session.experiment, t.input.choices);
  show_heads(t, judged ? HeadsShow::verdict : HeadsShow::grid);
}

/// Shows the suspects of a loaded output, or opens the field for its path.
void is_my_kernel_right(const Frame& t) {
  View& view = t.session.view;
  view.workspace = Workspace::explore;
  if (!has_loaded(t.session.experiment)) {
    t.state.popups.files[FileUse::output].wanted_for = 3;
    return;
  }
  view.picture = PictureKind::output;
  view.field = t.session.experiment.a.algorithm == Algorithm::loaded ? Field::a_error : Field::b_error;
  show_detail(t, Detail::why);
}

void which_format(const Frame& t) {
  t.session.view.workspace = Workspace::sweep;
  const auto plan = std::ranges::find(ready_plans(), "format", &ReadyPlan::name);
  if (plan != ready_plans().end()) t.session.sweep = plan_of(*plan, t.session.sweep);
}

void does_order_matter(const Frame& t) {
  t.session.view.bits_show = BitsShow::schedules;
  show_detail(t, Detail::same_bits);
}

void which_step(const Frame& t) {
  choose_tensor(t.session.view, AnswerTensor::O);
  show_detail(t, Detail::why);
}

void what_the_gradient_loses(const Frame& t) {
  if (!t.session.experiment.backward.on) {
    t.requests.error = turn_backward(t.session.experiment);
    if (!t.requests.error.empty()) return;
  }
  t.session.view.picture = PictureKind::output;
  choose_tensor(t.session.view, AnswerTensor::dQ);
  show_detail(t, Detail::why);
}

void do_bits_repeat(const Frame& t) {
  t.session.view.bits_show = BitsShow::runs;
  show_detail(t, Detail::same_bits);
}

constexpr std::array all_questions{
    UserQuestion{
        "worst head", "Which head is worst?",
        "Every head of the input's file by layer and head, coloured by a number, with a table and the heads that stand apart.",
        worst_head},
    UserQuestion{"my kernel", "Is my kernel right?",
                 "Opens the output of your kernel and judges every head, rounded or wrong, with the mistake that explains it.",
                 is_my_kernel_right},
    UserQuestion{"format", "Which format is enough?",
                 "A sweep over formats, from e4m3 to fp32: the error relative to the output.", which_format},
    UserQuestion{"step", "Which rounding costs most?",
                 "Makes each rounding step of a exact in turn: how much smaller the error would be.", which_step},
    UserQuestion{"order", "Does order matter?",
                 "The traced row under other splits, tiles and orders of keys: the bits that change, and by how much.",
                 does_order_matter},
    UserQuestion{"gradient", "What does the gradient lose?",
                 "Turns the backward pass on: errors of dQ, dK and dV, and the step that costs each of them most.",
                 what_the_gradient_loses},
    UserQuestion{"kv", "Which heads can keep K and V in fewer bits?",
                 "The error of every head with K and V in e4m3, int8, int4 and NVFP4, as in a KV cache.",
                 [](const Frame& t) { show_heads(t, HeadsShow::kv_cache); }},
    UserQuestion{"same bits", "Do I get the same bits everywhere?",
                 "The experiment again with every instruction set, other numbers of threads, and the GPU if there is one.",
                 do_bits_repeat},
    UserQuestion{
        "training", "Does training survive it?",
        "Two copies of a small transformer learn the same text, one with each method: how far their weights drift apart.",
        [](const Frame& t) { t.session.view.workspace = Workspace::train; }},
    UserQuestion{"lesson", "Where do the errors come from?",
                 "Lessons with live numbers, from the bits of a float to the backward pass.",
                 [](const Frame& t) { open_first_lesson(t.session); }},
};

}  // namespace

std::span<const UserQuestion> questions() { return all_questions; }

void draw_questions(const Frame& frame) {
  if (std::exchange(frame.state.popups.questions_asked, false)) ImGui::OpenPopup("questions");
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const float width = std::min(px(520), view->Size.x - px(64));
  ImGui::SetNextWindowPos({view->GetCenter().x, view->Pos.y + px(44)}, ImGuiCond_Always, {0.5f, 0});
  ImGui::SetNextWindowSizeConstraints({0, 0}, {view->Size.x, view->Size.y - px(44 + 34)});
  if (!begin_panel_popup("questions", ImGuiWindowFlags_NoMove)) return;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  for (const UserQuestion& q : all_questions)
    if (titled_entry(q.name, q.words, q.answer, false, width)) q.act(frame);
  ImGui::EndPopup();
}

}  // namespace attoscope::ui
