/// Files that another program holds over the window, before they are let go.
#pragma once

#include <atomic>
#include <functional>

namespace attoscope::app {

/// Reads the messages of a drag (XDND) as they come in, of which GLFW tells the drop alone. On Wayland, where a program hears
/// nothing but what GLFW hears, nothing is told. Made after glfwInit, gone before glfwTerminate; one at a time.
class DragWatch {
 public:
  /// Calls `changed` when files come over the window, or leave it.
  explicit DragWatch(std::function<void()> changed);
  ~DragWatch();
  DragWatch(DragWatch&&) = delete;

  bool dragging() const { return dragging_; }
  void tell(bool dragging) {
    if (dragging_.exchange(dragging) != dragging) changed_();
  }

 private:
  struct Hook;

  std::function<void()> changed_;
  Hook* hook_ = nullptr;  ///< belongs to the display; null: none
  std::atomic<bool> dragging_ = false;
};

}  // namespace attoscope::app
