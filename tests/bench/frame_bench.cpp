/// Cost of a frame of all panels on the UI thread without OpenGL, at N = 4096: attoscope_frame_bench [--benchmark_filter=zoom].
/// The goal is 3 ms, for a page of a lesson 4 ms. "new answer" is the first frame after an answer, in which the panels read
/// it. "read" is the reading of text by the window's own thread, at most 50 ms.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/explore/explorer.h"
#include "app/explore/lessons.h"
#include "app/session/session.h"
#include "app/window/fonts.h"
#include "imgui.h"
#include "implot.h"
#include "kernels/compute.h"
#include "kernels/questions/clipping.h"
#include "kernels/questions/same_bits.h"
#include "ui/frame/pixel_image.h"
#include "ui/ui.h"
#include "ui/widgets/theme.h"

namespace attoscope::app {

using namespace ui;

namespace {

constexpr double goal_ms = 3;

/// ImGui and ImPlot with the program's fonts and no renderer.
class NullBackend {
 public:
  NullBackend() {
    ImGui::CreateContext();
    ImPlot::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.ConfigFlags |= ImGuiConfigFlags_DockingEnable;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures | ImGuiBackendFlags_RendererHasVtxOffset;
    io.DisplaySize = {1600, 1000};
    io.DeltaTime = 1 / 60.0f;
    load_fonts(find_fonts());
  }
  ~NullBackend() {
    for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) texture->SetStatus(ImTextureStatus_Destroyed);
    ImPlot::DestroyContext();
    ImGui::DestroyContext();
  }
  NullBackend(const NullBackend&) = delete;
  NullBackend& operator=(const NullBackend&) = delete;

  /// Ends the frame; textures count as uploaded.
  void render() {
    ImGui::Render();
    for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) {
      if (texture->Status == ImTextureStatus_OK || texture->Status == ImTextureStatus_Destroyed) continue;
      const bool gone = texture->Status == ImTextureStatus_WantDestroy;
      texture->SetTexID(gone ? ImTextureID_Invalid : ImTextureID{1});
      texture->SetStatus(gone ? ImTextureStatus_Destroyed : ImTextureStatus_OK);
    }
  }
};

/// A window with every answer that its panels need.
class Scene {
 public:
  explicit Scene(const Session& opened) : session(opened) {
    input.choices.probes = probe_entries();
    input.answer.device = "cpu";
    input.choices.devices = {{"cpu", "cpu", ""}};
    input.paint = [](ImDrawList* list, const ImVec2& min, const ImVec2& max, const PixelImage&, const Colouring&) {
      list->AddRectFilled(min, max, IM_COL32_WHITE);
    };
    input.learn.vary = vary_in_lesson;
    if (session.view.workspace == Workspace::learn)
      input.learn.lessons = std::make_shared<const Lessons>(read_lessons(lessons_directory()));
    input.answer.result = std::make_shared<const Result>(compute(session.experiment));
    for (int i = 0; i < 6; ++i) answer(draw());
  }

  Requests draw() {
    apply_theme(session.view.theme, session.view.ui_scale);
    ImGui::NewFrame();
    Requests requests = draw_ui(session, input, *state);
    backend.render();
    return requests;
  }

  NullBackend backend;
  UiStatePtr state = make_ui_state();
  Session session;
  PanelInput input;

 private:
  void answer(const Requests& requests) {
    const Experiment& e = session.experiment;
    LessonAnswers answers = input.learn.answers ? *input.learn.answers : LessonAnswers();
    for (const LessonQuestion& q : requests.lesson)
      if (std::ranges::none_of(answers, [&](const LessonAnswerPtr& a) { return a->question == q; }))
        answers.push_back(std::make_shared<const LessonAnswer>(app::answer(q, {})));
    input.learn.answers = std::make_shared<const LessonAnswers>(std::move(answers));
    if (requests.side.scores) input.side.scores = std::make_shared<const ScoreWindow>(scores(*requests.side.scores));
    if (requests.side.clipping) input.side.clipping = std::make_shared<const Clipping>(clipping(e, 256));
    if (requests.side.why) input.side.why = std::make_shared<const Attribution>(attribute(e));
    if (requests.side.same_bits)
      input.side.same_bits = std::make_shared<const SameBits>(SameBits{e, {{"avx2", "", {1, 1, 1}}, {"sse2", "", {1, 1, 1}}}});
  }
};

Session large_session() {
  Session session;
  session.experiment.problem.n = 4096;
  session.experiment.problem.d = 64;
  session.experiment.problem.mask.kind = Mask::Kind::causal;
  session.view.show_tiles = session.view.profiles = true;
  session.view.cell_row = 2000;
  session.view.cell_col = 30;
  return session;
}

/// Times `draw`, one frame a call, in a scene that begins with the large session changed by `edit`.
void add(const std::string& name, const std::function<void(Session&)>& edit,
         const std::function<void(Scene&, int frame)>& move) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [edit, move](benchmark::State& state) {
                                 Session session = large_session();
                                 edit(session);
                                 Scene scene(session);
                                 int count = 0;
                                 for (auto _ : state) {
                                   move(scene, ++count);
                                   scene.draw();
                                 }
                                 state.counters["goal ms"] = goal_ms;
                               })
      ->Unit(benchmark::kMillisecond)
      ->MinTime(0.4);
}

void zoom_about(Session& session, int frame, double rows, double cols) {
  const double share = 0.55 + 0.4 * std::sin(frame * 0.1);
  session.view.zoom = {rows * (0.5 - share / 2), cols * (0.5 - share / 2), rows * (0.5 + share / 2), cols * (0.5 + share / 2)};
}

/// Adds every page of the shipped lessons, without animation.
void add_pages() {
  for (const Lesson& lesson : read_lessons(lessons_directory()))
    for (int step = 0; step < static_cast<int>(lesson.steps.size()); ++step)
      add(
          "page/" + lesson.name + "/" + std::to_string(step + 1),
          [name = lesson.name, step](Session& s) {
            s = {};
            s.view.workspace = Workspace::learn;
            s.lesson.name = name;
            s.lesson.step = step;
          },
          [](Scene&, int) {});
}

/// A table of 100,000 combinations, three seeds each.
std::shared_ptr<const SweepTable> large_table(bool names) {
  auto t = std::make_shared<SweepTable>();
  for (const auto& [key, count] : {std::pair{"n", 4000}, std::pair{"d", 25}}) {
    SweepValues v{key, key, {}, {}};
    for (int i = 1; i <= count; ++i) {
      v.names.push_back((names ? "name " : "") + std::to_string(i));
      if (!names) v.numbers.push_back(i);
    }
    t->axes.push_back(std::move(v));
  }
  t->measure = t->quantity = "mean |error|";
  t->of = "a";
  t->seeds = 3;
  for (int i = 0; i < 100000; ++i) {
    const double x = 1e-3 * (2 + std::sin(i * 0.37));
    t->cells.push_back({3, x, x / 4, x * 0.8, x * 1.3, x, -1});
  }
  return t;
}

/// Times `count` tables of 300000 points in turn.
void add_sweep(const std::string& name, bool heat_map, bool names, std::size_t count) {
  const auto tables = std::make_shared<std::vector<std::shared_ptr<const SweepTable>>>();
  add(
      "sweep/" + name,
      [heat_map](Session& s) {
        s.view.workspace = Workspace::sweep;
        s.sweep.second = {"d", "1:25"};
        s.sweep.heat_map = heat_map;
      },
      [tables, names, count](Scene& s, int frame) {
        while (tables->size() < count) tables->push_back(large_table(names));
        s.input.sweep.table = (*tables)[static_cast<std::size_t>(frame) % count];
        s.input.sweep.progress = {.state = SweepProgress::State::running, .points = 300000, .done = 300000};
      });
}

/// A session's text with `part` repeated, as long as the longest text that the window's own thread reads.
std::string long_session(const std::string& before, const std::string& part, const std::string& after) {
  std::string text = R"({"schema": "attoscope.session/1", )" + before;
  while (text.size() + part.size() + after.size() + 1 < quick_text) text += part;
  if (text.ends_with(',')) text.pop_back();
  return text + after + "}";
}

/// Adds the longest texts that the window's own thread reads, and the shipped lessons. At most 50 ms each.
void add_reading() {
  const std::pair<const char*, std::string> texts[]{{"read/empty pins", long_session(R"("pins": [)", "{},", "]")},
                                                    {"read/numbers", long_session(R"("pins": [)", "1e-300,", "]")},
                                                    {"read/deep", long_session(R"("view": )", "[", "")},
                                                    {"read/unknown keys", [] {
                                                       int key = 0;
                                                       std::string text = R"({"schema": "attoscope.session/1")";
                                                       while (text.size() + 20 < quick_text)
                                                         text += ",\"k" + std::to_string(key++) + "\":0";
                                                       return text + "}";
                                                     }()}};
  for (const auto& [name, text] : texts)
    benchmark::RegisterBenchmark(name, [text = text](benchmark::State& state) {
      for (auto _ : state) {
        std::vector<std::string> remarks;
        try {
          benchmark::DoNotOptimize(parse_session(text, remarks));
        } catch (const std::runtime_error&) {  // the time of a refusal counts, too
        }
      }
    })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("read/lessons", [](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(read_lessons(lessons_directory()));
  })->Unit(benchmark::kMillisecond);
}

void add_all() {
  add_sweep("lines", false, false, 1);
  add_sweep("names", false, true, 1);
  add_sweep("heat map", true, false, 1);
  add_sweep("new table", false, false, 2);

  const auto nothing = [](Scene&, int) {};
  for (std::size_t i = 0; i < picture_names.size(); ++i) {
    const auto picture = static_cast<PictureKind>(i);
    add("still/" + std::string(picture_names[i]), [picture](Session& s) { s.view.picture = picture; }, nothing);
  }
  for (std::size_t i = 0; i < detail_names.size(); ++i)
    add("still/" + std::string(detail_names[i]), [i](Session& s) { s.view.detail = static_cast<Detail>(i); }, nothing);
  for (std::size_t i = 1; i < comparison_names.size(); ++i)
    add(
        "still/" + std::string(comparison_names[i]), [i](Session& s) { s.view.comparison = static_cast<Comparison>(i); },
        nothing);
  for (std::size_t i = 0; i < picture_names.size(); ++i)
    add(
        "zoom/" + std::string(picture_names[i]), [i](Session& s) { s.view.picture = static_cast<PictureKind>(i); },
        [](Scene& s, int frame) { zoom_about(s.session, frame, 4096, 64); });
  add(
      "zoom/side by side", [](Session& s) { s.view.comparison = Comparison::side_by_side; },
      [](Scene& s, int frame) { zoom_about(s.session, frame, 4096, 64); });
  add(
      "crosshair", [](Session&) {},
      [](Scene&, int frame) {
        ImGui::GetIO().AddMousePosEvent(500 + static_cast<float>(frame * 7 % 400), 300 + static_cast<float>(frame * 3 % 200));
      });
  add("scrub", [](Session&) {}, [](Scene& s, int frame) { s.session.view.scrubbed_tile = frame % 32; });
  const auto copies = std::make_shared<std::vector<std::shared_ptr<const Result>>>();
  const auto take_in = [copies](Scene& s, int frame) {
    while (copies->size() < 2) copies->push_back(std::make_shared<const Result>(*s.input.answer.result));
    s.input.answer.result = (*copies)[static_cast<std::size_t>(frame % 2)];
  };
  add("new answer", [copies](Session&) { copies->clear(); }, take_in);
  add(
      "new answer/everything",
      [copies](Session& s) {
        copies->clear();
        s.view.comparison = Comparison::side_by_side;
        s.view.detail = Detail::scatter;
      },
      take_in);
  add_pages();
  add_reading();
}

}  // namespace
}  // namespace attoscope::app

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  attoscope::app::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
