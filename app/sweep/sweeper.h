/// The conversation of the Sweep workspace with its workers: what was planned, what is known, what is under way.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "app/sweep/sweep_ledger.h"
#include "app/threads/worker.h"
#include "ui/frame/requests.h"
#include "ui/frame/sweep_answer.h"

namespace attoscope {

/// What the parameters and numbers on offer are.
std::shared_ptr<const SweepOffer> sweep_offer();

/// A plan, understood.
struct PlannedSweep {
  std::optional<Sweep> sweep;    ///< none where something is wrong
  std::optional<Measure> rival;  ///< the same number of b
  SweepProgress about;           ///< `values`, `wrong_values`, `wrong`, `no_seeds` and `points` alone are set
};
PlannedSweep planned(const SweepPlan& plan, const Experiment& base);

/// True if both consist of the same points, whatever is measured: what is varied may differ in their bases.
bool same_points(const Sweep& x, const Sweep& y);

/// Everything of a session's plan, computed before it returns. Throws Stopped when cancelled.
SweepView computed_sweep(const Session& session, const Cancelled& cancelled = {});

/// Asks whenever the plan changes, and only looks up what is known already until it is told to run. Knows no window.
///
/// Points in progress are given up while Explore computes, and begun again when it has been quiet for a fifth of a second:
/// Explore has all threads then; otherwise one is left to it.
class Sweeper {
 public:
  /// `published` is called from other threads whenever `update` has something to take. `cache`: directory of finished points.
  Sweeper(std::function<void()> published, std::string cache);

  /// Reads the plan where the Sweep workspace is on show, asks what was not asked yet, takes the newest table.
  void update(const Session& session, bool explore_computes);
  /// What the panels are told in this frame.
  SweepView view() const;
  /// Does what was asked of it; a point that is opened takes the place of the session's experiment. Returns one sentence about
  /// what could not be done, or "".
  std::string handle(const Requests& requests, Session& session);
  /// True while something is on its way that ends by itself.
  bool busy() const { return points_.busy() || tables_.busy(); }

 private:
  using Clock = std::chrono::steady_clock;
  using Ledger = std::shared_ptr<SweepLedger>;
  using State = SweepProgress::State;
  /// What the window's thread and the one that computes tell each other.
  struct Shared {
    std::atomic<std::uint64_t> question{0};  ///< the newest; another one is to be given up
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
    std::size_t done = 0;  ///< how many points the table is to hold, at least
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
  bool read_ = false;  ///< `plan_` and `base_` were read from a session
  std::string device_;
  PlannedSweep planned_;
  Ledger ledger_;
  State wanted_ = State::idle;
  std::optional<TableAnswer> shown_;
  Clock::time_point tabled_at_{}, explored_at_{}, begun_at_{};
  Clock::duration tabled_in_{};
  double begun_share_ = 0;  ///< of the work that was done when it was begun
  std::string message_;
  Worker<PointsQuestion, bool> points_;  ///< last, so they join before anything they use goes away
  Worker<TableQuestion, TableAnswer> tables_;
};

}  // namespace attoscope
