/// Connects the Sweep workspace to its workers: plan, results, progress.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/sweep/sweep_ledger.h"
#include "app/threads/worker.h"
#include "ui/frame/requests.h"
#include "ui/frame/sweep_answer.h"

namespace attoscope {

/// Parameters and measures that can be chosen.
std::shared_ptr<const SweepOffer> sweep_offer();

/// A parsed plan.
struct PlannedSweep {
  std::optional<Sweep> sweep;    ///< none if the plan is invalid
  std::optional<Measure> rival;  ///< the same measure of b
  SweepProgress about;           ///< only `values`, `wrong_values`, `wrong`, `no_seeds` and `points` are set
};
PlannedSweep planned(const SweepPlan& plan, const Experiment& base);

/// True if both have the same points; measures and varied fields of the base may differ.
bool same_points(const Sweep& x, const Sweep& y);

/// Computes a session's plan completely. Throws Stopped when cancelled.
SweepView computed_sweep(const Session& session, const Cancelled& cancelled = {});

/// Reacts to changes of the plan; only looks up cached points until it is told to run. Independent of the window.
///
/// Points in progress are cancelled while Explore computes, and restarted after it was idle for a fifth of a second: Explore
/// then has all threads. Otherwise one thread is left to it.
class Sweeper {
 public:
  /// Other threads call `published` whenever `update` has something to take. `cache`: directory of finished points.
  Sweeper(std::function<void()> published, std::string cache);

  /// Reads the plan if the Sweep workspace is on show, asks new questions, takes the newest table.
  void update(const Session& session, bool explore_computes);
  /// Input of the panels in this frame.
  SweepView view() const;
  /// Executes the panels' requests; opening a point replaces the session's experiment. Returns one sentence on a failure, or
  /// "".
  std::string handle(const Requests& requests, Session& session);
  /// True while a computation is running that ends by itself.
  bool busy() const { return points_.busy() || tables_.busy(); }

 private:
  using Clock = std::chrono::steady_clock;
  using Ledger = std::shared_ptr<SweepLedger>;
  using State = SweepProgress::State;
  /// State shared by the window's thread and the computing one.
  struct Shared {
    std::atomic<std::uint64_t> question{0};  ///< number of the newest question; others are cancelled
    std::atomic<bool> held{false};           ///< Explore computes
    std::mutex mutex;
    std::string remark;  ///< of the cache
  };
  struct PointsQuestion {
    std::uint64_t number = 0;
    Ledger ledger;
    bool computes = false;  ///< else only looks up
    std::string device;
  };
  struct TableQuestion {
    Ledger ledger;
    Measure measure;
    std::optional<Measure> rival;
    std::size_t changes = 0;  ///< of the ledger, at the least those in the table
  };
  struct TableAnswer {
    TableQuestion question;
    std::shared_ptr<const SweepTable> table;
  };

  static std::function<bool(const PointsQuestion&, const std::function<bool()>&)> finder(std::shared_ptr<Shared> shared,
                                                                                         std::function<void()> published,
                                                                                         std::string cache);
  void plan(const Session& session);
  void ask();
  void take_table();
  State state() const;

  std::shared_ptr<const SweepOffer> offer_ = sweep_offer();
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  SweepPlan plan_;
  Experiment base_;
  bool read_ = false;  ///< a session was read into `plan_` and `base_`
  std::string device_;
  PlannedSweep planned_;
  Ledger ledger_;
  State wanted_ = State::idle;
  std::optional<TableAnswer> shown_;
  Clock::time_point tabled_at_{}, explored_at_{}, begun_at_{};
  Clock::duration tabled_in_{};
  double begun_share_ = 0;  ///< share of the work that was finished at the start
  std::string message_;
  Worker<PointsQuestion, bool> points_;  ///< last, so that they join before anything they use is destroyed
  Worker<TableQuestion, TableAnswer> tables_;
};

}  // namespace attoscope
