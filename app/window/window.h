/// The window of the operating system, by GLFW.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "app/window/gui.h"
#include "app/window/pace.h"

struct GLFWwindow;

namespace attoscope {

/// A window with a current OpenGL 3.3 core context and Dear ImGui in it. Belongs to the main thread, except `wake`.
class MainWindow {
 public:
  /// Throws std::runtime_error in one sentence if there is no display or no OpenGL 3.3.
  MainWindow(const char* title, int width, int height);
  ~MainWindow();
  MainWindow(const MainWindow&) = delete;
  MainWindow& operator=(const MainWindow&) = delete;

  /// What the desktop calls the window.
  void name(const std::string& title);
  bool closing() const;
  void close();
  /// True if `wait` would sleep until something happens.
  bool idle(bool moving) const;
  /// Handles events; sleeps until the next frame is due. `moving`: something on screen changes by itself. `computing`: an
  /// answer is on its way, and wakes it. `longest`: seconds after which it returns though nothing happened.
  void wait(bool moving, bool computing, double longest = Pace::forever);
  /// False while the window has no pixels, being minimised.
  bool visible() const;
  /// How much larger than usual this display wants everything.
  double scale() const;
  /// Begins ImGui's frame; ends it and draws it; shows what was drawn.
  void begin_frame();
  void draw_frame(unsigned background);
  void show_frame();
  /// Files dropped onto the window since the last call.
  std::vector<std::string> take_dropped();
  /// What the user should know about the fonts, or "".
  const std::string& remark() const { return gui_->remark(); }
  /// Causes a frame; from any thread.
  void wake();

 private:
  /// GLFW itself, for as long as this lives.
  struct Library {
    Library();
    ~Library();
  };
  struct Destroy {
    void operator()(GLFWwindow* window) const;
  };
  void listen();
  bool take_stirred();

  Library library_;
  std::unique_ptr<GLFWwindow, Destroy> window_;
  std::unique_ptr<Gui> gui_;
  Pace pace_;
  std::string title_;
  std::vector<std::string> dropped_;
  std::atomic<bool> stirred_{true};
};

}  // namespace attoscope
