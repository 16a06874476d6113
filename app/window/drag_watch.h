/// Detects files that are dragged over the window, before the drop.
#pragma once

#include <atomic>
#include <functional>

namespace attoscope::app {

/// Reads incoming messages of a drag (XDND); GLFW reports only the drop. Reports nothing on Wayland, where only GLFW gets
/// events. Construct after glfwInit, destroy before glfwTerminate; one at a time.
class DragWatch {
 public:
  /// Calls `changed` when dragged files enter or leave the window.
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
  Hook* hook_ = nullptr;  ///< owned by the display; null: none
  std::atomic<bool> dragging_ = false;
};

}  // namespace attoscope::app
