/// The window without a display: the real panels in the real renderer, with real answers, and nobody at the controls.
#pragma once

#include <optional>
#include <string>

#include "app/explorer.h"
#include "app/gui.h"
#include "app/keeper.h"
#include "app/offscreen.h"
#include "app/texture.h"
#include "ui/ui.h"

namespace attoscope::testing {

/// A small question: answered in a millisecond.
Session small_session();

/// The window's frames, one at a time. Belongs to the thread that made it; the test's thread changes the values between frames.
class Stage {
 public:
  Stage(int width, int height);

  Session session;
  std::optional<Frame> told;  ///< what the panels are told instead of what the explorer says
  bool asked_to_quit = false;
  UiMemoryPtr memory = make_ui_memory();
  Keeper keeper{""};  ///< where a test wants its pictures

  /// A window that was just opened on `opened`.
  void open(Session opened);
  /// Another size of the window.
  void resize(int width, int height);
  /// Draws one frame, with pixels where a picture was asked for, and now and then.
  void draw();
  /// What is on screen; drawn with the next frame.
  void take_picture() { picture_.reset(); }
  const std::optional<Picture>& picture() const { return picture_; }
  Explorer& explorer() { return *explorer_; }
  /// What the panels see.
  Frame frame() const { return told ? *told : explorer_->frame(); }

 private:
  std::optional<Offscreen> screen_;
  std::optional<Gui> gui_;
  std::optional<Texture> texture_;
  int width_, height_, drawn_ = 0;
  std::optional<Picture> picture_ = Picture{};
  std::optional<Explorer> explorer_;  ///< last: its worker joins first
};

}  // namespace attoscope::testing
