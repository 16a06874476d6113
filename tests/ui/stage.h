/// The window without a display: the real panels in the real renderer, with real answers, controlled by a test.
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

/// A small session, computed in a millisecond.
Session small_session(Workspace workspace = Workspace::explore);
/// The shipped layers of grouped queries with the picture of all heads; n tokens of head 3 are open.
Session all_heads(int n = 512);

/// The window's frames, one at a time. Belongs to the thread that made it; the test's thread changes the values between frames.
class Stage {
 public:
  Stage(int width, int height);
  ~Stage() { state.reset(); }  // frees the drawings before the renderer

  Session session;
  std::optional<PanelInput> told;  ///< input of the panels in place of the explorer's
  bool asked_to_quit = false;
  TrainRequest train_request;  ///< the panels' last request to the training; handled only without `told`
  UiStatePtr state = make_ui_state();
  PlotExporter exporter{""};     ///< writes a test's pictures
  SessionStore::Places places;   ///< places of a test's last session; from the next `open` on
  bool first_start = false;      ///< the next opened window is a first start
  std::string document;          ///< the file that the next opened session belongs to
  std::string points_directory;  ///< windows opened later keep points of sweeps there; empty: nowhere
  std::string data_directory;    ///< they keep trainings and captured Q, K, V there; empty: nowhere

  /// Opens a new window on `opened`.
  void open(Session opened);
  /// Resizes the window.
  void resize(int width, int height);
  /// Draws one frame, with pixels if a picture is requested or a texture is new.
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
