/// A question asked beside the main one, when somebody wants to know: answered by a thread of its own, given up when outdated.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "app/threads/worker.h"
#include "kernels/compute.h"

namespace attoscope {

/// Question: comparable by ==. The answer is shown until a newer one comes.
template <class Question, class Answer>
class SideQuestion {
 public:
  using Work = std::function<Answer(const Question&, const Cancelled&)>;

  /// `published` is called on the worker's thread whenever `update` has something to take.
  SideQuestion(Work work, std::function<void()> published)
      : worker_(
            [this, work = std::move(work)](const Asked& asked, const Cancelled& cancelled) -> Shared {
              const auto outdated = [&] { return forgotten_ != asked.forgotten; };
              try {
                return std::make_shared<const Answer>(work(asked.question, [&] { return outdated() || cancelled(); }));
              } catch (const Stopped&) {
                if (!outdated()) throw;
                return nullptr;
              }
            },
            std::move(published)) {}

  /// Asks, unless this was the last question already.
  void ask(const Question& question) {
    if (asked_ == question) return;
    asked_ = question;
    worker_.submit({question, forgotten_});
  }
  /// Stops the work; the next question is asked even if it was the last one.
  void forget() {
    asked_.reset();
    ++forgotten_;
  }
  /// Takes what was published. Throws what the work threw.
  void update() {
    if (auto answer = worker_.take(); answer && *answer) answer_ = std::move(*answer);
  }
  /// The newest answer, to whatever question; null: none yet.
  const std::shared_ptr<const Answer>& answer() const { return answer_; }
  bool busy() const { return worker_.busy(); }

 private:
  using Shared = std::shared_ptr<const Answer>;
  struct Asked {
    Question question;
    std::uint64_t forgotten = 0;
  };
  std::optional<Question> asked_;
  std::atomic<std::uint64_t> forgotten_{0};  ///< how often; a question from before the last time is outdated, for good
  Shared answer_;
  Worker<Asked, Shared> worker_;  ///< last: it joins before anything it uses goes away
};

}  // namespace attoscope
