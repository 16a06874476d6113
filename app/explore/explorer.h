/// Loads files of the session, requests answers after changes, and collects answers and messages for the panels.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/explore/app.h"
#include "app/explore/file_reader.h"
#include "app/explore/file_watch.h"
#include "app/explore/input_loader.h"
#include "app/explore/judging.h"
#include "app/explore/lessons.h"
#include "app/explore/main_answer.h"
#include "app/explore/side_answers.h"
#include "app/heads/heads.h"
#include "app/tensors/kernel_output.h"
#include "app/words/devices.h"
#include "kernels/compute.h"
#include "ui/frame/entries.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// The shipped probes for the panels. Throws as `probes` does.
ui::ProbeEntries probe_entries();

/// Requests an answer whenever the session's experiment changes. Independent of the window.
class Explorer {
 public:
  /// `published` is called from another thread whenever `update` has something to take.
  Explorer(const Start& start, std::function<void()> published, Compute compute = attoscope::compute);

  /// Reads the session's tensors, asks changed questions, takes the newest answer.
  void update(ui::Session& session);
  /// Input of the panels in this frame; `paint` is empty.
  ui::PanelInput panel_input() const;
  /// The next answer chooses the traced row, as the first one of the first window does.
  void choose_row_again() { chooses_row_ = true; }
  /// The traced row that `update` replaced by a more eventful one since the last call; none if it did not.
  std::optional<int> take_replaced_row() { return std::exchange(replaced_row_, std::nullopt); }
  /// True while an answer is computed or a file is read.
  bool computing() const { return answer_.busy() || files_.busy(); }

  /// Reads and applies the result: at once, or on a thread if it takes longer than a frame. On failure shows `before` and the
  /// error; the session stays unchanged.
  void read(ui::Session& session, bool at_once, FileReader::Read read, const std::string& before = "");
  /// Replaces the session once its tensors are read, or if a file is missing, and shows its remarks. Throws if they cannot be
  /// read; the session then stays unchanged.
  void adopt(ui::Session& session, ui::Session opened, std::vector<std::string> remarks);
  /// Replaces a missing file by `found`, and reads again.
  void locate(ui::Session& session, const std::string& found);
  /// Missing file of the experiment; "": none.
  const std::string& missing() const { return choices_.missing; }
  /// Dismisses the remarks.
  void forget_remarks() { messages_.remarks.clear(); }
  /// Opens tensors (FILE.safetensors, or three .npy) or an output, with gradients `beside` them. On failure the session stays
  /// unchanged and a sentence is shown.
  void open(ui::Session& session, const std::string& spec, bool keeps_format = false, const GradientSpecs& beside = {});
  /// Opens dropped files. With an output, D becomes the format of the tensors, unless `keeps_format`. A dO or dL (a file of
  /// that name, a tensor beside Q, K, V, or in `gradients`) turns the backward pass on; an output is then not compared.
  void open_dropped(ui::Session& session, const std::vector<std::string>& files, bool keeps_format = false,
                    GradientSpecs gradients = {});
  /// The files that `open` opens are read for a changed experiment; `change` is applied with them, so not if they cannot be
  /// read.
  void open_changed(std::function<void(Experiment&)> change, const std::function<void()>& open);
  /// Lists the tensors of a specification being typed, and its completions, for the next frame.
  void look_into(const std::string& spec, ui::FileUse use = ui::FileUse::tensors);
  /// Opens an output as method a, or b. On failure the session stays unchanged and a sentence is shown.
  void open_kernel(ui::Session& session, const std::string& spec, bool as_b);
  /// Opens a dO, a dL, or gradients of a kernel; turns the backward pass on. On failure the session stays unchanged and a
  /// sentence is shown.
  void open_gradients(ui::Session& session, const GradientSpecs& specs);
  /// Replaces the session by one from text; keeps theme and window sizes. On failure nothing changes and a sentence is shown.
  void paste(ui::Session& session, const std::string& text);
  /// Replaces the session by one of a link; also keeps lesson progress, device and, if the link has no pins, pins. A link to
  /// Learn only opens the step of its lesson.
  void follow_link(ui::Session& session, const std::string& text);
  /// Asks the panels' additional questions; pending ones are dropped when the session changes.
  void ask_beside(const ui::Requests& requests, const ui::Session& session);
  /// Appends the pins of a session's text. On failure nothing changes and a sentence is shown.
  void add_pins(ui::Session& session, const std::string& text);
  /// Stops reading, else computing; the picture stays, and a sentence names its question.
  void cancel() { files_.busy() ? files_.cancel() : answer_.cancel(); }
  /// Sets the parts of an answer that the open panels show.
  void want(const Wanted& wanted) { wanted_ = wanted; }
  /// Shows a success until the next question.
  void show_notice(std::string sentence) { messages_.notice = std::move(sentence); }
  /// Shows a success also during the question that it causes.
  void tell(std::string sentence) { messages_.notice = std::move(sentence), remarked_ = true; }
  /// Shows a failure until the next answer.
  void show_error(std::string sentence) { messages_.error = std::move(sentence); }

 private:
  /// The device that computes.
  struct Device {
    std::string requested;  ///< the session's device that `usable` was chosen for
    UsableDevice usable;
    int d = 0;  ///< head dimension and main format of `ChoicesInput::no_hardware`
    Format format;
  };

  bool has_own_numbers(const Problem& problem) const;
  /// The session's experiment with the change of `open_changed`.
  Experiment asked_of(const ui::Session& session) const;
  /// The problem with this input; `numbers` replace the numbers of the former input's heads.
  Problem with_input(Problem problem, const Input& input, const HeadNumbers& numbers) const;
  FileReader::Read reading(const std::string& spec, const Experiment& asked, bool keeps_format,
                           const GradientSpecs& beside = {});
  FileReader::Read gradient_reading(const GradientSpecs& specs, const Problem& asked);
  FileReader::Read output_reading(const std::string& spec, const Experiment& asked, bool as_b, bool keeps_format = false);
  FileReader::Read reread_given(const Experiment& experiment, GivenTensor which);
  FileReader::Read reread_input(const Experiment& experiment);
  void use_lse(ui::Session& shown, const std::string& spec);
  void open_all(ui::Session& session, const std::vector<std::string>& files, bool keeps_format, const GradientSpecs& beside);
  void open_both(ui::Session& session, const std::string& input, const std::string& output, bool keeps_format,
                 const GradientSpecs& beside);
  void show_computed(ui::Session& shown, const GradientSpecs& specs, const std::vector<AnswerTensor>& sums);
  void tell_loaded(const KernelOutput& output, const Format& before, const Format& after);
  void tell_found(const std::vector<std::string>& sentences);
  void follow_head(Experiment& experiment);
  void watch_files(const Experiment& experiment);
  void read_rewritten(ui::Session& session);
  void show(ui::Session& session, ui::Session opened, std::vector<std::string> remarks, const Input& kept);
  bool load_files(Experiment& e);
  void choose_device(const ui::Session& session);
  void choose_row(Experiment& experiment);
  void drop_chosen_row(Experiment& experiment);
  void forget_mended(const ui::Session& session);
  void ask(const Experiment& experiment);
  bool has_asked(const Experiment& experiment) const;
  void ask_what_is_missing();

  std::string cpu_;
  ui::ChoicesInput choices_;
  ui::MessagesInput messages_;
  std::optional<ui::Session> mistaken_;            ///< the session when the shown error occurred
  bool remarked_ = false;                          ///< messages on opening stay during the question that opening causes
  bool chooses_row_;                               ///< the next answer sets the traced row to the most eventful one
  std::optional<std::pair<int, int>> chosen_row_;  ///< row chosen by the program, and its number of tokens
  std::optional<int> replaced_row_;
  Device device_;
  Wanted wanted_;
  int reading_ = 0;                          ///< `Question::reading`
  std::function<void(Experiment&)> change_;  ///< of `open_changed`; empty: none
  FileReader files_;
  InputLoader loader_{files_};
  std::optional<HeadsOnShow> shown_heads_;
  JudgedAnswer judged_answer_;
  ui::KernelGradients gradient_files_;                                     ///< of the session in the last `update`
  std::pair<std::vector<std::string>, std::vector<std::string>> watched_;  ///< files, and folders of them
  std::chrono::steady_clock::time_point listed_{};                         ///< time of listing the folders
  FileWatch watch_;
  std::shared_ptr<const ui::Lessons> open_lessons_;  ///< null until requested and read
  MainAnswer answer_;                                ///< after all members that its threads use
  SideAnswers side_;
  LessonAnswerer lessons_;
};

}  // namespace attoscope::app
