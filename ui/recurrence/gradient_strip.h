/// The backward pass in the strip: the key tiles of the traced query, or the query tiles of a key, as a and b add them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/figure_panel.h"
#include "ui/frame/frame.h"
#include "ui/recurrence/recurrence.h"

namespace attoscope::ui {

/// True if the strip shows the backward pass.
bool follows_gradients(const Session& session);
/// The key whose query tiles are followed: the view's, or else the one at which the traced query stands.
int followed_key(const View& view, const Problem& problem);
/// The question whose answer the strip shows.
GradientTraceQuestion gradient_question(const Session& session);

/// The plots over tiles. P: largest P. dS: largest |dS|, of a query also |dP - delta|. lost: share of dS that is rounded to 0.
/// sums: norms of what the tile adds to dQ and of dQ, or of dK and dV so far. error: of dQ, or of dK and dV so far.
enum class GradientPlot : std::uint8_t { P, dS, lost, sums, error };
inline constexpr EnumArray<GradientPlot, GradientPlot> gradient_plots{GradientPlot::P, GradientPlot::dS, GradientPlot::lost,
                                                                      GradientPlot::sums, GradientPlot::error};
/// The strip's plot that an export names; none: it is one of the forward pass.
std::optional<GradientPlot> gradient_plot_of(Plot plot);

/// The tile axis: the tiles that a adds (b, where a has no backward pass), in their order. Tiles that are added one after the
/// other by their index stand at it, others at their place in the order.
struct GradientAxis {
  std::vector<int> tiles;
  int first = 0;         ///< place of the first one
  bool by_index = true;  ///< a place is the tile's index
};
GradientAxis gradient_axis(const GradientTrace& trace, bool of_key);

/// One plot over the tiles, with the curves of a and b. Tiles of b that are more or fewer share a's axis evenly.
FigurePanel gradient_panel(GradientPlot plot, const GradientTrace& trace, bool of_key);

/// The reason why there is nothing to show, in a sentence; empty: there is something.
std::string why_no_gradients(const GradientTrace& trace, bool of_key);

/// "δ of query 3: a -1.2346e-3, b -1.2345e-3, golden -1.2345e-3"; of a key, who sees it.
std::string gradient_line(const GradientTrace& trace, bool of_key);
/// The numbers of a at step i of the axis.
WorkedStep gradient_step(const GradientTrace& trace, bool of_key, int i);
/// All numbers of a and b at step i, for a tooltip.
std::string gradient_note(const GradientTrace& trace, bool of_key, int i);

/// The panels of an answer, updated once for each.
struct GradientStrip {
  std::shared_ptr<const GradientTrace> trace;
  bool of_key = false;
  GradientAxis axis;
  std::vector<FigurePanel> panels;                            ///< of `gradient_plots`
  std::vector<std::string> names;                             ///< of the tiles that stand at their place in the order
  std::array<std::uint64_t, gradient_plots.size()> hidden{};  ///< bit i: series i of a panel is not drawn
};
void refresh_gradients(GradientStrip& strip, const std::shared_ptr<const GradientTrace>& trace, bool of_key);

/// The steps of the strip on screen.
StripSteps strip_steps(const Session& session, const PanelInput& input);

/// The switch between forward pass, query and key at the top of the strip, and its height; 0 without a backward pass.
float pass_switch_height(const Session& session);
void draw_pass_switch(Session& session, const PanelInput& input);
/// The backward pass in the room that is left; asks for what it does not know. Returns the width of its plots together.
float draw_gradient_strip(const Frame& frame);

}  // namespace attoscope::ui
