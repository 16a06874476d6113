/// Connects the Sweep workspace to its workers: plan, results, progress.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/sweep/sweep_ledger.h"
#include "app/threads/worker.h"
#include "ui/frame/requests.h"
#include "ui/frame/sweep_answer.h"

namespace attoscope::app {

/// Parameters and measures that the user can choose.
std::shared_ptr<const ui::SweepOffer> sweep_offer();

/// A parsed plan.
struct PlannedSweep {
  std::optional<Sweep> sweep;    ///< none if the plan is invalid
  std::optional<Measure> rival;  ///< the same measure of b
  ui::SweepProgress about;       ///< only `values`, `wrong_values`, `wrong`, `no_seeds` and `points` are set
};
PlannedSweep planned(const ui::SweepPlan& plan, const Experiment& base);

/// True if both have the same points; measures and varied fields of the base may differ.
bool same_points(const Sweep& x, const Sweep& y);

/// Computes a session's plan completely. Throws Stopped when cancelled.
ui::SweepView computed_sweep(const ui::Session& session, const Cancelled& cancelled = {});

/// Follows changes of the plan; only looks up cached points until SweepRequest::run. Independent of the window.
///
/// While Explore computes, points in progress are cancelled, so that Explore has all threads; they restart after it was idle
/// for 0.2 s. Otherwise one thread stays free for it.
class Sweeper {
 public:
  /// Other threads call `published` whenever `update` has something to take. `cache`: directory of finished points.
  Sweeper(std::function<void()> published, std::string cache);

  /// Reads the plan if the Sweep workspace is shown, submits new questions, takes the newest table.
  void update(const ui::Session& session, bool explore_computes);
  /// Input of the panels in this frame.
  ui::SweepView view() const;
  /// Executes the panels' requests; opening a point replaces the session's experiment. Returns one sentence on a failure, or
  /// "".
  std::string handle(const ui::Requests& requests, ui::Session& session);
  /// True while a computation runs that ends by itself.
  bool busy() const { return points_.busy() || is_table_old(); }

 private:
  using Clock = std::chrono::steady_clock;
  using Ledger = std::shared_ptr<SweepLedger>;
  using State = ui::SweepProgress::State;
  /// Some points of a sweep.
  struct PointsQuestion {
    std::uint64_t number = 0;
    Sweep sweep{};
    std::vector<std::size_t> points{};
    bool is_first = true;   ///< of the sweep
    bool computes = false;  ///< else only looks up
    std::string device{};
  };
  struct PointsAnswer {
    std::uint64_t number = 0;  ///< of the question
    std::vector<SweepAnswer> found{};
    std::string remark{};  ///< of the cache
  };
  /// Everything that a table depends on.
  struct TableOf {
    Ledger ledger;
    Measure measure;
    std::optional<Measure> rival;
    std::size_t changes = 0;  ///< of the ledger
    friend bool operator==(const TableOf&, const TableOf&) = default;
  };

  static Worker<PointsQuestion, PointsAnswer>::Work finder(std::shared_ptr<std::atomic<bool>> held, std::string cache);
  void plan(const ui::Session& session);
  void ask();
  void ask_from(std::size_t first);
  void take_points();
  TableOf wanted_table() const;
  bool is_table_old() const;
  void make_table();
  State state() const;

  std::shared_ptr<const ui::SweepOffer> offer_ = sweep_offer();
  std::shared_ptr<std::atomic<bool>> held_ = std::make_shared<std::atomic<bool>>(false);  ///< Explore computes
  ui::SweepPlan plan_;
  Experiment base_;
  bool read_ = false;  ///< a session was read into `plan_` and `base_`
  std::string device_;
  PlannedSweep planned_;
  Ledger ledger_;
  State wanted_ = State::idle;
  std::shared_ptr<const ui::SweepTable> shown_;  ///< null: none yet
  TableOf shown_of_;
  Clock::time_point tabled_at_{}, explored_at_{}, begun_at_{};
  Clock::duration tabled_in_{};
  double begun_share_ = 0;                       ///< share of the work that was finished at the start
  std::string message_, remark_;                 ///< of the newest failure, of the cache
  std::uint64_t number_ = 0;                     ///< of the newest question
  std::size_t taken_ = 0;                        ///< points of its answer that are in the ledger
  Ledger asked_of_;                              ///< the sweep of the newest question
  std::vector<std::size_t> last_;                ///< points of the newest question
  bool asking_ = false;                          ///< the newest question is neither answered nor stopped
  Worker<PointsQuestion, PointsAnswer> points_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
