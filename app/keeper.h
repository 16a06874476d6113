/// Parts of the window kept as files: asked for in one frame, taken in the next, when no mouse is over it.
#pragma once

#include <optional>
#include <string>

#include "app/explorer.h"
#include "app/png.h"
#include "imgui.h"
#include "ui/ui.h"

namespace attoscope {

/// The pixels of the bound framebuffer from (x, y), which counts from the lower left.
Picture read_back(int x, int y, int width, int height);

class Keeper {
 public:
  /// Files go into `directory`; empty: the current one.
  explicit Keeper(std::string directory) : directory_(std::move(directory)) {}

  void ask(Keepsake wanted) { wanted_ = std::move(wanted); }
  /// True if the next frame is to be drawn with pixels.
  bool asked() const { return wanted_.has_value(); }

  /// After ImGui's NewFrame: nothing is under the mouse in a frame that is kept.
  void hide_mouse();
  /// Once the frame is drawn: writes what was asked for and says through the explorer where it is, or why it is not.
  void take(Explorer& explorer);

 private:
  std::string save() const;

  std::string directory_;
  std::optional<Keepsake> wanted_;
  std::optional<ImVec2> mouse_;  ///< where it was; none: it was not hidden in this frame
};

}  // namespace attoscope
