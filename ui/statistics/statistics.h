/// The right panel: the answer in numbers, and its causes.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "imgui.h"
#include "kernels/experiment/table.h"
#include "ui/frame/figure_panel.h"
#include "ui/frame/frame.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/ui_state.h"
#include "ui/statistics/traffic.h"

namespace attoscope {
struct MethodsApart;
struct OrderRun;
struct GradAttribution;
struct GradShare;
struct NamedShare;
}  // namespace attoscope

namespace attoscope::ui {

/// The right panel.
void draw_statistics(const Frame& frame);

/// The tensor of the answer that the panel shows.
const ShownTensor& on_show(const Frame& frame);
/// A line of the panel, in which text is placed freely; of the whole width where none is given.
struct PanelLine {
  ImVec2 at;
  float width;
};
PanelLine panel_line(float height, float width);
PanelLine panel_line(float height);
/// The errors of both methods in numbers, with the rows of the log-sum-exp and its picture, where there is room.
void draw_deviations(const Frame& frame);

/// The panel's headline in one line, for when the panel is hidden by another. True if it was clicked.
bool draw_headline(const Frame& frame);

/// Errors of O and of the gradients, a line each, as files and people read them.
Table tensor_table(const Result& result);
/// The same, drawn, and delta's and the sink's errors; a click on a line shows its tensor. The answer has a backward pass.
void draw_gradients(const Frame& frame);

/// True if *why* explains b: the picture shows b, its error, or the tolerance of b's loaded output; else it explains a.
bool explains_b(const Session& session);
/// The session's experiment with the method that *why* explains as its a.
Experiment explained_experiment(const Session& session);
/// The same field of b or of a; the method's error if there is none.
Field field_of_method(Field field, bool b);

/// Cost of each rounding step of the explained method, as bars; requests it if unknown. A click on a bar makes the step exact.
/// A loaded output shows its suspects.
void draw_why(Session& session, const PanelInput& input, Requests& requests);

/// Bytes between HBM and the chip of the three algorithms, the use of on-chip memory, and a roofline; fills the rest of the
/// panel.
void draw_traffic(Session& session, const PanelInput& input, TrafficState& state);

/// True if an answer for `known` also answers `asked`: they differ at most in the traced row.
bool answers(const Experiment& known, const Experiment& asked);

/// Badge of the same-bits check in two words; a click shows the runs.
void draw_bits_badge(View& view, const PanelInput& input, const Experiment& asked, ImVec2 at, float room);

/// Short lines: numbers of O that differ between a and b, the largest difference, and the tile from which a row differs.
std::vector<std::string> apart_lines(const MethodsApart& apart, const Experiment& experiment);

/// Runs that must have the same bits, a compared with b, and a button that starts them; or a under other schedules.
void draw_same_bits(Session& session, const PanelInput& input, Requests& requests);

/// The backward pass with the order of a run.
GradMethod with_order(GradMethod method, const OrderRun& run);

/// Updates the points, by at most `elements` elements a call; true while elements remain, and the earlier answer's points stay.
/// The first answer is finished in one call.
bool refresh_scatter(ScatterState& state, const std::shared_ptr<const Result>& result,
                     std::size_t elements = std::numeric_limits<std::size_t>::max());

/// |error| of a and b over |golden|, both logarithmic; fills the rest of the panel.
void draw_scatter(ScatterState& state, const ShownTensor& shown, Requests& requests);

/// Histogram of the signed errors of a and b in ulps; fills the rest of the panel.
void draw_histogram(const ShownTensor& shown);

/// A slip, and the share of the RMS error that it leaves; NaN: its output is not known.
struct SlipShare {
  const Slip* slip = nullptr;
  double left = 1;
  bool named = false;  ///< named in the verdict
};

/// Suspects of the worst head: the named one first, then by ascending share.
std::vector<SlipShare> suspects_of(const CallJudgement& call);

/// The suspects as CSV.
std::string suspects_csv(const CallJudgement& call);

/// Values on screen: visible rows and columns of the field, the rescale map or the scores.
std::string picture_csv(const View& view, const PanelInput& input, const HeatState& heat);

/// The traced row, tile by tile, and the number of moves of m over all rows.
std::string recurrence_csv(const Result& result);

/// The tiles of the followed query, or of the followed key, as a and then as b adds them.
std::string gradients_csv(const GradientTrace& trace, bool of_key);

/// Data of the panel at the lower right, of the tensor on show: histogram, errors over |O|, attribution (of all gradients where
/// one is on show), digests, schedules, orders or traffic. Empty if not computed.
std::string detail_csv(const View& view, const PanelInput& input, const ShownTensor& shown);

/// Histogram of signed errors: shares of the bins, each at its middle.
FigurePanel ulps_panel(const Result& result);

/// True if an element has a finite error above 0, so that there is a point to draw.
bool has_points(const ScatterPoints& scatter);

/// The gradient whose error *why* attributes: the tensor on show; none: it is O.
std::optional<AnswerTensor> attributed_gradient(AnswerTensor shown, const Experiment& experiment);
/// Place of a gradient in `GradErrors`.
constexpr std::size_t gradient_place(AnswerTensor t) {
  return static_cast<std::size_t>(t) - static_cast<std::size_t>(AnswerTensor::dQ);
}
/// The shares by their relief of this tensor, largest first; and their numbers of it.
std::vector<GradShare> sorted_shares(const GradAttribution& attribution, AnswerTensor tensor);
std::vector<NamedShare> named_shares(const std::vector<GradShare>& shares, AnswerTensor tensor);

/// Change of the mean error in percent if each step were exact; `total`: the mean error as it is. `of_b`: they are b's.
FigurePanel why_panel(double total, const std::vector<NamedShare>& shares, bool of_b);

/// Bytes between HBM and the chip, one bar for each algorithm.
FigurePanel bytes_panel(std::span<const TrafficOf> all);
/// Roofline of a machine, with one point for each algorithm.
FigurePanel roofline_panel(std::span<const TrafficOf> all, const DataSheet& machine);

}  // namespace attoscope::ui
