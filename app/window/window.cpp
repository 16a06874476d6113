#include "app/window/window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "imgui.h"
#include "imgui_impl_glfw.h"
#include "imgui_impl_opengl3.h"
#include "imgui_internal.h"  // queue of input events

namespace attoscope::app {
namespace {

[[noreturn]] void fail_to_open(const std::string& what) {
  const char* reason = nullptr;
  glfwGetError(&reason);
  throw std::runtime_error(what + (reason ? " (" + std::string(reason) + ")" : std::string()) +
                           "; `attoscope render` draws the window into a file without a display.");
}

/// Longest sleep in seconds before events are polled again: X11 can hide an event sent by another thread.
constexpr double longest_sleep = 1;

/// True while ImGui has queued input: it processes one press or release per frame.
bool has_input() { return !ImGui::GetCurrentContext()->InputEventsQueue.empty(); }

MainWindow& owner(GLFWwindow* window) { return *static_cast<MainWindow*>(glfwGetWindowUserPointer(window)); }

GLFWwindow* make_window(const char* title, int width, int height) {
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  glfwWindowHint(GLFW_DEPTH_BITS, 0);
  glfwWindowHint(GLFW_STENCIL_BITS, 0);
  glfwWindowHintString(GLFW_X11_CLASS_NAME, "attoscope");
  glfwWindowHintString(GLFW_X11_INSTANCE_NAME, "attoscope");
  return glfwCreateWindow(width, height, title, nullptr, nullptr);
}

/// The wanted size, limited to the main monitor's work area.
ImVec2 fitting(int width, int height) {
  int x = 0, y = 0, w = 0, h = 0;
  if (GLFWmonitor* monitor = glfwGetPrimaryMonitor()) glfwGetMonitorWorkarea(monitor, &x, &y, &w, &h);
  return {static_cast<float>(w > 0 ? std::min(width, w) : width), static_cast<float>(h > 0 ? std::min(height, h) : height)};
}

}  // namespace

MainWindow::Library::Library() {
#ifdef GLFW_PLATFORM  // GLFW 3.4 tries Wayland first, whose library writes to standard error if not in use
  if (std::getenv("WAYLAND_DISPLAY") == nullptr) glfwInitHint(GLFW_PLATFORM, GLFW_PLATFORM_X11);
#endif
  if (!glfwInit()) fail_to_open("There is no display to open a window on");
}
MainWindow::Library::~Library() { glfwTerminate(); }

void MainWindow::Destroy::operator()(GLFWwindow* window) const { glfwDestroyWindow(window); }

MainWindow::MainWindow(const char* title, int width, int height) {
  const ImVec2 size = fitting(width, height);
  window_.reset(make_window(title, static_cast<int>(size.x), static_cast<int>(size.y)));
  if (!window_) fail_to_open("The display offers no OpenGL 3.3 window");
  glfwSetWindowSizeLimits(window_.get(), 640, 400, GLFW_DONT_CARE, GLFW_DONT_CARE);
  glfwMakeContextCurrent(window_.get());
  glfwSwapInterval(1);
  gui_ = std::make_unique<Gui>();
  listen();
  ImGui_ImplGlfw_InitForOpenGL(window_.get(), true);
}

MainWindow::~MainWindow() { ImGui_ImplGlfw_Shutdown(); }

void MainWindow::listen() {
  glfwSetWindowUserPointer(window_.get(), this);
  glfwSetDropCallback(window_.get(), [](GLFWwindow* window, int count, const char** paths) {
    MainWindow& w = owner(window);
    w.dropped_.insert(w.dropped_.end(), paths, paths + count);
    w.drag_.tell(false);
    w.stirred_ = true;
  });
  glfwSetWindowRefreshCallback(window_.get(), [](GLFWwindow* window) { owner(window).stirred_ = true; });
  glfwSetFramebufferSizeCallback(window_.get(), [](GLFWwindow* window, int, int) { owner(window).stirred_ = true; });
  glfwSetWindowContentScaleCallback(window_.get(), [](GLFWwindow* window, float, float) { owner(window).stirred_ = true; });
  glfwSetWindowCloseCallback(window_.get(), [](GLFWwindow* window) { owner(window).stirred_ = true; });
}

void MainWindow::name(const std::string& title) {
  if (title == title_) return;
  title_ = title;
  glfwSetWindowTitle(window_.get(), title.c_str());
}

bool MainWindow::closing() const { return glfwWindowShouldClose(window_.get()); }
void MainWindow::close() { glfwSetWindowShouldClose(window_.get(), GLFW_TRUE); }

double MainWindow::patience(bool moving, bool computing) const {
  return visible() ? pace_.patience(glfwGetTime(), moving, computing) : Pace::forever;
}

void MainWindow::wait(double patience) {
  const double end = glfwGetTime() + patience;
  glfwPollEvents();
  for (double left = patience; left > 0 && !stirred_ && !has_input(); left = end - glfwGetTime())
    glfwWaitEventsTimeout(std::min(left, longest_sleep));
  const bool input = has_input();
  if (ImGui::IsAnyMouseDown()) drag_.tell(false);  // the dragging program has released the mouse
  if (stirred_.exchange(false) || input) pace_.stir(glfwGetTime());
}

bool MainWindow::visible() const {
  int width = 0, height = 0;
  glfwGetFramebufferSize(window_.get(), &width, &height);
  return width > 0 && height > 0 && !glfwGetWindowAttrib(window_.get(), GLFW_ICONIFIED);
}

double MainWindow::scale() const { return ImGui_ImplGlfw_GetContentScaleForWindow(window_.get()); }

void MainWindow::begin_frame() {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
}

void MainWindow::show_frame() {
  glfwSwapBuffers(window_.get());
  pace_.drawn();
}

void MainWindow::wake() {
  stirred_ = true;
  glfwPostEmptyEvent();
}

void MainWindow::repeat(std::function<bool()> turn) {
  while (turn()) continue;
}

}  // namespace attoscope::app
