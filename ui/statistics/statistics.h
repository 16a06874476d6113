/// The right panel: the answer in numbers, and its causes.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "imgui.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/table.h"
#include "kernels/experiment/traffic.h"
#include "ui/frame/figure_panel.h"
#include "ui/frame/frame.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {
struct MethodsApart;
struct GradAttribution;
struct GradShare;
struct NamedShare;
struct TileSchedule;
}  // namespace attoscope

namespace attoscope::ui {

/// Traffic of an algorithm, ready to draw.
struct TrafficOf {
  const char* name = "";  ///< "FA-2"
  double bytes = 0;       ///< between HBM and the chip
  double flops = 0;       ///< useful operations
  double intensity = 0;   ///< useful operations per byte
  Ink ink = Ink::golden;  ///< a's or b's if they use the algorithm
  std::string formula{};  ///< elements moved: "2Nd + N + Tr·2Nd"
  std::string counted{};  ///< the formula with numbers, in bytes
  const char* what = "";  ///< description of its loops
};
using TrafficOfAll = std::array<TrafficOf, 3>;

/// Algorithm 0, FlashAttention-1 and -2 for the result's problem with a's tiles.
TrafficOfAll traffic_of_all(const Result& result);

/// Traffic of the three algorithms for an experiment without a result.
TrafficOfAll traffic_of_all(const Experiment& experiment);

/// The backward pass of the same three algorithms with the tiles of `backward.a`; none without a backward pass.
std::vector<TrafficOf> backward_traffic_of_all(const Experiment& experiment);
/// Both passes of an experiment, one after the other.
std::vector<TrafficOf> traffic_of_passes(const Result& result);

/// One line each: name, formula, bytes, ratio to Algorithm 0, and a bar to scale; fills the width.
void draw_traffic_lines(const TrafficOfAll& all);

/// Colour of its bar and of its dot on the roof.
Colour traffic_colour(const TrafficOf& of);

/// Smallest time of `of` on a machine, in seconds.
double least_seconds(const TrafficOf& of, const DataSheet& machine);

/// Draws the choice of the machine, and its roofline with the algorithms; in a low panel as text.
void draw_roofline(View& view, std::span<const TrafficOf> all);

/// The steps of an experiment's loop, kept between frames.
struct LoopPicture {
  Experiment experiment{};
  LoopOrder order = LoopOrder::queries_outside;
  std::vector<LoopStep> steps;  ///< empty: not computed, or too many for a picture
  bool too_many = false;
};

/// Updates the steps: FlashAttention-1's loop if a is flash1, else FlashAttention-2's.
void refresh_loop(LoopPicture& picture, const Experiment& experiment);

/// The loop up to step `at`: the order in which tiles of S are on chip, and the bytes moved by then.
std::vector<FigurePanel> loop_figure(const LoopPicture& picture, int at);
/// "Query block 2 of 4, key tile 3 of 4: loads K, V. 1.05 MB of 4.46 MB, 50.3 of 268 Mflop: 47.9 flop/B."
std::string loop_sentence(const LoopPicture& picture, int at);

/// Draws step `at` into a rectangle; takes no room in the layout.
void draw_loop_picture(const LoopPicture& picture, int at, ImVec2 from, ImVec2 size);

/// Draws buttons and a track for the step; true if the step changed. The caller stores `playing`, and advances the step while
/// it is true.
bool draw_loop_transport(const LoopPicture& picture, int& at, bool& playing, float width);

/// The right panel.
void draw_statistics(const Frame& frame);

/// The tensor of the answer that the panel shows.
const ShownTensor& on_show(const Frame& frame);
/// A line of the panel, for text at any place of it; the whole width if none is given.
struct PanelLine {
  ImVec2 at;
  float width;
};
PanelLine panel_line(float height, float width);
PanelLine panel_line(float height);
/// Draws the errors of both methods in numbers, and the rows of the log-sum-exp and its picture if there is room.
void draw_deviations(const Frame& frame);

/// Bar of neighbouring queries, either wrong or not: the largest errors over the tolerance, of L above golden's and below.
struct LseBar {
  int first, end;
  bool wrong;
  double up = 0, down = 0;
};
/// At most `most` bars of queries that are not wrong, then as many of wrong ones, which lie above them.
std::vector<LseBar> lse_bars(const LseJudgement& lse, int most);

/// Headline for a hidden panel, for a loaded output or for two methods.
struct Headline {
  std::string words, more;
  Colour colour, more_colour;
};
Headline headline_of(const Frame& frame);
/// Draws the panel's headline, in one line if it fits, while another panel hides the panel. True if it was clicked.
bool draw_headline(const Frame& frame);

/// Table of the errors of O and of the gradients, a line for each tensor.
Table tensor_table(const Result& result);
/// Draws the errors of O and of the gradients, and delta's and the sink's; a click on a line shows its tensor. The answer has a
/// backward pass.
void draw_gradients(const Frame& frame);

/// True if *why* explains b: the picture shows b, its error, or the tolerance of b's loaded output; else it explains a.
bool explains_b(const Session& session);
/// The session's experiment with the method that *why* explains as its a.
Experiment explained_experiment(const Session& session);
/// The same field of b, or of a if `b` is false; the method's error if it has no such field.
Field field_of_method(Field field, bool b);

/// Cost of each rounding step of the explained method, as bars; requests it if unknown. A click on a bar makes the step exact.
/// A loaded output shows its suspects.
void draw_why(Session& session, const PanelInput& input, Requests& requests);

/// Bytes between HBM and the chip of the three algorithms, the use of on-chip memory, and a roofline; fills the rest of the
/// panel.
void draw_traffic(Session& session, const PanelInput& input, TrafficState& state);

/// Badge of the same-bits check in two words; a click shows the runs.
void draw_bits_badge(View& view, const PanelInput& input, const Experiment& asked, ImVec2 at, float room);

/// Short lines: numbers of O that differ between a and b, the largest difference, and the tile from which a row differs.
std::vector<std::string> apart_lines(const MethodsApart& apart, const Experiment& experiment);

/// Draws the runs that must have the same bits, a against b, and a button that starts them; or a under other schedules, or dQ
/// in other orders.
void draw_same_bits(Session& session, const PanelInput& input, Requests& requests);

/// The method with this order of dQ's key tiles.
GradMethod with_order(GradMethod method, const TileSchedule& schedule);

/// Processes at most `elements` elements of the answer into points; true while elements remain. Until then the earlier answer's
/// points stay. The first answer is finished in one call.
bool refresh_scatter(ScatterState& state, const std::shared_ptr<const Result>& result,
                     std::size_t elements = std::numeric_limits<std::size_t>::max());

/// Height of the title over the plots of errors, at scale 1.
inline constexpr float detail_title = 26;
/// |error| of a and b over |golden|, both logarithmic; fills the rest of the panel.
void draw_scatter(ScatterState& state, const ShownTensor& shown, Requests& requests);

/// Histogram of the signed errors of a and b in ulps; fills the rest of the panel.
void draw_histogram(const ShownTensor& shown);

/// A slip, and the share of the RMS error that is left if the slip is the reference; NaN: its output is not known.
struct SlipShare {
  const Slip* slip = nullptr;
  double left = 1;
  bool named = false;  ///< named in the verdict
};

/// Suspects of the worst head: the named one first, then by ascending share.
std::vector<SlipShare> suspects_of(const CallJudgement& call);

/// The suspects as CSV.
std::string suspects_csv(const CallJudgement& call);

/// CSV of the values on screen: visible rows and columns of the field, m or the counts of the rescale map, or the scores.
std::string picture_csv(const View& view, const PanelInput& input, const HeatState& heat);

/// The traced row, tile by tile, and the number of moves of m over all rows.
std::string recurrence_csv(const Result& result);

/// The tiles of the followed query, or of the followed key, as a and then as b adds them.
std::string gradients_csv(const GradientTrace& trace, bool of_key);

/// CSV of the panel at the lower right for the tensor on show: histogram, errors over |O|, attribution (of all gradients if a
/// gradient is on show), digests, schedules, orders or traffic. Empty if not computed.
std::string detail_csv(const View& view, const PanelInput& input, const ShownTensor& shown);

/// Histogram of signed errors: shares of the bins, each at its middle.
FigurePanel ulps_panel(const Result& result);

/// One sentence why there is no point to draw, an element with a finite error above 0; empty: there is one.
std::string_view why_no_points(const ScatterPoints& scatter);

/// The gradient whose error *why* attributes: the tensor on show; empty if *why* attributes O.
std::optional<AnswerTensor> attributed_gradient(AnswerTensor shown, const Experiment& experiment);
/// The shares, sorted by their relief of this tensor, largest first; and their names and errors for this tensor.
std::vector<GradShare> sorted_shares(const GradAttribution& attribution, AnswerTensor tensor);
std::vector<NamedShare> named_shares(const std::vector<GradShare>& shares, AnswerTensor tensor);

/// Change of the mean error in percent if each step were exact; `total`: the present mean error. `of_b`: the steps are b's.
FigurePanel why_panel(double total, const std::vector<NamedShare>& shares, bool of_b);

/// Bytes between HBM and the chip, one bar for each algorithm.
FigurePanel bytes_panel(std::span<const TrafficOf> all);
/// Roofline of a machine, with one point for each algorithm.
FigurePanel roofline_panel(std::span<const TrafficOf> all, const DataSheet& machine);

}  // namespace attoscope::ui
