/// The window of the operating system, by GLFW.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/window/drag_watch.h"
#include "app/window/gui.h"

struct GLFWwindow;

namespace attoscope::app {

/// Schedules frames: three at once after every event, to settle the layout; then slow ones for 0.8 s, for tooltips; then none.
class Pace {
 public:
  static constexpr double forever = std::numeric_limits<double>::infinity();

  /// Records an event.
  void stir(double now) {
    at_once_ = 5;  // a lesson is hidden for three frames while its tables find their widths
    stirred_ = now;
  }
  /// Records a drawn frame.
  void drawn() {
    if (at_once_ > 0) --at_once_;
  }
  /// Seconds until the next frame without an event. `moving`: something on screen moves by itself. `computing`: an answer will
  /// cause an event soon; waiting 8 ms avoids a frame with the old answer.
  double patience(double now, bool moving, bool computing) const {
    constexpr double a_moment = 0.008;
    if (at_once_ > 0) return computing ? a_moment : 0;
    return moving || now - stirred_ < 0.8 ? 0.1 : forever;
  }

 private:
  int at_once_ = 5;
  double stirred_ = 0;
};

/// A window with a current OpenGL 3.3 core context and Dear ImGui. Used on the main thread, except `wake`.
class MainWindow {
 public:
  /// Throws std::runtime_error with one sentence without a display or OpenGL 3.3.
  MainWindow(const char* title, int width, int height);
  ~MainWindow();
  MainWindow(MainWindow&&) = delete;

  /// Sets the title of the window.
  void name(const std::string& title);
  bool closing() const;
  void close();
  /// Seconds until the next frame is due; `Pace::forever`: at the next event. `moving`: something on screen moves by itself.
  /// `computing`: an answer will wake it.
  double patience(bool moving, bool computing) const;
  /// Handles events and sleeps for `patience` seconds, or until an event.
  void wait(double patience);
  /// False while the window is minimised.
  bool visible() const;
  /// Scale factor of the display.
  double scale() const;
  /// `begin_frame` begins ImGui's frame; `draw_frame` ends and draws it; `show_frame` shows it.
  void begin_frame();
  bool draw_frame(unsigned background) { return gui_->draw(background); }
  void show_frame();
  /// Files dropped onto the window since the last call.
  std::vector<std::string> take_dropped() { return std::exchange(dropped_, {}); }
  /// True while files are dragged over the window.
  bool dragging() const { return drag_.dragging(); }
  /// Sentence on missing fonts, or "".
  const std::string& remark() const { return gui_->remark(); }
  /// Causes a frame; thread-safe.
  void wake();
  /// Calls `turn` until it returns false. In a browser this returns at once, and the browser calls `turn` for each frame.
  static void repeat(std::function<bool()> turn);

 private:
  /// Owner of the initialised GLFW library.
  struct Library {
    Library();
    ~Library();
  };
  struct Destroy {
    void operator()(GLFWwindow* window) const;
  };
  void listen();

  Library library_;
  DragWatch drag_{[this] { stirred_ = true; }};
  std::unique_ptr<GLFWwindow, Destroy> window_;
  std::unique_ptr<Gui> gui_;
  Pace pace_;
  std::string title_;
  std::vector<std::string> dropped_;
  std::atomic<bool> stirred_{true};
};

}  // namespace attoscope::app
