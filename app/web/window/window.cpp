/// The window in a page, by emscripten's GLFW: the page requests frames, and the window draws if one is due.
#include "app/window/window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <emscripten.h>

#include <stdexcept>
#include <utility>

#include "app/web/window/page.h"
#include "imgui.h"
#include "imgui_impl_glfw.h"
#include "imgui_impl_opengl3.h"
#include "imgui_internal.h"  // queue of input events

namespace attoscope::app {
namespace {

bool woken = true, leaving = false;
double due = 0;  ///< of the next frame, in GLFW's seconds
std::function<bool()> next_turn;
std::string clipboard;

bool has_input() { return !ImGui::GetCurrentContext()->InputEventsQueue.empty(); }

/// Makes the canvas as large as the page; true if its size in pixels has changed, on which the browser clears it.
bool fit(GLFWwindow* window) {
  static ImVec2 pixels{};
  const int width = EM_ASM_INT({ return innerWidth; }), height = EM_ASM_INT({ return innerHeight; });
  int shown_width = 0, shown_height = 0;
  glfwGetWindowSize(window, &shown_width, &shown_height);
  if (width != shown_width || height != shown_height) glfwSetWindowSize(window, width, height);
  glfwGetFramebufferSize(window, &shown_width, &shown_height);
  const ImVec2 before = std::exchange(pixels, {static_cast<float>(shown_width), static_cast<float>(shown_height)});
  return before.x != pixels.x || before.y != pixels.y;
}

void turn_if_due() {
  GLFWwindow* const window = glfwGetCurrentContext();
  if (fit(window)) woken = true;
  if (woken || has_input() || glfwGetTime() >= due) next_turn();
}

/// Caches the first value of each WebGL state: a browser returns a state only after all earlier drawing, which takes longer
/// than a frame. Dear ImGui and the heat map only read states to restore them, and set all that they use.
void keep_first_answers() {
  EM_ASM({
    const told = new Map();
    GLctx.getParameter = function(name) {
      if (!told.has(name)) told.set(name, WebGL2RenderingContext.prototype.getParameter.call(GLctx, name));
      return told.get(name);
    };
  });
}

/// Copies through the browser, which lets a page write its clipboard, and read what the user pastes.
void use_page_clipboard() {
  ImGuiPlatformIO& platform = ImGui::GetPlatformIO();
  platform.Platform_SetClipboardTextFn = [](ImGuiContext*, const char* text) {
    clipboard = text;
    EM_ASM({ Module.copy(UTF8ToString($0)); }, text);
  };
  platform.Platform_GetClipboardTextFn = [](ImGuiContext*) { return clipboard.c_str(); };
}

}  // namespace

void set_pasted(std::string text) { clipboard = std::move(text); }
void wake_page() { woken = true; }

void leave_page() {
  leaving = true;
  if (next_turn) next_turn();
}

MainWindow::Library::Library() { glfwInit(); }
MainWindow::Library::~Library() { glfwTerminate(); }

void MainWindow::Destroy::operator()(GLFWwindow* window) const { glfwDestroyWindow(window); }

MainWindow::MainWindow(const char* title, int width, int height) {
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  glfwWindowHint(GLFW_ALPHA_BITS, 0);
  glfwWindowHint(GLFW_DEPTH_BITS, 0);
  glfwWindowHint(GLFW_STENCIL_BITS, 0);
  window_.reset(glfwCreateWindow(width, height, title, nullptr, nullptr));
  if (!window_) throw std::runtime_error("This browser offers no WebGL 2, which the window draws with.");
  glfwMakeContextCurrent(window_.get());
  keep_first_answers();
  gui_ = std::make_unique<Gui>();
  listen();
  ImGui_ImplGlfw_InitForOpenGL(window_.get(), true);
  ImGui_ImplGlfw_InstallEmscriptenCallbacks(window_.get(), "#canvas");
  use_page_clipboard();
  fit(window_.get());
}

MainWindow::~MainWindow() { ImGui_ImplGlfw_Shutdown(); }

void MainWindow::listen() {
  glfwSetWindowUserPointer(window_.get(), this);
  glfwSetDropCallback(window_.get(), [](GLFWwindow* window, int count, const char** paths) {
    MainWindow& w = *static_cast<MainWindow*>(glfwGetWindowUserPointer(window));
    w.dropped_.insert(w.dropped_.end(), paths, paths + count);
    w.drag_.tell(false);
    wake_page();
  });
  glfwSetWindowRefreshCallback(window_.get(), [](GLFWwindow*) { wake_page(); });
}

void MainWindow::name(const std::string& title) {
  if (title == title_) return;
  title_ = title;
  glfwSetWindowTitle(window_.get(), title.c_str());
}

bool MainWindow::closing() const { return std::exchange(leaving, false); }  // the page may come back
void MainWindow::close() {}

double MainWindow::patience(bool moving, bool computing) const { return pace_.patience(glfwGetTime(), moving, computing); }

void MainWindow::wait(double patience) { due = glfwGetTime() + patience; }

bool MainWindow::visible() const { return true; }  // the browser requests no frame for an invisible page

double MainWindow::scale() const { return 1; }  // sizes are CSS pixels; the framebuffer may have more

void MainWindow::begin_frame() {
  if (std::exchange(woken, false) || has_input()) pace_.stir(glfwGetTime());
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
}

void MainWindow::show_frame() {
  pace_.drawn();
  EM_ASM({ Module.drawn(); });
}

void MainWindow::wake() { wake_page(); }

void MainWindow::repeat(std::function<bool()> turn) {
  next_turn = std::move(turn);
  emscripten_set_main_loop(turn_if_due, 0, false);
}

}  // namespace attoscope::app
