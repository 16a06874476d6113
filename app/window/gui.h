/// Dear ImGui and ImPlot in the current OpenGL context, with this machine's fonts.
#pragma once

#include <string>

namespace attoscope {

/// The toolkit's contexts and its OpenGL backend, for as long as this lives. One at a time; not thread-safe.
class Gui {
 public:
  Gui();
  ~Gui();
  Gui(const Gui&) = delete;
  Gui& operator=(const Gui&) = delete;

  /// Ends ImGui's frame and draws it into the bound framebuffer, over `background` (as ImGui packs colours).
  void draw(unsigned background);

  /// What the user should know about the fonts, or "".
  const std::string& remark() const { return remark_; }

 private:
  /// The contexts without the backend, so that they go away even if that cannot start.
  struct Contexts {
    Contexts();
    ~Contexts();
  };
  Contexts contexts_;
  std::string remark_;
};

}  // namespace attoscope
