/// Search through all heads of the input's file, in the background.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/threads/side_question.h"
#include "kernels/experiment/experiment.h"
#include "ui/frame/heads_answer.h"

namespace attoscope {

class KeptHeads;

/// All heads in one call, for a picture of the window.
template <class Row>
FoundHeads<Row> all_heads(const Experiment& experiment);

/// HeadRow: heads under a and b; KvRow: with K and V in fewer bits; JudgedHead: verdicts on a loaded output. One thread per
/// head; results of the last few questions are kept.
template <class Row>
class HeadsDesk {
 public:
  /// Other threads call `published` whenever there are new rows.
  HeadsDesk(std::function<void()> published, std::shared_ptr<KeptHeads> kept);

  /// Starts or resumes the search through the heads of the experiment's file. Another question replaces this one.
  void ask(const Experiment& experiment);
  /// Stops the search; its results stay.
  void stop() { question_.forget(); }
  /// Drops all results, as the files have changed.
  void forget();
  /// Takes new rows. Throws failures of the search.
  void update() { question_.update(); }
  bool busy() const { return question_.busy(); }
  /// True if all heads of that question are known.
  bool has_all(const Experiment& experiment) const;
  /// Input of the panels.
  FoundHeads<Row> view() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// Results of the threads so far.
  struct Found {
    std::mutex mutex;
    std::vector<Row> rows;
    int all = 0;
    double share = 0;  ///< done since `began` of what was missing then, parts of heads too
    Clock::time_point began{};
    std::shared_ptr<const std::vector<Row>> seen;  ///< copy for the panels
  };
  struct Asked {
    Experiment base;
    bool whole = true;
    std::shared_ptr<Found> found;  ///< not compared
    friend bool operator==(const Asked& x, const Asked& y) { return x.base == y.base && x.whole == y.whole; }
  };
  struct Done {};
  static Asked asked_of(const Experiment& experiment);
  static Done find(const Asked& asked, const Cancelled& stop, const std::function<void()>& published, KeptHeads* kept);

  std::optional<Asked> asked_;
  std::deque<Asked> kept_;              ///< newest last
  SideQuestion<Asked, Done> question_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope
