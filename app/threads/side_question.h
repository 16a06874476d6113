/// A question answered in the background by a thread, dropped when outdated.
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

/// Question must have ==. An answer stays until a newer one comes.
template <class Question, class Answer>
class SideQuestion {
 public:
  using Work = std::function<Answer(const Question&, const Cancelled&)>;

  /// The worker's thread calls `published` whenever `update` has something to take.
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

  /// Asks the question unless it is the last one.
  void ask(const Question& question) {
    if (asked_ == question) return;
    asked_ = question;
    worker_.submit({question, forgotten_});
  }
  /// Stops the work; the next question is asked even if it equals the last one.
  void forget() {
    asked_.reset();
    ++forgotten_;
  }
  /// Takes a published answer. Throws the exceptions of the work.
  void update() {
    if (auto answer = worker_.take(); answer && *answer) answer_ = std::move(*answer);
  }
  /// The newest answer, to any question; null: none yet.
  const std::shared_ptr<const Answer>& answer() const { return answer_; }
  bool busy() const { return worker_.busy(); }

 private:
  using Shared = std::shared_ptr<const Answer>;
  struct Asked {
    Question question;
    std::uint64_t forgotten = 0;
  };
  std::optional<Question> asked_;
  std::atomic<std::uint64_t> forgotten_{0};  ///< number of calls of `forget`; earlier questions are outdated
  Shared answer_;
  Worker<Asked, Shared> worker_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope
