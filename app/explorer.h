/// The conversation between a session and the worker: what was asked, what was answered, what went wrong.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/app.h"
#include "app/devices.h"
#include "app/lessons.h"
#include "app/side_question.h"
#include "app/worker.h"
#include "kernels/compute.h"
#include "kernels/result.h"
#include "ui/ui.h"

namespace attoscope {

/// The shipped probes as the panels show them. Throws as `probes` does.
ProbeEntries probe_entries();

/// What a worker is asked.
struct Question {
  Experiment experiment;
  std::string device;  ///< as Options::device
  friend bool operator==(const Question&, const Question&) = default;
};

/// What answers: `compute`, or a test's stand-in.
using Compute = std::function<Result(const Experiment&, const Options&)>;

/// Asks for an answer whenever the session's experiment changed. Knows no window.
class Explorer {
 public:
  /// `published` is called from another thread whenever `update` has something to take.
  Explorer(const Start& start, std::function<void()> published, Compute compute = attoscope::compute);

  /// Reads the tensors that the session names, asks what was not asked yet, takes the newest answer.
  void update(Session& session);
  /// What the panels are told in this frame; `paint` is left empty.
  Frame frame() const;
  /// True while an answer is on its way.
  bool computing() const { return worker_.busy(); }

  /// Shows another session with its tensors, and what was not understood of it. Throws where these cannot be read: the session
  /// then stays as it is.
  void adopt(Session& session, Session opened, std::vector<std::string> remarks);
  /// Forgets these remarks: they were read.
  void forget_remarks() { remarks_.clear(); }
  /// Opens tensors (FILE.safetensors, or three .npy) instead of what is there. If that fails, the session stays as it is and a
  /// sentence says why.
  void open(Session& session, const std::string& spec);
  void open_dropped(Session& session, const std::vector<std::string>& files);
  /// Opens somebody's output in the place of a method. If that fails, the session stays as it is and a sentence says why.
  void open_kernel(Session& session, const std::string& spec, bool as_b);
  /// A session from its text; theme and size of the window stay. If that fails, all stays and a sentence says why.
  void paste(Session& session, const std::string& text);
  /// Asks what the panels want to know beside the answer; what is not yet known is given up when the session asks something
  /// else.
  void ask_beside(const Wishes& wishes, const Session& session);
  /// The pins of a session's text after those that there are. If that fails, all stays and a sentence says why.
  void add_pins(Session& session, const std::string& text);
  /// Stops what is being computed; the picture stays, and a sentence says what it answers.
  void cancel();
  /// Shows a sentence about what went well until the next question.
  void note(std::string sentence) { note_ = std::move(sentence); }
  /// Shows a sentence until the next answer.
  void say(std::string sentence) { message_ = std::move(sentence); }

 private:
  using Answer = std::shared_ptr<const Result>;
  using Clock = std::chrono::steady_clock;
  /// What the worker's thread and the window's tell each other about the work.
  struct Effort {
    std::atomic<bool> unwanted{false};
    std::atomic<double> share{0};      ///< how much is done, 0 .. 1
    std::atomic<Clock::rep> began{0};  ///< when, in the clock's ticks
  };

  bool load(Problem& problem);
  bool load_output(Experiment& experiment);
  void open_output(Session& session, const std::string& spec, bool as_b);
  void describe(const Input& input);
  void choose_device(const Session& session);
  void ask(const Experiment& experiment);
  void take_answer();
  std::string stopped_sentence() const;
  static Worker<Question, Answer>::Work answerer(std::shared_ptr<Effort> effort, Compute compute);
  void take_side_answers();

  std::string example_file_, cpu_, message_, note_;
  std::vector<std::string> remarks_;  ///< on the session that was opened last
  std::vector<DeviceEntry> devices_;
  std::string wished_device_;  ///< what `device_` was chosen for
  UsableDevice device_;
  int described_d_ = 0;  ///< head dimension that `no_hardware_` is about
  std::string no_hardware_;
  ProbeEntries probes_;
  TensorFileInfo tensors_;
  std::string described_;                        ///< the file that tensors_ was last asked about
  std::optional<Input> loaded_;                  ///< whose tensors were read last
  std::optional<Input> unreadable_;              ///< whose tensors could not be read: not tried again
  std::optional<Experiment> unreadable_output_;  ///< whose loaded output could not be read
  std::optional<Question> asked_;
  bool remarked_ = false;  ///< what was opened is asked next: what was wrong with it stays on screen until another question
  Clock::time_point asked_at_{};
  std::shared_ptr<Effort> effort_ = std::make_shared<Effort>();
  bool busy_ = false;  ///< an answer was on its way when the newest one was taken
  Answer result_;
  std::shared_ptr<const Lessons> open_lessons_;  ///< null until they are wanted
  Worker<Question, Answer> worker_;              ///< last, so they join before anything they use goes away
  SideQuestion<Question, Why> why_;
  SideQuestion<ScoreQuestion, ScoreWindow> scores_;
  SideQuestion<Experiment, Clipping> clipping_;
  SideQuestion<Question, SameBits> same_bits_;
  SideQuestion<Answer, Diagnosis> diagnosis_;
  LessonDesk lessons_;
};

}  // namespace attoscope
