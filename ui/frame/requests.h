/// Requests of the panels to the app.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/result.h"
#include "kernels/questions/gradient_trace.h"
#include "kernels/questions/product_sum.h"
#include "kernels/questions/scores.h"
#include "ui/frame/entries.h"
#include "ui/frame/heads_answer.h"
#include "ui/frame/lesson.h"
#include "ui/frame/model_answer.h"
#include "ui/frame/output_answer.h"
#include "ui/frame/side_list.h"
#include "ui/frame/sweep_answer.h"
#include "ui/frame/train_answer.h"
#include "ui/session/session.h"

namespace attoscope::ui {

/// Use of a file that the panels request.
enum class FileUse : std::uint8_t {
  session,
  pack,
  checkpoint,
  model,
  captured_run,
  tensors,
  output,
  d_o,
  d_lse,
  dq,
  dk,
  dv,
  missing
};

/// An action on session files.
struct SessionRequest {
  enum class Act : std::uint8_t { fresh, open, save, save_as, pack } act = Act::save;
  std::string file{};  ///< empty: open a file dialog
};

/// A part of the window to be saved as a picture, and its numbers.
struct ExportRequest {
  std::string name{};                    ///< content, for the file's name: "heat map"
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;  ///< screen rectangle; empty: the whole window
  std::string csv{};                     ///< numbers; empty: the picture alone
  Plot plot = Plot::window;              ///< plot to draw if a figure is wanted instead of pixels
  bool npy = false;                      ///< save the whole field on show as .npy instead
  std::shared_ptr<const Session> of{};   ///< session to plot; null: the window's
  float taller = 0;                      ///< added to the window's height for the picture, to include content below its edge
};

template <class Question, class>
using SideAsked = std::optional<Question>;
/// Side questions of this frame.
struct SideRequests : SideList<SideAsked> {
  bool stop_heads = false;  ///< stop the heads in progress; finished ones stay
};

/// A file to open; not a session, pack, checkpoint or model.
struct FileRequest {
  FileUse use = FileUse::tensors;
  std::string spec{};       ///< as typed
  bool as_b = false;        ///< an output replaces b instead of a
  std::string choice_of{};  ///< file for which to remember `spec` as the choice among its tensors; or empty
};

/// Files to be opened or saved.
struct FileRequests {
  std::optional<FileRequest> open;
  bool list_tensors = false;            ///< show the list of the input's tensors
  std::string look;                     ///< a spec being typed, to list its contents and completions
  FileUse look_for = FileUse::tensors;  ///< use of `look`
  std::optional<FileUse> ask;           ///< open the desktop's file dialog for this use
  std::optional<SessionRequest> session;
  bool list_sessions = false;  ///< update `SessionFiles::recent`
};

struct ClipboardRequests {
  bool copy = false;       ///< the session as text, to the clipboard
  bool copy_link = false;  ///< a link that opens the session, to the clipboard
  bool paste = false;      ///< replace the session by `paste_text`
  std::string paste_text;
  std::optional<int> copy_pin;  ///< this pin as text, to the clipboard
  bool paste_pins = false;      ///< append the pins of the clipboard's session
};

/// Pictures and figures to save.
struct ExportRequests {
  std::optional<ExportRequest> plot;
  std::string figure;         ///< name of a figure of the papers, drawn by the view's settings; or empty
  bool stop_figures = false;  ///< stop the figures in progress
};

/// Requests of the user in a frame.
struct Requests {
  SideRequests side;
  Wanted wanted{.wasserstein = false, .trace = false};  ///< parts of an answer that the open panels show
  FileRequests files;
  ClipboardRequests clipboard;
  ExportRequests exports;
  SweepRequest sweep = SweepRequest::none;
  std::optional<SweepPlace> open_point;  ///< point of `PanelInput::sweep` to open in Explore
  TrainRequest train{};
  ModelRequest model{};
  bool list_lessons = false;                  ///< fill `LearnInput::lessons` although Learn is not on show
  std::vector<LessonQuestion> lesson;         ///< all questions of the page on screen: `LearnInput::answers`
  std::optional<LessonQuestion> open_number;  ///< a lesson's number to open in Explore, Train or Model
  bool cancel = false;                        ///< stop the computation
  bool remarks_read = false;                  ///< clear `MessagesInput::remarks`
  std::string error;                          ///< reason why a request failed, for the status bar
  bool animate = false;                       ///< something on screen moves by itself: draw the next frame too
  bool quit = false;
};

}  // namespace attoscope::ui
