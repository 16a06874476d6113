/// The papers' figures drawn in the background, one after another.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/papers/named_bundle.h"
#include "app/threads/job_queue.h"
#include "ui/frame/entries.h"

namespace attoscope {

/// The named figures as the menu shows them.
std::shared_ptr<const std::vector<FigureEntry>> figure_entries();

/// The style that the menus choose.
FigureStyle style_of(const FigureChoice& choice);

/// A name in `directory` of which no file is there yet: "attoscope-heat-map-3", without an ending.
std::string free_place(const std::string& directory, std::string name);

/// Stages a bundle at a place: a folder, which it makes, or a .zip. What cannot be drawn is returned, else "". Throws Stopped
/// where that is cancelled.
struct BundlePlace {
  std::string file;  ///< the picture or the .zip
  std::string failure;
};
BundlePlace stage_at(StagedFiles& files, const std::string& place, const Figure& figure, const Json& reproduction,
                     const FigureChoice& choice, const Cancelled& cancelled = {});

/// Computes and writes figures of the papers while the window goes on.
class FigureMaker {
 public:
  /// Bundles go into `directory`, finished points into `cache` (empty: none). `done` is called from another thread whenever a
  /// figure is finished or failed.
  FigureMaker(std::string directory, std::string cache, std::function<void()> done);

  void ask(const AskedFigure& asked, const FigureChoice& choice);
  /// Drops the figures that wait and stops the one on its way.
  void stop() { jobs_.stop(); }
  /// Progress of the figure on its way; none: there is none.
  std::optional<FigureProgress> progress() const;
  /// The outcome of a figure, once.
  std::optional<JobQueue::Outcome> take() { return jobs_.take(); }
  bool busy() const { return jobs_.busy(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// Progress and outcome, as the computing thread tells them.
  struct Shared {
    mutable std::mutex mutex;
    FigureProgress now;
    Clock::time_point began{};
    std::size_t computed = 0;  ///< points that were not remembered
  };
  static std::string draw(const AskedFigure& asked, const FigureChoice& choice, const std::string& directory,
                          const std::string& cache, Shared& shared, const Cancelled& cancelled);

  std::string directory_, cache_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  JobQueue jobs_;  ///< last: its thread joins before anything it uses goes away
};

}  // namespace attoscope
