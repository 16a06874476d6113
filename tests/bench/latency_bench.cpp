/// Latency from a moved slider to its picture: attoscope_latency_bench [WIDTH HEIGHT]. The frames are the window's, with real
/// panels, real answers and real pixels, but no display: glFinish replaces the swap. Counts the frames of 60 Hz that end
/// before the picture is there, for the first rows and for all; idle, and next to as many threads of other programs as
/// there are processors. Reports a frame's time for panels and for OpenGL separately; without a graphics card the latter is the
/// CPU's.
#include <epoxy/gl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "app/explore/explorer.h"
#include "app/window/gui.h"
#include "app/window/offscreen.h"
#include "app/window/texture.h"
#include "app/window/window.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "ui/ui.h"
#include "ui/widgets/theme.h"

namespace attoscope::app {

using namespace ui;

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// Replaces events of the operating system: the worker rings it.
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

/// Delay of one answer until it is drawn, in ms, for its first rows and all rows; time of a frame meanwhile, by the window and
/// by OpenGL.
struct Lag {
  double first = 0, all = 0, panels = 0, pixels = 0;
};

/// Replaces other programs: each thread computes all the time.
class Load {
 public:
  explicit Load(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i)
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
        }
      });
  }

 private:
  std::vector<std::jthread> threads_;
};

class Loop {
 public:
  Loop(int width, int height, int n) : screen_(width, height) {
    session_.experiment.problem.n = n;
    for (int i = 0; i < 20; ++i) frame([] {});
    while (!answered()) frame([] {});
  }

  /// Changes the session within a frame, as a slider does, and draws frames until the answer is drawn.
  Lag measure() {
    Clock::time_point changed;
    frame([&] {
      ++session_.experiment.problem.seed;
      changed = Clock::now();
    });
    Lag lag;
    frames_ = 0;
    spent_ = {};
    do {
      pause();
      frame([] {});
      if (lag.first == 0 && is_of_question()) lag.first = ms_since(changed);
    } while (!answered());
    lag.all = ms_since(changed);
    lag.panels = spent_.panels / frames_;
    lag.pixels = spent_.pixels / frames_;
    return lag;
  }

 private:
  template <class Edit>
  void frame(Edit edit) {
    const Clock::time_point began = Clock::now();
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
    spent_.panels += ms_since(began);
    const Clock::time_point drawn = Clock::now();
    gui_.draw(palette(session_.view.theme).background);
    glFinish();
    texture_.end_frame();
    spent_.pixels += ms_since(drawn);
    ++frames_;
  }

  void pause() {
    Pace pace;
    if (explorer_.computing()) bell_.wait(pace.patience(0, false, true));
  }

  bool is_of_question() const { return shown_ && shown_->experiment == session_.experiment; }
  bool answered() const { return is_of_question() && !is_partial(); }
  bool is_partial() const { return static_cast<int>(shown_->rows.size()) < session_.experiment.problem.n; }

  Offscreen screen_;
  Gui gui_;
  Texture texture_;
  UiStatePtr state_ = make_ui_state();
  Session session_;
  int frames_ = 0;
  Lag spent_;
  Bell bell_;
  std::shared_ptr<const Result> shown_;
  Explorer explorer_{Start{}, [this] { bell_.ring(); }};  ///< last: its worker rings the bell
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// Number of 60 Hz frames until a picture that is ready after `ms` is on screen.
int frames_of(double ms) { return static_cast<int>(std::ceil(ms * 60 / 1000)); }

void report(int width, int height, int n, bool loaded) {
  constexpr int changes = 30;
  Loop loop(width, height, n);
  const Load load(loaded ? std::thread::hardware_concurrency() : 0);
  std::vector<Lag> lags;
  for (int i = 0; i < changes; ++i) lags.push_back(loop.measure());
  const auto middle = [&](double Lag::* of) {
    std::vector<double> values;
    for (const Lag& lag : lags) values.push_back(lag.*of);
    return median(values);
  };
  const double first = middle(&Lag::first), all = middle(&Lag::all);
  std::printf("%6d  %-5s  %9.1f %7d  %9.1f %7d  %9.2f  %9.2f\n", n, loaded ? "load" : "idle", first, frames_of(first), all,
              frames_of(all), middle(&Lag::panels), middle(&Lag::pixels));
}

}  // namespace
}  // namespace attoscope::app

int main(int argc, char** argv) try {
  const int width = argc > 2 ? std::atoi(argv[1]) : 1280, height = argc > 2 ? std::atoi(argv[2]) : 800;
  std::printf("medians at %d x %d, in ms\n     N         first rows  frames   all rows  frames  a frame's panels  its OpenGL\n",
              width, height);
  for (const int n : {1024, 2048, 4096})
    for (const bool loaded : {false, true}) attoscope::app::report(width, height, n, loaded);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
