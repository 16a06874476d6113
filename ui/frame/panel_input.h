/// The values that the app passes to the panels in each frame.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/entries.h"
#include "ui/frame/heads_answer.h"
#include "ui/frame/model_answer.h"
#include "ui/frame/side_list.h"
#include "ui/frame/sweep_answer.h"
#include "ui/frame/train_answer.h"

struct ImDrawList;
struct ImVec2;

namespace attoscope::ui {

struct Colouring;
struct Lesson;
struct LessonAnswer;
struct PixelImage;

/// Sets a parameter of an experiment as `attoscope sweep --vary` does. Returns one sentence on failure, else "".
using Vary = std::function<std::string(Experiment& experiment, std::string_view key, const std::string& value)>;

/// Draws an image into the screen rectangle [min, max] of a draw list; the app uses a texture and a shader.
using PaintImage = std::function<void(ImDrawList* list, const ImVec2& min, const ImVec2& max, const PixelImage& image,
                                      const Colouring& colouring)>;

/// The answer to the session's experiment, and its progress.
struct AnswerInput {
  std::shared_ptr<const Result> result;  ///< newest answer; null: none yet
  bool computing = false;                ///< an answer to `session.experiment` is being computed
  bool reading = false;                  ///< a file is being read; the numbers below are about the file
  double computing_seconds = 0;          ///< elapsed time
  double progress = 0;                   ///< finished share, 0 .. 1
  double seconds_left = -1;              ///< estimate; negative: unknown
  std::string device;                    ///< "cpu avx512, 2 threads"
};

/// The newest answers to the side questions. Each names the question that it answers; null: not known yet.
template <class, class Answer>
using SideAnswer = std::shared_ptr<const Answer>;
using SideInput = SideList<SideAnswer>;
/// True while the answer is being computed.
template <class, class>
using SideBusy = bool;

/// Choices of the controls.
struct ChoicesInput {
  TensorFileInfo tensors;                                 ///< contents of the input's file
  OutputFileInfo output;                                  ///< contents of the loaded output's file
  FileContent content;                                    ///< contents of `FileRequests::look`
  std::string example_file;                               ///< path of the shipped example; empty: none
  std::shared_ptr<const std::vector<ProbeEntry>> probes;  ///< null: none
  std::vector<DeviceEntry> devices;                       ///< cpu first
  std::string missing;                                    ///< file of the experiment that is not found; empty: all are found
  std::string missing_text;                               ///< a sentence on it
  std::string changed_text;  ///< sentences on tensors that changed since the session was saved; empty: none
  std::string no_hardware;   ///< one sentence why the method `hardware` cannot be chosen; empty: it can
};

/// Sentences for the user.
struct MessagesInput {
  std::string error;                 ///< a failure, or empty
  std::string notice;                ///< a success, or empty
  bool load_failed = false;          ///< `error` is about opening a file: the window keeps its old content
  std::vector<std::string> remarks;  ///< one sentence for each part of the opened session that could not be read
};

/// Number of pictures of a stepper on a page, evenly spaced over its steps up to the last.
inline constexpr int page_parts = 4;

/// The Learn workspace.
struct LearnInput {
  std::shared_ptr<const std::vector<Lesson>> lessons;                               ///< null: none
  std::shared_ptr<const std::vector<std::shared_ptr<const LessonAnswer>>> answers;  ///< known answers; null: none yet
  Vary vary;          ///< may be empty: then a lesson's experiment cannot be changed
  int page_part = 0;  ///< 1 .. `page_parts` on a static page, without controls; 0: in the window
};

/// The papers' figures.
struct FiguresInput {
  std::shared_ptr<const std::vector<FigureEntry>> entries;  ///< null: none
  std::optional<FigureProgress> progress;                   ///< progress of the figure being drawn
};

/// Input of the panels in a frame.
struct PanelInput {
  AnswerInput answer;
  SideInput side;
  SideList<SideBusy> answering{};
  ChoicesInput choices;
  MessagesInput messages;
  SessionFiles sessions;
  FiguresInput figures;
  SweepView sweep;
  TrainView train;
  ModelView model;
  LearnInput learn;
  PaintImage paint;        ///< may be empty (null backend): then the plot stays empty
  bool dragging = false;   ///< files are held over the window
  bool exporting = false;  ///< this frame is kept as a picture
};

}  // namespace attoscope::ui
