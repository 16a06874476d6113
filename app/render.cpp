#include "app/render.h"

#include <algorithm>
#include <utility>

#include "app/devices.h"
#include "app/explorer.h"
#include "app/gui.h"
#include "app/kernel_output.h"
#include "app/lessons.h"
#include "app/offscreen.h"
#include "app/sweeper.h"
#include "app/tensors.h"
#include "app/texture.h"
#include "app/train/train_desk.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "kernels/compute.h"
#include "kernels/device.h"
#include "ui/learn/lesson_steps.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {
namespace {

/// Enough for ImGui's layout, its fades and the panels' own memory to settle.
constexpr int settling_frames = 8;

/// What the panels are told: an answer, and nothing on its way.
Frame frame_of(const Session& session, std::shared_ptr<const Result> result, const Shot& shot) {
  const Input& input = session.experiment.problem.input;
  Frame frame;
  const std::string cpu = device_name();
  const UsableDevice device = usable_device(session.device);
  frame.device = result ? result->device : cpu;
  frame.devices = device_entries(cpu);
  frame.no_hardware = why_no_hardware(device.spec, session.experiment.problem.d);
  frame.message = result && !result->remark.empty() ? result->remark : device.remark;
  frame.result = std::move(result);
  frame.probes = probe_entries();
  frame.example_file = shot.example_file;
  const std::string& file = input.kind == InputKind::tensors ? input.file : shot.example_file;
  if (!file.empty()) frame.tensors = describe_tensors(file);
  if (session.view.workspace == Workspace::sweep) frame.sweep = computed_sweep(session);
  if (session.view.workspace == Workspace::train) frame.train = computed_training(session);
  frame.vary = vary_in_lesson;
  if (session.view.workspace == Workspace::learn)
    frame.lessons = std::make_shared<const Lessons>(read_lessons(lessons_directory()));
  return frame;
}

/// What the page asked for and is not yet known.
void answer_lesson(const std::vector<LessonQuestion>& questions, Frame& frame) {
  LessonAnswers known = frame.lesson_answers ? *frame.lesson_answers : LessonAnswers{};
  for (const LessonQuestion& q : questions)
    if (std::ranges::find(known, q, [](const LessonAnswerPtr& a) { return a->question; }) == known.end())
      known.push_back(std::make_shared<const LessonAnswer>(answer(q, {})));
  frame.lesson_answers = std::make_shared<const LessonAnswers>(std::move(known));
}

/// What the panels asked for beside the answer, made at once.
void answer(const Wishes& wishes, const Session& session, Frame& frame) {
  if (wishes.attribute) frame.why = std::make_shared<const Why>(Why{session.experiment, attribute(session.experiment)});
  if (session.view.detail == Detail::same_bits && frame.result && !frame.same_bits)
    frame.same_bits = std::make_shared<const SameBits>(same_bits(session.experiment));
  if (wishes.scores) frame.scores = std::make_shared<const ScoreWindow>(scores(*wishes.scores));
  if (wishes.diagnose) frame.diagnosis = std::make_shared<const Diagnosis>(diagnose_with_heads(*frame.result));
  answer_lesson(wishes.lesson, frame);
  if (wishes.clipping) frame.clipping = std::make_shared<const Clipping>(clipping(session.experiment, clipping_rows));
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

Picture draw(Session session, Frame frame, int width, int height) {
  Offscreen screen(width, height, gpu_of(frame.result.get()));
  Gui gui;
  Texture texture;
  const UiMemoryPtr memory = make_ui_memory();
  frame.paint = [&](ImDrawList* list, const ImVec2& min, const ImVec2& max, const PixelImage& image,
                    const Colouring& colouring) { texture.paint(list, min, max, image, colouring); };
  for (int i = 0; i < settling_frames; ++i) {
    apply_theme(session.view.theme, shown_scale(session));
    begin_frame(screen);
    answer(draw_ui(session, frame, *memory), session, frame);
    gui.draw(palette(session.view.theme).background);
    texture.end_frame();
  }
  return screen.read();
}

}  // namespace

void render(Session session, std::shared_ptr<const Result> result, const Shot& shot) {
  const Frame frame = frame_of(session, std::move(result), shot);
  write_png(shot.file, draw(std::move(session), frame, shot.width, shot.height));
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
