#include "app/explore/render.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "app/explore/explorer.h"
#include "app/explore/judging.h"
#include "app/explore/lessons.h"
#include "app/explore/side_answers.h"
#include "app/model/model_plan.h"
#include "app/sweep/sweeper.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "app/train/train_controller.h"
#include "app/window/gui.h"
#include "app/window/offscreen.h"
#include "app/window/texture.h"
#include "app/words/devices.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "kernels/compute.h"
#include "kernels/experiment/rules.h"
#include "kernels/gpu/device.h"
#include "kernels/judge/call_judgement.h"
#include "kernels/tensor_core/hardware.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/pixel_image.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/session/session.h"
#include "ui/ui.h"
#include "ui/widgets/theme.h"

namespace attoscope::app {
namespace {

/// Frames until ImGui's layout, fades and the panels' state have settled.
constexpr int settling_frames = 8;

/// Input of the panels with an answer and no work in progress.
ui::PanelInput input_of(const ui::Session& session, std::shared_ptr<const Result> result, const WindowPicture& shot) {
  const Input& asked = session.experiment.problem.input;
  ui::PanelInput input;
  const UsableDevice device = usable_device(session.device);
  input.answer.device = result->device;
  input.choices.devices = device_entries(device_name());
  input.choices.no_hardware = why_no_hardware(device.spec, session.experiment.problem.d, session.experiment.format);
  input.messages.error = result->remark.empty() ? device.remark : result->remark;
  input.answer.result = std::move(result);
  input.choices.probes = probe_entries();
  input.choices.example_file = shot.example_file;
  if (asked.kind == InputKind::tensors) input.choices.tensors = describe_tensors(asked.file);
  const KernelOutput& output = session.experiment.loaded;
  if (has_loaded(session.experiment))
    input.choices.output = {output.file, kernel_output_heads(output.file, session.experiment.problem)};
  if (session.view.workspace == ui::Workspace::sweep) input.sweep = computed_sweep(session);
  if (session.view.workspace == ui::Workspace::model) input.model = computed_model(session);
  if (session.view.workspace == ui::Workspace::train) input.train = computed_training(session);
  input.learn.vary = vary_in_lesson;
  if (session.view.workspace == ui::Workspace::learn)
    input.learn.lessons = std::make_shared<const ui::Lessons>(read_lessons(lessons_directory()));
  return input;
}

/// Answers the page's unanswered questions.
void answer_lesson(const std::vector<ui::LessonQuestion>& questions, ui::PanelInput& input, const AnswerLesson& find) {
  ui::LessonAnswers known = input.learn.answers ? *input.learn.answers : ui::LessonAnswers{};
  for (const ui::LessonQuestion& q : questions)
    if (!answer_of(&known, q)) known.push_back(find(q));
  input.learn.answers = std::make_shared<const ui::LessonAnswers>(std::move(known));
}

/// Answers the panels' questions; waits until all are answered.
void answer(const ui::Requests& requests, const ui::Session& session, ui::PanelInput& input, SideAnswers& side) {
  answer_lesson(requests.lesson, input,
                [](const ui::LessonQuestion& q) { return std::make_shared<const ui::LessonAnswer>(app::answer(q, {})); });
  const std::shared_ptr<const ui::KernelGradientsAnswer>& gradients = side.kernel_gradients().answer();
  const bool has_kernels = gradients && gradients->answer == input.answer.result;
  const std::shared_ptr<const Result> result = has_kernels ? gradients->question.answer : input.answer.result;
  ui::SideRequests asked = requests.side;
  if (session.view.detail == ui::Detail::same_bits) asked.same_bits = session.experiment;
  side.ask(std::move(asked), "cpu", result, false);
  while (side.busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (const std::string failure = side.update(); !failure.empty()) throw std::runtime_error(failure);
  const bool judged = input.side.verdict != side.verdict();
  side.tell(input);
  input.answer.result = with_kernel_gradients(input.answer.result, session.kernel_gradients, gradients, has_kernels);
  if (judged && side.verdict()->shares) input.answer.result = with_shares(*result, *side.verdict()->shares);
}

void begin_frame(const Offscreen& screen) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(screen.width()), static_cast<float>(screen.height())};
  io.DeltaTime = 1 / 60.0f;
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
}

/// Index of the GPU with the result's matrices; -1: none.
int gpu_of(const Result& result) { return result.on_device ? device_index(*result.on_device) : -1; }

/// Draws until the layout has settled; calls `answer` with the requests of each frame. Returns the panels' state.
template <class Scale, class Answer>
ui::UiStatePtr settled(ui::Session& session, ui::PanelInput& input, const Offscreen& screen, Gui& gui, Texture& texture,
                       Scale scale, Answer answer) {
  ui::UiStatePtr state = ui::make_ui_state();
  input.paint = std::bind_front(&Texture::paint, &texture);
  for (int i = 0; i < settling_frames; ++i) {
    apply_theme(session.view.theme, scale());
    begin_frame(screen);
    answer(draw_ui(session, input, *state));
    gui.draw(palette(session.view.theme).background);
    texture.end_frame();
  }
  return state;
}

Picture draw(ui::Session session, ui::PanelInput input, int width, int height) {
  Offscreen screen(width, height, gpu_of(*input.answer.result));
  Gui gui;
  Texture texture;
  SideAnswers side({});
  const ui::UiStatePtr state = settled(
      session, input, screen, gui, texture, [&] { return shown_scale(session, width, height); },
      [&](const ui::Requests& requests) { answer(requests, session, input, side); });
  return screen.read();
}

/// A lesson with only this view.
std::shared_ptr<const ui::Lessons> lesson_of(const ui::LessonView& view) {
  ui::Lesson lesson{.name = "view", .title = {}, .needs = {}, .steps = {{}}};
  lesson.steps[0].blocks.push_back({.markdown = {}, .numbers = {}, .view = {view}, .line = view.line});
  return std::make_shared<const ui::Lessons>(ui::Lessons{std::move(lesson)});
}

/// Crops the picture's plain border, except a margin.
Picture cut_out(const Picture& whole) {
  constexpr int margin = 12;
  const auto at = [&](int x, int y) { return whole.rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * whole.width + x); };
  const std::uint8_t* const ground = at(2, 2);
  int x0 = whole.width, x1 = 0, y0 = whole.height, y1 = 0;
  for (int y = 0; y < whole.height; ++y)
    for (int x = 0; x < whole.width; ++x)
      if (!std::equal(ground, ground + 3, at(x, y))) {
        x0 = std::min(x0, x);
        x1 = std::max(x1, x + 1);
        y0 = std::min(y0, y);
        y1 = std::max(y1, y + 1);
      }
  if (x0 >= x1) return whole;
  x0 = std::max(0, x0 - margin);
  y0 = std::max(0, y0 - margin);
  x1 = std::min(whole.width, x1 + margin);
  y1 = std::min(whole.height, y1 + margin);
  Picture part{x1 - x0, y1 - y0, {}};
  for (int y = y0; y < y1; ++y) part.rgb.insert(part.rgb.end(), at(x0, y), at(x0, y) + 3 * (x1 - x0));
  return part;
}

/// Font scale of views on pages.
constexpr double page_scale = 1.5;

PagePicture page_picture(const PageView& wanted, ui::Theme theme, const AnswerLesson& answer, const Offscreen& screen, Gui& gui,
                         Texture& texture) {
  ui::Session session;
  session.view.theme = theme;
  session.view.workspace = ui::Workspace::learn;
  session.lesson.presenting = true;
  ui::PanelInput input;
  input.learn.vary = vary_in_lesson;
  input.learn.lessons = lesson_of(wanted.view);
  input.learn.page_part = wanted.part;
  const ui::UiStatePtr state = settled(
      session, input, screen, gui, texture, [] { return page_scale; },
      [&](const ui::Requests& requests) { answer_lesson(requests.lesson, input, answer); });
  return {cut_out(screen.read()), state->learn->views[wanted.view.index].summary};
}

}  // namespace

std::vector<PagePicture> render_views(std::span<const PageView> views, ui::Theme theme, const AnswerLesson& answer) {
  constexpr std::array sizes{std::pair{1320, 1700}, std::pair{640, 2600}};  // wide, narrow
  std::vector<PagePicture> pictures(views.size());
  for (const bool narrow : {false, true}) {
    if (std::ranges::none_of(views, [&](const PageView& v) { return v.narrow == narrow; })) continue;
    Offscreen screen(sizes[narrow ? 1 : 0].first, sizes[narrow ? 1 : 0].second, -1);
    Gui gui;
    Texture texture;
    for (std::size_t i = 0; i < views.size(); ++i)
      if (views[i].narrow == narrow) pictures[i] = page_picture(views[i], theme, answer, screen, gui, texture);
  }
  return pictures;
}

void render(ui::Session session, const WindowPicture& shot) {
  Experiment& e = session.experiment;
  load_tensors(e.problem.input);
  load_given(e);
  const std::string device = usable_device(session.device).spec;
  const ui::PanelInput input = input_of(session, std::make_shared<const Result>(compute(e, {.device = device})), shot);
  write_png(shot.file, draw(std::move(session), input, shot.width, shot.height));
}

}  // namespace attoscope::app
