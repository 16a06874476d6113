/// Saves parts of the window: pixels, read in the frame after the request so that nothing is hovered; figures for print and
/// whole fields, written in the background.
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

namespace attoscope::app {

class PlotExporter {
 public:
  /// Files go to `directory` (empty: the current one), finished points of papers' figures to `cache` (empty: no cache). Other
  /// threads call `done` after each file written in the background.
  explicit PlotExporter(std::string directory, std::string cache = "", std::function<void()> done = {});

  /// Requests pixels and numbers.
  void ask(ui::ExportRequest wanted) { wanted_ = std::move(wanted); }
  /// Requests pixels, a figure of the data in `known`, or the shown field, as the request and the session's view choose.
  /// Returns a sentence on background work, or "".
  std::string ask(const ui::ExportRequest& wanted, const ui::Session& session, const ui::PanelInput& known);
  /// Requests a figure of the papers with the view's settings.
  void draw(const std::string& name, const ui::View& view) { figures_->ask({name, view.named_figure}, view.figure); }
  void stop_figures() { figures_->stop(); }

  /// True if the next frame will be saved as pixels.
  bool asked() const { return wanted_.has_value(); }
  /// True while a file is being written in the background.
  bool busy() const { return plots_->busy() || figures_->busy(); }
  /// Adds the papers' figures and their progress to the panels' input.
  void tell(ui::PanelInput& input) const;

  /// After ImGui's NewFrame: hides the mouse in a saved frame, and makes it as tall as requested.
  void prepare();
  /// After drawing: writes the requested pixels, and reports success or failure through the explorer.
  void take(Explorer& explorer);

 private:
  std::string save() const;

  std::string directory_;
  std::optional<ui::ExportRequest> wanted_;
  std::optional<ImVec2> mouse_;     ///< position of the hidden mouse; none: it is not hidden
  std::unique_ptr<Canvas> canvas_;  ///< of a frame taller than the window
  std::string failure_;             ///< the reason if there is no canvas
  std::shared_ptr<const std::vector<ui::FigureEntry>> entries_ = figure_entries();
  std::unique_ptr<JobQueue> plots_;
  std::unique_ptr<FigureMaker> figures_;
};

}  // namespace attoscope::app
