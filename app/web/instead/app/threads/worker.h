/// Replaces a thread: sends the newest question as bytes to a Web Worker with its own module, where the Worker of the same type
/// answers it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "app/threads/bytes.h"
#include "app/threads/effort.h"
#include "app/web/far/far.h"

namespace attoscope::app {

/// The class of app/threads/worker.h for a page. Ends a Web Worker whose work is cancelled, or runs longer than `patience`
/// while a newer question waits.
template <class Question, class Answer>
class Worker {
 public:
  using Poll = std::function<bool()>;
  using Publish = app::Publish<Answer>;
  using Work = std::function<Answer(const Question&, const Poll& cancelled, const Publish& publish)>;
  using Patience = std::chrono::milliseconds;

  Worker(Work work, std::function<void()> published, Patience patience = Patience(250))
      : work_(std::move(work)),
        published_(std::move(published)),
        patience_(patience),
        far_(typeid(Worker).name(),
             {.answer = [this](auto question, const auto& first, const auto& share) { return answer(question, first, share); },
              .told = [this](auto question, auto bytes, bool last) { told(question, bytes, last); },
              .share = [this](double share) { effort_.tell(share); },
              .failed = [this](auto question, auto error) { failed(question, std::move(error)); }}) {}

  void submit(const Question& question) {
    if (!busy()) effort_.tell(0);
    SharedValues& shared = shared_[++asked_];
    ByteWriter bytes(shared);
    bytes.write(question);
    far_.ask(asked_, bytes.take(), patience_);
  }
  void cancel() {
    if (!busy()) return;
    far_.drop();
    end(asked_);
    error_ = std::make_exception_ptr(Stopped());
  }
  std::optional<Answer> take() {
    if (std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(std::move(error));
    return std::exchange(answer_, std::nullopt);
  }
  bool busy() const { return ended_ < asked_; }
  const Effort& effort() const { return effort_; }

 private:
  std::string answer(std::string_view question, const FarWork::First& first, const FarWork::Share& share) {
    SharedValues shared;
    const auto asked = ByteReader(question, shared, largest_of_file).read<Question>();
    const auto bytes_of = [&shared](const Answer& answer) {
      SharedValues known = shared;
      ByteWriter bytes(known);
      bytes.write(answer);
      return bytes.take();
    };
    const Publish publish{[&](const Answer& answer) { first(bytes_of(answer)); }, share};
    return bytes_of(work_(asked, [] { return false; }, publish));
  }
  void told(std::uint64_t question, std::string_view bytes, bool last) {
    const auto shared = shared_.find(question);
    if (shared == shared_.end()) return;
    SharedValues known = shared->second;
    answer_ = ByteReader(bytes, known).read<Answer>();
    if (last) end(question);
    if (published_) published_();
  }
  void failed(std::uint64_t question, std::exception_ptr error) {
    end(question);
    error_ = std::move(error);
    if (published_) published_();
  }
  void end(std::uint64_t question) {
    ended_ = std::max(ended_, question);
    shared_.erase(shared_.begin(), shared_.upper_bound(question));
  }

  const Work work_;
  const std::function<void()> published_;
  const Patience patience_;
  std::uint64_t asked_ = 0, ended_ = 0;             ///< numbers of questions
  std::map<std::uint64_t, SharedValues> shared_{};  ///< values that questions share with their answers, keyed by question
  std::optional<Answer> answer_;                    ///< newest answer, not taken yet
  std::exception_ptr error_;                        ///< instead of an answer
  Effort effort_;
  const FarWork far_;
};

}  // namespace attoscope::app
