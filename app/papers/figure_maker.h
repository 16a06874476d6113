/// Draws the papers' figures in the background, one after another.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/papers/named_bundle.h"
#include "app/threads/job.h"
#include "app/threads/worker.h"
#include "ui/frame/entries.h"

namespace attoscope::app {

/// Entries of the menu: the named figures.
std::shared_ptr<const std::vector<ui::FigureEntry>> figure_entries();

/// The style chosen in the menus.
FigureStyle style_of(const ui::FigureChoice& choice);

/// Path in `directory` with an unused name, without an ending: "attoscope-heat-map-3".
std::string free_place(const std::string& directory, std::string name);

/// Writes a bundle at `free_place(directory, name)`: a new folder, or a .zip. Returns a sentence. If the picture cannot be
/// drawn, writes the rest and throws std::runtime_error; throws Stopped if cancelled.
std::string save_bundle(const std::string& directory, const std::string& name, const Figure& figure, const Json& reproduction,
                        const ui::FigureChoice& choice, const Cancelled& cancelled);

/// Computes and writes figures of the papers, one after another, while the window goes on.
class FigureMaker {
 public:
  using Outcome = JobOutcome;

  /// Writes bundles to `directory` and finished points to `cache` (empty: no cache). Calls `done` from another thread whenever
  /// `take` has something to do.
  FigureMaker(const std::string& directory, const std::string& cache, std::function<void()> done);

  void ask(const AskedFigure& asked, const ui::FigureChoice& choice);
  /// Drops the queued figures and stops the current one.
  void stop();
  /// Progress of the current figure at the last `take`; none if no figure is drawn.
  std::optional<ui::FigureProgress> progress() const;
  /// Returns the outcome of a finished figure, once, and begins the next one.
  std::optional<Outcome> take();
  bool busy() const { return drawing_ || !waiting_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Asked {
    AskedFigure figure;
    ui::FigureChoice choice;
  };
  struct Told {
    ui::FigureProgress now{};
    std::size_t computed = 0;  ///< points that were not cached
    std::string saved{};       ///< sentence on the written file
  };
  using Background = Worker<Asked, Told>;

  void begin_next();
  static Told draw(const Asked& asked, const std::string& directory, const std::string& cache, const Cancelled& cancelled,
                   const Background::Publish& publish);

  std::deque<Asked> waiting_;
  bool drawing_ = false;
  Clock::time_point began_{};
  Told told_;          ///< state of the current figure
  Background worker_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
