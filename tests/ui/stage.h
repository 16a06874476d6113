/// The window without a display: the real panels in the real renderer, with real answers, and a test at the controls.
#pragma once

#include <optional>
#include <string>

#include "app/explore/explorer.h"
#include "app/explore/model_controller.h"
#include "app/explore/plot_exporter.h"
#include "app/explore/session_requests.h"
#include "app/sweep/sweeper.h"
#include "app/train/train_controller.h"
#include "app/window/gui.h"
#include "app/window/offscreen.h"
#include "app/window/texture.h"
#include "tests/support/rooms.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/train_answer.h"
#include "ui/ui.h"

namespace attoscope::testing {

/// A small question: answered in a millisecond.
Session small_session(Workspace workspace = Workspace::explore);
/// The shipped layers of grouped queries, every head at a glance; head 3 is open, n tokens of it.
Session all_heads(int n = 512);

/// The window's frames, one at a time. Belongs to the thread that made it; the test's thread changes the values between frames.
class Stage {
 public:
  Stage(int width, int height);
  ~Stage() { state.reset(); }  // their drawings are freed before the renderer

  Session session;
  std::optional<PanelInput> told;  ///< input of the panels in place of the explorer's
  bool asked_to_quit = false;
  TrainRequest train_request;  ///< the panels' last request to the training; handled only without `told`
  UiStatePtr state = make_ui_state();
  PlotExporter exporter{""};     ///< where a test wants its pictures
  SessionStore::Places places;   ///< where a test wants its last session; from the next `open` on
  bool first_start = false;      ///< the window that is opened next is the first one
  std::string document;          ///< the file that the next opened session belongs to
  std::string points_directory;  ///< where windows opened from now on keep points of sweeps; empty: nowhere
  std::string data_directory;    ///< where they keep what they trained, and Q, K, V of it; empty: nowhere

  /// Opens a new window on `opened`.
  void open(Session opened);
  /// Resizes the window.
  void resize(int width, int height);
  /// Draws one frame, with pixels if a picture was asked for, and now and then.
  void draw();
  /// Asks for a picture of the screen, drawn with the next frame.
  void take_picture() { picture_.reset(); }
  const std::optional<Picture>& picture() const { return picture_; }
  Explorer& explorer() { return *explorer_; }
  SessionContext context() { return {session, *explorer_, *sessions_, *dialog_, *train_, *model_}; }
  Sweeper& sweeper() { return *sweeper_; }
  TrainController& train() { return *train_; }
  ModelController& model() { return *model_; }
  /// Input of the panels.
  PanelInput panel_input() const;

 private:
  void update();

  std::optional<Offscreen> screen_;
  std::optional<Gui> gui_;
  std::optional<Texture> texture_;
  int width_, height_, drawn_ = 0;
  std::optional<Picture> picture_ = Picture{};
  std::optional<SessionStore> sessions_;
  std::optional<FileDialog> dialog_;
  std::optional<Explorer> explorer_;      ///< last: its worker joins first
  std::optional<Sweeper> sweeper_;        ///< as does its worker
  std::optional<TrainController> train_;  ///< and its worker
  std::optional<ModelController> model_;  ///< and its workers
};

}  // namespace attoscope::testing
