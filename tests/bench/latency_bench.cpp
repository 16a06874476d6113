/// From a changed control to its answer on screen: attoscope_latency_bench [WIDTH HEIGHT]. The frames are the window's, with
/// real panels, real answers and real pixels, but no display: glFinish stands for the swap. "beyond" is what the window adds to
/// the computation, once without a pause after a frame, and once with the moment that it waits for an answer.
#include <epoxy/gl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <vector>

#include "app/explore/explorer.h"
#include "app/window/gui.h"
#include "app/window/offscreen.h"
#include "app/window/pace.h"
#include "app/window/texture.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "ui/ui.h"
#include "ui/widgets/theme.h"

namespace attoscope {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// What stands for events of the operating system: the worker's call.
class Bell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    rung_ = true;
    heard_.notify_one();
  }
  void wait(double seconds) {
    std::unique_lock lock(mutex_);
    heard_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable heard_;
  bool rung_ = false;
};

/// How long one answer took to be seen.
struct Lag {
  int frames = 0;  ///< after the one with the change, the one that shows the answer included
  double ms = 0, beyond_ms = 0, frame_ms = 0;
};

class Loop {
 public:
  Loop(int width, int height, int n, bool waits) : screen_(width, height), waits_(waits) {
    session_.experiment.problem.n = n;
    session_.experiment.problem.mask.kind = Mask::Kind::causal;
    for (int i = 0; i < 20; ++i) frame([] {});
    while (!answered()) frame([] {});
  }

  /// Changes the session within a frame, as a slider does, and draws until the answer is seen.
  Lag measure() {
    Clock::time_point changed;
    frame([&] {
      ++session_.experiment.problem.seed;
      changed = Clock::now();
    });
    Lag lag;
    const Clock::time_point began = Clock::now();
    do {
      pause();
      frame([] {});
      ++lag.frames;
    } while (!answered());
    lag.ms = ms_since(changed);
    lag.frame_ms = ms_since(began) / lag.frames;
    lag.beyond_ms = lag.ms - explorer_.panel_input().answer.result->timing.total;
    return lag;
  }

 private:
  template <class Edit>
  void frame(Edit edit) {
    explorer_.update(session_);
    apply_theme(session_.view.theme, session_.view.ui_scale);
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {static_cast<float>(screen_.width()), static_cast<float>(screen_.height())};
    io.DeltaTime = 1 / 60.0f;
    ImGui_ImplOpenGL3_NewFrame();
    ImGui::NewFrame();
    PanelInput told = explorer_.panel_input();
    shown_ = told.answer.result;
    told.paint = [this](ImDrawList* list, const ImVec2& min, const ImVec2& max, const PixelImage& image,
                        const Colouring& colouring) { texture_.paint(list, min, max, image, colouring); };
    draw_ui(session_, told, *state_);
    edit();
    explorer_.update(session_);
    gui_.draw(palette(session_.view.theme).background);
    glFinish();
    texture_.end_frame();
  }

  void pause() {
    Pace pace;
    if (waits_ && explorer_.computing()) bell_.wait(pace.patience(0, false, true));
  }

  bool answered() const { return shown_ && shown_->experiment == session_.experiment && !is_partial(); }
  bool is_partial() const { return static_cast<int>(shown_->rows.size()) < session_.experiment.problem.n; }

  Offscreen screen_;
  Gui gui_;
  Texture texture_;
  UiStatePtr state_ = make_ui_state();
  Session session_;
  bool waits_;
  Bell bell_;
  std::shared_ptr<const Result> shown_;
  Explorer explorer_{Start{}, [this] { bell_.ring(); }};  ///< last: its worker rings the bell
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void report(int width, int height, int n, bool waits) {
  constexpr int changes = 30;
  Loop loop(width, height, n, waits);
  std::vector<double> frames, all, beyond, frame;
  for (int i = 0; i < changes; ++i) {
    const Lag lag = loop.measure();
    frames.push_back(lag.frames);
    all.push_back(lag.ms);
    beyond.push_back(lag.beyond_ms);
    frame.push_back(lag.frame_ms);
  }
  std::printf("%6d  %-9s %6.0f  %8.1f  %8.1f  %8.1f\n", n, waits ? "a moment" : "no", median(frames), median(all),
              median(beyond), median(frame));
}

}  // namespace
}  // namespace attoscope

int main(int argc, char** argv) try {
  const int width = argc > 2 ? std::atoi(argv[1]) : 1280, height = argc > 2 ? std::atoi(argv[2]) : 800;
  std::printf("medians at %d x %d\n     N  waits     frames  ms all    beyond    a frame\n", width, height);
  for (const int n : {256, 1024, 2048})
    for (const bool waits : {false, true}) attoscope::report(width, height, n, waits);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
