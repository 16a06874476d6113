/// The papers' figures drawn in the background, one after another.
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

/// The named figures as the menu shows them.
std::shared_ptr<const std::vector<ui::FigureEntry>> figure_entries();

/// The style that the menus choose.
FigureStyle style_of(const ui::FigureChoice& choice);

/// A name in `directory` of which no file is there yet: "attoscope-heat-map-3", without an ending.
std::string free_place(const std::string& directory, std::string name);

/// Writes a bundle at the free place of this name: a folder, which it makes, or a .zip. Returns a sentence. Throws
/// std::runtime_error in another where the picture cannot be drawn, once the rest is written; Stopped where that is cancelled.
std::string save_bundle(const std::string& directory, const std::string& name, const Figure& figure, const Json& reproduction,
                        const ui::FigureChoice& choice, const Cancelled& cancelled);

/// Computes and writes figures of the papers, one after another, while the window goes on.
class FigureMaker {
 public:
  using Outcome = JobOutcome;

  /// Bundles go into `directory`, finished points into `cache` (empty: none). `done` is called from another thread whenever
  /// `take` has something to do.
  FigureMaker(const std::string& directory, const std::string& cache, std::function<void()> done);

  void ask(const AskedFigure& asked, const ui::FigureChoice& choice);
  /// Drops the figures that wait and stops the one on its way.
  void stop();
  /// Progress of the figure on its way, as the last `take` found it; none: there is none.
  std::optional<ui::FigureProgress> progress() const;
  /// Begins the next figure; the outcome of a figure, once.
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
    std::size_t computed = 0;  ///< points that were not remembered
    std::string saved{};       ///< sentence at the end
  };
  using Background = Worker<Asked, Told>;

  void begin_next();
  static Told draw(const Asked& asked, const std::string& directory, const std::string& cache, const Cancelled& cancelled,
                   const Background::Publish& publish);

  std::deque<Asked> waiting_;
  bool drawing_ = false;
  Clock::time_point began_{};
  Told told_;          ///< of the figure that is being drawn
  Background worker_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
