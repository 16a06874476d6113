/// Dear ImGui and ImPlot in the current OpenGL context, with this machine's fonts.
#pragma once

#include <string>

namespace attoscope {

/// Owner of the toolkit's contexts and its OpenGL backend. One at a time; not thread-safe.
class Gui {
 public:
  Gui();
  ~Gui();
  Gui(const Gui&) = delete;
  Gui& operator=(const Gui&) = delete;

  /// Ends ImGui's frame and draws it into the bound framebuffer, over `background` (in ImGui's packing).
  void draw(unsigned background);

  /// Sentence on missing fonts, or "".
  const std::string& remark() const { return remark_; }

 private:
  /// Owner of the contexts without the backend, which may fail to start.
  struct Contexts {
    Contexts();
    ~Contexts();
  };
  Contexts contexts_;
  std::string remark_;
};

}  // namespace attoscope
