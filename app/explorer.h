/// The conversation between a session and the worker: what was asked, what was answered, what went wrong.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/app.h"
#include "app/worker.h"
#include "kernels/result.h"
#include "ui/ui.h"

namespace attoscope {

/// Asks for an answer whenever the session's experiment changed. Knows no window.
class Explorer {
 public:
  /// `published` is called from another thread whenever `update` has something to take.
  Explorer(const Start& start, std::function<void()> published);

  /// Reads the tensors that the session names, asks what was not asked yet, takes the newest answer.
  void update(Session& session);
  /// What the panels are told in this frame; `paint` is left empty.
  Frame frame() const;
  /// True while an answer is on its way.
  bool computing() const { return worker_.busy(); }

  /// Opens a session (.json) or tensors (FILE.safetensors, or three .npy) instead of what is there. If that fails, the session
  /// stays as it is and a sentence says why.
  void open(Session& session, const std::string& spec);
  void open_dropped(Session& session, const std::vector<std::string>& files);
  /// Shows a sentence until the next answer.
  void say(std::string sentence) { message_ = std::move(sentence); }

 private:
  using Answer = std::shared_ptr<const Result>;
  using Clock = std::chrono::steady_clock;

  bool load(Problem& problem);
  void describe(const Input& input);
  void ask(const Experiment& experiment);
  void take_answer();

  std::string example_file_, device_, message_;
  TensorFileInfo tensors_;
  std::string described_;            ///< the file that tensors_ was last asked about
  std::optional<Input> loaded_;      ///< whose tensors were read last
  std::optional<Input> unreadable_;  ///< whose tensors could not be read: not tried again
  std::optional<Experiment> asked_;
  Clock::time_point asked_at_{};
  Answer result_;
  Worker<Experiment, Answer> worker_;  ///< last, so it joins before anything it uses goes away
};

}  // namespace attoscope
