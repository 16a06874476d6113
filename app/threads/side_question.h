/// Answers a question by a background thread; outdated questions are dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/threads/worker.h"
#include "kernels/compute.h"

namespace attoscope::app {

/// One run of the work.
template <class Answer>
struct SideRun {
  Options options;                      ///< cancellation, progress, device
  std::shared_ptr<const Answer> known;  ///< the newest answer, to any question, when this was asked; null: none
  std::function<void(Answer)> publish;  ///< publishes a first answer while the work continues
};

/// Question must have ==. An answer stays until a newer one comes.
template <class Question, class Answer>
class SideQuestion {
 public:
  using Run = SideRun<Answer>;
  using Work = std::function<Answer(const Question&, const Run&)>;

  /// The worker's thread calls `published` whenever `update` has something to take.
  SideQuestion(Work work, std::function<void()> published)
      : worker_([work = std::move(work)](const Asked& asked, const auto& cancelled,
                                         const auto& publish) { return answered(work, asked, cancelled, publish); },
                std::move(published)) {}

  /// Asks the question unless it is the last one on the same device.
  void ask(const Question& question, const std::string& device = "cpu") {
    if (asked_ == std::pair{question, device}) return;
    asked_ = {question, device};
    worker_.submit({question, device, answer_, forgotten_});
  }
  /// Stops the work; the next question is asked even if it equals the last one.
  void forget() {
    asked_.reset();
    ++forgotten_;
    worker_.cancel();
  }
  /// Does `forget`, and drops the answer, answers to earlier questions that arrive later, and their exceptions until the next
  /// question is asked.
  void clear() {
    forget();
    dropped_ = forgotten_;
    answer_.reset();
  }
  /// Takes a published answer. Throws the exceptions of the work, except Stopped.
  void update() {
    try {
      if (auto told = worker_.take(); told && told->forgotten >= dropped_) answer_ = std::move(told->answer);
    } catch (const Stopped&) {  // the question was forgotten
    } catch (...) {
      const bool cleared = !asked_ && forgotten_ == dropped_;  // the exception is of an earlier question
      if (!cleared) throw;
    }
  }
  /// The newest answer, to any question; null: none yet.
  const std::shared_ptr<const Answer>& answer() const { return answer_; }
  bool busy() const { return worker_.busy(); }
  /// Progress of the newest question.
  const Effort& effort() const { return worker_.effort(); }

 private:
  struct Asked {
    Question question;
    std::string device;
    std::shared_ptr<const Answer> known;
    std::uint64_t forgotten = 0;
  };
  struct Told {
    std::shared_ptr<const Answer> answer;
    std::uint64_t forgotten = 0;  ///< of the question
  };

  using Background = Worker<Asked, Told>;

  static Told answered(const Work& work, const Asked& asked, const Cancelled& cancelled,
                       const typename Background::Publish& publish) {
    const auto told = [&](Answer answer) { return Told{std::make_shared<const Answer>(std::move(answer)), asked.forgotten}; };
    const Run run{.options = {.cancelled = cancelled, .progress = publish.share, .device = asked.device},
                  .known = asked.known,
                  .publish = [&](Answer first) { publish(told(std::move(first))); }};
    return told(work(asked.question, run));
  }

  std::optional<std::pair<Question, std::string>> asked_;
  std::uint64_t forgotten_ = 0;  ///< number of calls of `forget`
  std::uint64_t dropped_ = 0;    ///< `forgotten_` at the last `clear`: answers with a smaller one are not taken
  std::shared_ptr<const Answer> answer_;
  Background worker_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
