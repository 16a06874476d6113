/// The window's content as a function of values: panels read a Result, edit a Session and tell nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/attribution.h"
#include "kernels/clipping.h"
#include "kernels/result.h"
#include "kernels/same_bits.h"
#include "kernels/scores.h"
#include "kernels/slips.h"
#include "ui/session.h"
#include "ui/sweep/answer.h"
#include "ui/train/answer.h"

struct ImDrawList;
struct ImVec2;

namespace attoscope {

/// Cells of a matrix that become pixels only where they are painted: by the GPU on which they lie, if that draws the window
/// too.
struct CellSource {
  const std::vector<float>* values =
      nullptr;  ///< rows x cols: `field_values` of `field`, at their place while the image is painted
  int rows = 0, cols = 0;
  CellRect cells{};
  Field field = Field::golden;
  std::shared_ptr<const DeviceMatrices> on_device{};  ///< where the values come from
};

/// Values on screen, one float a pixel, to be coloured where they are drawn. NaN and infinity get marker colours;
/// `nothing` is drawn as the panel's background.
struct PixelImage {
  static constexpr float nothing = -3.0e38f;
  int width = 0, height = 0;
  std::vector<float> pixels{};  ///< empty where `source` has a GPU to make them
  CellSource source{};
  std::uint64_t version = 0;  ///< changes whenever the pixels do
};

/// How values become colours; input of the shader and of the colour bar alike.
struct Colouring {
  bool diverging = true;  ///< signed map around 0; else a ramp of |value| from 0
  bool log = true;        ///< asinh(value / knee) instead of value
  float range = 1;        ///< |value| at the ends of the map
  float knee = 1e-3f;     ///< where log turns linear: below it colours are proportional to the value
  Theme theme = Theme::dark;

  friend bool operator==(const Colouring&, const Colouring&) = default;
};

/// Draws an image into the screen rectangle [min, max] of a draw list. The app does it with a texture and a shader.
using PaintImage = std::function<void(ImDrawList* list, const ImVec2& min, const ImVec2& max, const PixelImage& image,
                                      const Colouring& colouring)>;

/// What a tensor file offers, for the head picker.
struct TensorFileInfo {
  std::string file;
  int heads = 0, n = 0, d = 0;
  std::vector<std::string> head_names;  ///< "layer 7, head 7"
  bool has_output = false;              ///< it holds a kernel's output, too
};

/// A shipped experiment that shows one thing.
struct ProbeEntry {
  std::string name;      ///< of its file
  std::string title;     ///< a few words
  std::string sentence;  ///< what to look for, and what will be seen
  Experiment experiment;
};
using ProbeEntries = std::shared_ptr<const std::vector<ProbeEntry>>;

/// What the rounding steps of a question's method a cost, one by one.
struct Why {
  Experiment experiment;
  Attribution attribution;
};

/// A device that a question can be computed on, or why not.
struct DeviceEntry {
  std::string spec;    ///< "cpu", "cuda:0"
  std::string name;    ///< "NVIDIA H200"
  std::string reason;  ///< one sentence that says why it cannot be chosen; empty: it can
};

/// Sets a parameter of an experiment as `attoscope sweep --vary` does; one sentence where it cannot be, else "".
using Vary = std::function<std::string(Experiment& experiment, std::string_view key, const std::string& value)>;

/// An experiment of the papers that can be drawn.
struct FigureEntry {
  std::string name, title, what;
};

/// A figure of the papers on its way.
struct FigureProgress {
  std::string title;
  std::size_t done = 0, all = 0;  ///< points, or steps of a training; all 0: not begun
  double seconds_left = -1;       ///< negative: unknown
  bool trains = false;            ///< they are steps
};

/// A session file that was open before.
struct RecentSession {
  std::string file;
  std::string reason;  ///< one sentence that says why it cannot be opened; empty: it can
};

/// Where sessions are kept.
struct SessionFiles {
  std::string file;                   ///< that is open; empty: none yet
  bool unsaved = false;               ///< the session is no longer what this file, or a new session, held
  std::vector<RecentSession> recent;  ///< newest first
  bool has_dialogs = false;           ///< the desktop has a program that asks for files
  bool asking = false;                ///< and it is doing so
};

/// What is to be done with session files.
struct SessionWish {
  enum class Act : std::uint8_t { fresh, open, save, save_as } act = Act::save;
  std::string file{};  ///< empty: the desktop asks for it
};

/// What the app tells the panels in this frame.
struct Frame {
  std::shared_ptr<const Result> result;       ///< newest answer; null: none yet
  bool computing = false;                     ///< an answer to `session.experiment` is on its way
  double computing_seconds = 0;               ///< for how long
  double progress = 0;                        ///< how much of it is done, 0 .. 1
  double seconds_left = -1;                   ///< until it is there; negative: unknown
  std::string message;                        ///< one sentence about what went wrong, or empty
  std::string note;                           ///< one sentence about what went well, or empty
  std::string device;                         ///< "cpu avx512, 2 threads"
  TensorFileInfo tensors;                     ///< of the file that the input names, or of the example
  std::string example_file;                   ///< path of the shipped example, empty where there is none
  ProbeEntries probes;                        ///< null: none
  std::shared_ptr<const Why> why;             ///< newest attribution; null: none yet
  bool attributing = false;                   ///< an attribution is on its way
  std::shared_ptr<const ScoreWindow> scores;  ///< newest; null: none yet. Each names the question that it answers
  std::shared_ptr<const Clipping> clipping;
  std::shared_ptr<const SameBits> same_bits;
  std::shared_ptr<const Diagnosis> diagnosis;  ///< newest, of a loaded output; null: none yet
  bool checking_bits = false;                  ///< `same_bits` is on its way
  std::vector<DeviceEntry> devices;            ///< cpu first
  std::string no_hardware;                     ///< why the method `hardware` cannot be chosen: one sentence; empty: it can
  std::shared_ptr<const Lessons> lessons;      ///< null: none
  std::shared_ptr<const LessonAnswers> lesson_answers;  ///< all that is known; null: nothing yet
  Vary vary;                                            ///< may be empty: then nothing can be changed in a lesson's experiment
  std::shared_ptr<const std::vector<FigureEntry>> figures;  ///< of the papers; null: none
  std::optional<FigureProgress> drawing;                    ///< one of them is on its way
  SessionFiles sessions;
  std::vector<std::string> remarks;  ///< what was not understood of the session that was opened, one sentence each
  SweepView sweep;
  TrainView train;
  PaintImage paint;   ///< may be empty (null backend): then nothing is drawn in the plot
  bool kept = false;  ///< this frame is kept as a picture
};

/// A part of the window to be kept as a picture, and its numbers.
struct Keepsake {
  std::string name{};                    ///< what it shows, for the file's name: "heat map"
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;  ///< where it is on screen; empty: the whole window
  std::string csv{};                     ///< empty: the picture alone
  Plot plot = Plot::window;              ///< what is drawn where a figure is wanted instead of pixels
  bool npy = false;                      ///< the whole field on show as .npy instead
  float taller = 0;                      ///< by so much the window is, while it is kept: what lies below its edge is seen
};

/// What the user asked of the app in this frame.
struct Wishes {
  std::string open_tensors;  ///< spec of a tensor file to load, or empty
  std::string open_kernel;   ///< spec of a kernel's output to load, or empty
  bool kernel_as_b = false;  ///< in the place of b instead of a
  bool copy = false;         ///< the session as text, to the clipboard
  bool paste = false;        ///< `paste_text` instead of the session
  std::string paste_text;
  bool attribute = false;  ///< `Frame::why` of what the session asks
  std::optional<SessionWish> session;
  bool list_sessions = false;           ///< `SessionFiles::recent` as it is now
  bool remarks_read = false;            ///< `Frame::remarks` may go
  std::optional<ScoreQuestion> scores;  ///< `Frame::scores` of this window
  bool clipping = false;                ///< `Frame::clipping` of what the session asks
  bool same_bits = false;               ///< `Frame::same_bits` of what the session asks
  bool diagnose = false;                ///< `Frame::diagnosis` of the answer on screen
  bool animate = false;                 ///< something on screen changes by itself: draw on
  std::optional<int> copy_pin;          ///< this pin as text, to the clipboard
  bool paste_pins = false;              ///< the pins of the clipboard's session after those that there are
  std::string complaint;                ///< why a wish could not be met, for the status bar
  bool cancel = false;                  ///< stop what is being computed
  std::vector<LessonQuestion> lesson;   ///< all that the page on screen wants to know: `Frame::lesson_answers`
  SweepWish sweep = SweepWish::none;
  TrainWish train{};
  std::optional<SweepPlace> open_point;  ///< of `Frame::sweep`, to be looked at in Explore
  std::optional<Keepsake> save;
  std::string draw_figure;    ///< the name of a figure of the papers, to be drawn as the view says; or empty
  bool stop_figures = false;  ///< none of those that are on their way
  bool quit = false;
};

/// What panels remember between frames that nobody saves. Owned by the app, touched only by ui/.
struct UiMemory;
struct UiMemoryDeleter {
  void operator()(UiMemory*) const;
};
using UiMemoryPtr = std::unique_ptr<UiMemory, UiMemoryDeleter>;
UiMemoryPtr make_ui_memory();

/// Draws the whole window in the current ImGui frame. Fonts and style are set by `apply_theme` before the frame.
Wishes draw_ui(Session& session, const Frame& frame, UiMemory& memory);

}  // namespace attoscope
