#include "app/window/gui.h"

#include <epoxy/gl.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "app/window/fonts.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "implot.h"

namespace attoscope::app {

Gui::Contexts::Contexts() {
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  ImPlot::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;  // sessions save everything
  io.LogFilename = nullptr;
  io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard | ImGuiConfigFlags_DockingEnable;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
}

Gui::Contexts::~Contexts() {
  ImPlot::DestroyContext();
  ImGui::DestroyContext();
}

Gui::Gui() {
  if (epoxy_gl_version() < 33) throw std::runtime_error("OpenGL 3.3 is needed; this driver offers less.");
  const ui::FontFiles files = find_fonts();
  load_fonts(files);
  ImGui::GetIO().Fonts->UserData = &missing_;
  remark_ = missing_fonts(files);
  if (!ImGui_ImplOpenGL3_Init("#version 330 core")) throw std::runtime_error("Dear ImGui cannot use this OpenGL driver.");
}

Gui::~Gui() { ImGui_ImplOpenGL3_Shutdown(); }

/// Loads a font for newly missing characters; characters that it lacks are missing again in the next frame.
bool Gui::find_missing_characters() {
  ui::MissingCharacters fresh;
  std::ranges::set_difference(missing_, sought_, std::inserter(fresh, fresh.end()));
  missing_.clear();
  if (fresh.empty()) return false;
  const FontFace face = find_font_with(fresh);
  sought_.insert(face.has.begin(), face.has.end());
  if (face.file.empty()) sought_.merge(fresh);
  if (!face.file.empty()) ui::add_fallback_font(face.file, face.index);
  return !face.file.empty();
}

bool Gui::draw(unsigned background) {
  ImGui::Render();
  const ImDrawData& data = *ImGui::GetDrawData();
  const ImVec4 clear = ImGui::ColorConvertU32ToFloat4(background);
  glDisable(GL_SCISSOR_TEST);
  glViewport(0, 0, static_cast<int>(data.DisplaySize.x * data.FramebufferScale.x),
             static_cast<int>(data.DisplaySize.y * data.FramebufferScale.y));
  glClearColor(clear.x, clear.y, clear.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  return find_missing_characters();
}

}  // namespace attoscope::app
