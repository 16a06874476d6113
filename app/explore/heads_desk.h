/// Every head of the input's file, found beside the answer.
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

/// All heads at once, for a picture of the window.
template <class Row>
FoundHeads<Row> all_heads(const Experiment& experiment);

/// HeadRow: every head under a and b; KvRow: with K and V in fewer bits; JudgedHead: a loaded output, rounded or wrong. One
/// thread for each head; what was found of the last few questions is kept, so that coming back to one costs nothing.
template <class Row>
class HeadsDesk {
 public:
  /// `published` is called from other threads whenever there is more to see.
  HeadsDesk(std::function<void()> published, std::shared_ptr<KeptHeads> kept);

  /// Looks at the heads of the experiment's file, or goes on with it. Another question gives this one up.
  void ask(const Experiment& experiment);
  /// Stops; what was found stays.
  void stop() { question_.forget(); }
  /// The files have changed: what was found is no longer so.
  void forget();
  /// Takes note of what happened. Throws what failed.
  void update() { question_.update(); }
  bool busy() const { return question_.busy(); }
  /// True if that question's heads are all found.
  bool has_all(const Experiment& experiment) const;
  /// What the panels are told.
  FoundHeads<Row> view() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// What the threads have found so far.
  struct Found {
    std::mutex mutex;
    std::vector<Row> rows;
    int all = 0;
    std::size_t before = 0;  ///< found before `began`
    Clock::time_point began{};
    std::shared_ptr<const std::vector<Row>> seen;  ///< a copy for the panels
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
  std::deque<Asked> kept_;              ///< the newest last
  SideQuestion<Asked, Done> question_;  ///< last: its thread joins before anything it uses goes away
};

}  // namespace attoscope
