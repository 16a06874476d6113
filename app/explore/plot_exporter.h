/// Parts of the window kept as files: pixels, taken in the frame after the one in which they were asked for, when no mouse is
/// over them; figures for print and whole fields, made in the background.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/explore/explorer.h"
#include "app/papers/figure_maker.h"
#include "app/window/canvas.h"
#include "imgui.h"
#include "ui/frame/entries.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"

namespace attoscope {

class PlotExporter {
 public:
  /// Files go into `directory`; empty: the current one. Finished points of the papers' figures into `cache`; empty: nowhere.
  /// `done` is called from other threads whenever a file that was made in the background is there.
  explicit PlotExporter(std::string directory, std::string cache = "", std::function<void()> done = {});

  /// Pixels and numbers.
  void ask(ExportRequest wanted) { wanted_ = std::move(wanted); }
  /// The same, or a figure of what `known` says, or the field on show, as the request and the session's view choose. Returns a
  /// sentence about what is now under way, or "".
  std::string ask(const ExportRequest& wanted, const Session& session, const PanelInput& known);
  /// A figure of the papers, as the view chooses.
  void draw(const std::string& name, const View& view) { figures_->ask({name, view.named_figure}, view.figure); }
  void stop_figures() { figures_->stop(); }

  /// True if the next frame is to be drawn with pixels.
  bool asked() const { return wanted_.has_value(); }
  /// True while something is made in the background.
  bool busy() const { return plots_->busy() || figures_->busy(); }
  /// Adds to what the panels are told: the papers' figures, and how far the one on its way is.
  void tell(PanelInput& input) const;

  /// After ImGui's NewFrame: nothing is under the mouse in a frame that is kept, and the window is as tall as is asked for.
  void prepare();
  /// Once the frame is drawn: writes what was asked for and says through the explorer where it is, or why it is not.
  void take(Explorer& explorer);

 private:
  std::string save() const;

  std::string directory_;
  std::optional<ExportRequest> wanted_;
  std::optional<ImVec2> mouse_;     ///< where it was; none: it was not hidden in this frame
  std::unique_ptr<Canvas> canvas_;  ///< of a frame that is taller than the window
  std::string failure_;             ///< why there is none
  std::shared_ptr<const std::vector<FigureEntry>> entries_ = figure_entries();
  std::unique_ptr<JobQueue> plots_;
  std::unique_ptr<FigureMaker> figures_;
};

}  // namespace attoscope
