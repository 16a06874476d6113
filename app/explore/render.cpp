#include "app/explore/render.h"

#include <algorithm>
#include <utility>

#include "app/explore/explorer.h"
#include "app/explore/lessons.h"
#include "app/sweep/sweeper.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "app/train/train_desk.h"
#include "app/window/gui.h"
#include "app/window/offscreen.h"
#include "app/window/texture.h"
#include "app/words/devices.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "kernels/compute.h"
#include "kernels/experiment/rules.h"
#include "kernels/gpu/device.h"
#include "kernels/questions/clipping.h"
#include "kernels/questions/same_bits.h"
#include "kernels/tensor_core/hardware.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/pixel_image.h"
#include "ui/frame/requests.h"
#include "ui/frame/why.h"
#include "ui/learn/lesson_steps.h"
#include "ui/session/session.h"
#include "ui/ui.h"
#include "ui/widgets/theme.h"

namespace attoscope {
namespace {

/// Frames after which ImGui's layout, its fades and the panels' state have settled.
constexpr int settling_frames = 8;

/// What the panels are told: an answer, and nothing on its way.
PanelInput input_of(const Session& session, std::shared_ptr<const Result> result, const Shot& shot) {
  const Input& asked = session.experiment.problem.input;
  PanelInput input;
  const std::string cpu = device_name();
  const UsableDevice device = usable_device(session.device);
  input.answer.device = result ? result->device : cpu;
  input.choices.devices = device_entries(cpu);
  input.choices.no_hardware = why_no_hardware(device.spec, session.experiment.problem.d);
  input.messages.error = result && !result->remark.empty() ? result->remark : device.remark;
  input.answer.result = std::move(result);
  input.choices.probes = probe_entries();
  input.choices.example_file = shot.example_file;
  const std::string& file = asked.kind == InputKind::tensors ? asked.file : shot.example_file;
  if (!file.empty()) input.choices.tensors = describe_tensors(file);
  if (session.view.workspace == Workspace::sweep) input.sweep = computed_sweep(session);
  if (session.view.workspace == Workspace::train) input.train = computed_training(session);
  input.learn.vary = vary_in_lesson;
  if (session.view.workspace == Workspace::learn)
    input.learn.lessons = std::make_shared<const Lessons>(read_lessons(lessons_directory()));
  return input;
}

/// What the page asked for and is not yet known.
void answer_lesson(const std::vector<LessonQuestion>& questions, PanelInput& input) {
  LessonAnswers known = input.learn.answers ? *input.learn.answers : LessonAnswers{};
  for (const LessonQuestion& q : questions)
    if (std::ranges::find(known, q, [](const LessonAnswerPtr& a) { return a->question; }) == known.end())
      known.push_back(std::make_shared<const LessonAnswer>(answer(q, {})));
  input.learn.answers = std::make_shared<const LessonAnswers>(std::move(known));
}

/// What the panels asked for beside the answer, made at once.
void answer(const Requests& requests, const Session& session, PanelInput& input) {
  if (requests.side.attribute)
    input.side.why = std::make_shared<const Why>(Why{session.experiment, attribute(session.experiment)});
  if (session.view.detail == Detail::same_bits && input.answer.result && !input.side.same_bits)
    input.side.same_bits = std::make_shared<const SameBits>(same_bits(session.experiment));
  if (requests.side.scores) input.side.scores = std::make_shared<const ScoreWindow>(scores(*requests.side.scores));
  if (requests.side.diagnose)
    input.side.diagnosis = std::make_shared<const Diagnosis>(diagnose_with_heads(*input.answer.result));
  answer_lesson(requests.lesson, input);
  if (requests.side.clipping)
    input.side.clipping = std::make_shared<const Clipping>(clipping(session.experiment, clipping_rows));
}

void begin_frame(const Offscreen& screen) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(screen.width()), static_cast<float>(screen.height())};
  io.DeltaTime = 1 / 60.0f;
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
}

/// The GPU on which the matrices lie; -1: none.
int gpu_of(const Result* result) { return result && result->on_device ? device_index(*result->on_device) : -1; }

Picture draw(Session session, PanelInput input, int width, int height) {
  Offscreen screen(width, height, gpu_of(input.answer.result.get()));
  Gui gui;
  Texture texture;
  const UiStatePtr state = make_ui_state();
  input.paint = [&](ImDrawList* list, const ImVec2& min, const ImVec2& max, const PixelImage& image,
                    const Colouring& colouring) { texture.paint(list, min, max, image, colouring); };
  for (int i = 0; i < settling_frames; ++i) {
    apply_theme(session.view.theme, shown_scale(session));
    begin_frame(screen);
    answer(draw_ui(session, input, *state), session, input);
    gui.draw(palette(session.view.theme).background);
    texture.end_frame();
  }
  return screen.read();
}

}  // namespace

void render(Session session, std::shared_ptr<const Result> result, const Shot& shot) {
  const PanelInput input = input_of(session, std::move(result), shot);
  write_png(shot.file, draw(std::move(session), input, shot.width, shot.height));
}

void render(Session session, const Shot& shot) {
  Experiment& e = session.experiment;
  load_tensors(e.problem.input);
  if (has_loaded(e)) load_kernel_output(e.loaded, e.problem.n, e.problem.d);
  const std::string device = usable_device(session.device).spec;
  auto result = std::make_shared<const Result>(compute(e, {.device = device}));
  render(std::move(session), std::move(result), shot);
}

}  // namespace attoscope
