/// Keeps a session answered: loads what it names, asks for what changed, collects answers and sentences for the panels.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/explore/app.h"
#include "app/explore/file_reader.h"
#include "app/explore/file_watch.h"
#include "app/explore/gallery_desk.h"
#include "app/explore/heads_desk.h"
#include "app/explore/input_loader.h"
#include "app/explore/judging.h"
#include "app/explore/lessons.h"
#include "app/explore/main_answer.h"
#include "app/explore/side_answers.h"
#include "app/heads/kept_heads.h"
#include "app/words/devices.h"
#include "kernels/compute.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/probe_entry.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"

namespace attoscope {

/// The shipped probes as the panels show them. Throws as `probes` does.
ProbeEntries probe_entries();

/// Asks for an answer whenever the session's experiment changed. Knows no window.
class Explorer {
 public:
  /// `published` is called from another thread whenever `update` has something to take.
  Explorer(const Start& start, std::function<void()> published, Compute compute = attoscope::compute);

  /// Reads the tensors that the session names, asks what was not asked yet, takes the newest answer.
  void update(Session& session);
  /// What the panels are told in this frame; `paint` is left empty.
  PanelInput panel_input() const;
  /// The traced row that was replaced by one that has more to show, since the last call; none was.
  std::optional<int> take_replaced_row() { return std::exchange(replaced_row_, std::nullopt); }
  /// True while an answer is on its way, or a file is being read.
  bool computing() const { return answer_.busy() || files_.busy(); }

  /// Reads and does what follows: at once, or on a thread of its own where that would take longer than a frame. What fails is a
  /// sentence after `before`, and all stays as it is.
  void read(Session& session, bool at_once, FileReader::Read read, const std::string& before = "");
  /// Shows another session with its tensors, once these are read, and what was not understood of it. Throws where these cannot
  /// be read: the session then stays as it is.
  void adopt(Session& session, Session opened, std::vector<std::string> remarks);
  /// Forgets these remarks: they were read.
  void forget_remarks() { messages_.remarks.clear(); }
  /// Opens tensors (FILE.safetensors, or three .npy) instead of what is there. If that fails, the session stays as it is and a
  /// sentence says why.
  void open(Session& session, const std::string& spec);
  /// With an output among them D becomes what the tensors tell, unless it is to be kept.
  void open_dropped(Session& session, const std::vector<std::string>& files, bool keeps_format = false);
  /// Tells in the next frame what a spec that is being typed names: the tensors of its files.
  void look_into(const std::string& spec);
  /// Opens somebody's output in the place of a method. If that fails, the session stays as it is and a sentence says why.
  void open_kernel(Session& session, const std::string& spec, bool as_b);
  /// A session from its text; theme and size of the window stay. If that fails, all stays and a sentence says why.
  void paste(Session& session, const std::string& text);
  /// The same for the session of a link; progress in lessons, what computes and, where it has none, the pins stay too. One in
  /// Learn opens the step of its lesson, and all else stays.
  void follow_link(Session& session, const std::string& text);
  /// Asks what the panels want to know beside the answer; what is not yet known is given up when the session asks something
  /// else.
  void ask_beside(const Requests& requests, const Session& session);
  /// The pins of a session's text after those that there are. If that fails, all stays and a sentence says why.
  void add_pins(Session& session, const std::string& text);
  /// Stops what is being read, else what is being computed; the picture stays, and a sentence says what it answers.
  void cancel() { files_.busy() ? files_.cancel() : answer_.cancel(); }
  /// What the open panels show of an answer from now on.
  void want(const Wanted& wanted) { wanted_ = wanted; }
  /// Shows a sentence about what went well until the next question.
  void show_notice(std::string sentence) { messages_.notice = std::move(sentence); }
  /// Shows a sentence until the next answer.
  void show_error(std::string sentence) { messages_.error = std::move(sentence); }

 private:
  /// What computes.
  struct Device {
    std::string requested;  ///< by the session: what `usable` was chosen for
    UsableDevice usable;
    int d = 0;  ///< the head dimension, and the main format, that `ChoicesInput::no_hardware` is about
    Format format;
  };

  FileReader::Read reading(const std::string& spec, const Experiment& asked);
  FileReader::Read output_reading(const std::string& spec, const Experiment& asked, bool as_b, bool keeps_format = false);
  FileReader::Read reread_output(const Experiment& experiment);
  FileReader::Read reread_input(const Experiment& experiment);
  void open_all(Session& session, const std::vector<std::string>& files, bool keeps_format);
  void open_both(Session& session, const std::string& input, const std::string& output, bool keeps_format);
  void tell_loaded(const KernelOutput& output, const Format& before, const Format& after);
  void tell_left_out(const std::vector<std::string>& sentences);
  void follow_head(Experiment& experiment);
  void watch_files(const Experiment& experiment);
  void read_rewritten(Session& session);
  void show(Session& session, Session opened, std::vector<std::string> remarks);
  void choose_device(const Session& session);
  void choose_row(Experiment& experiment);
  void ask(const Experiment& experiment);
  bool has_asked(const Experiment& experiment) const;
  void ask_what_is_missing();
  void ask_heads(const SideRequests& requests, const Experiment& experiment);
  std::string take_lesson_answers();
  std::string take_heads();

  std::string cpu_;
  ChoicesInput choices_;
  MessagesInput messages_;
  bool remarked_ = false;  ///< what was opened is asked next: what was wrong with it stays on screen until another question
  bool chooses_row_;       ///< with the first answer that row is traced in which most happens
  std::optional<int> replaced_row_;
  Device device_;
  Wanted wanted_;
  FileReader files_;
  InputLoader loader_{files_};
  std::optional<HeadsOnShow> shown_heads_;
  JudgedAnswer judged_answer_;
  std::vector<std::string> watched_;
  FileWatch watch_;
  std::shared_ptr<const Lessons> open_lessons_;  ///< null until they are wanted
  MainAnswer answer_;                            ///< last, so that the threads join before anything they use goes away
  SideAnswers side_;
  std::shared_ptr<KeptHeads> kept_heads_;
  HeadsDesk<HeadRow> heads_;
  HeadsDesk<KvRow> kv_;
  HeadsDesk<JudgedHead> judged_;
  GalleryDesk gallery_;
  LessonDesk lessons_;
};

}  // namespace attoscope
