/// Dear ImGui and ImPlot in the current OpenGL context, with this machine's fonts.
#pragma once

#include <string>

#include "ui/widgets/theme.h"

namespace attoscope::app {

/// Owner of the toolkit's contexts and its OpenGL backend. One at a time; not thread-safe.
class Gui {
 public:
  Gui();
  ~Gui();
  Gui(Gui&&) = delete;

  /// Ends ImGui's frame and draws it into the bound framebuffer, over `background` (in ImGui's packing). True if the next frame
  /// shows characters that this one lacks: a font of this machine that has them was loaded.
  bool draw(unsigned background);

  /// Sentence on missing fonts, or "".
  const std::string& remark() const { return remark_; }

 private:
  /// Owner of the contexts without the backend, which may fail to start.
  struct Contexts {
    Contexts();
    ~Contexts();
  };
  bool find_missing_characters();

  Contexts contexts_;
  ui::MissingCharacters missing_, sought_;  ///< characters missing in the last frames; characters already searched for
  std::string remark_;
};

}  // namespace attoscope::app
